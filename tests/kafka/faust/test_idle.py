"""A worker that nothing is sent to stays in its group; one that is outside says so."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from stream_app.cli import main
from stream_app.localbroker.broker import LocalBroker
from tests.kafka.installation import Installation, readings
from tests.kafka.workerprocess import WorkerProcess
from tests.patience import ANSWER_SECONDS, PATIENCE_SECONDS

Found = TypeVar("Found")

POLL_SECONDS = 3
"""Faust's `broker_max_poll_interval`, which is 1,000 s in an installation. Faust reads it from the environment."""


def test_it_decides_what_comes_after_long_silence(
    broker: LocalBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was in no group any more: what was sent later waited for a restart, and nothing said so."""
    monkeypatch.setenv("BROKER_MAX_POLL_INTERVAL", str(POLL_SECONDS))
    installation = Installation(broker, tmp_path, "idle")
    with installation.worker() as worker:
        worker.await_ready(200, "partitions [")
        time.sleep(3 * POLL_SECONDS)
        worker.await_committed(installation.send(readings(100)), ANSWER_SECONDS)
        assert "landmark_in_group 1.0" in asked(worker, "/metrics")[1]
        assert worker.stop() == 0
        assert worker.log.read_text().count("owns partitions [0, 1]") == 1
    installation.answered_once()


@pytest.mark.slow
def test_a_worker_outside_its_group_says_so(
    broker: LocalBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Metric, probes, page, `top` and log: no figure reads as if all were well. It leaves at its first heartbeat."""
    monkeypatch.setenv("BROKER_MAX_POLL_INTERVAL", "0")
    installation = Installation(broker, tmp_path, "outside")
    with installation.worker() as worker:
        awaited(worker.ready, lambda found: "outside its consumer group; " in found[1])
        awaited(lambda: asked(worker, "/metrics")[1], lambda found: "landmark_in_group 0.0" in found)
        assert worker.ready()[0] == 503
        assert asked(worker, "/healthz") == (200, "alive\n"), "a rebalance may take so long"
        code, said = awaited(lambda: asked(worker, "/healthz"), lambda found: found[0] != 200)
        assert (code, said) == (503, "outside its consumer group for over 120 s\n")
        figures = asked(worker, "/metrics")[1]
        assert "landmark_partitions_running 0.0" in figures
        assert "landmark_event_lag_records{" not in figures
        assert "Outside its consumer group" in asked(worker, "/")[1]
        assert main(["top", "--once", "--interval", "0", "--url", worker.address()]) == 0
        rows = dict(
            re.split(r" {2,}", line.strip()) for line in capsys.readouterr().out.splitlines()[3:] if line.strip()
        )
        assert (rows["outside the consumer group"], rows["not decided yet"]) == ("1", "unknown")
        assert rows["partitions served"] == "0 of 2"
        assert len(re.findall(r"ERROR .* outside its consumer group for 1[0-9]{2} s", worker.log.read_text())) == 1


def asked(worker: WorkerProcess, path: str) -> tuple[int, str]:
    """Return status and text of what the worker's endpoint says."""
    try:
        with urlopen(f"{worker.address()}{path}", timeout=ANSWER_SECONDS) as answer:  # noqa: S310 (our own server)
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def awaited(ask: Callable[[], Found], holds: Callable[[Found], bool]) -> Found:
    """Ask until something holds of what is found, and return that."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds(found := ask()):
        assert time.monotonic() < deadline, found
        time.sleep(0.2)
    return found
