"""A healthy worker logs nothing at level warning or above, whoever joins or leaves."""

import os
import re
import signal
import time
from pathlib import Path

import pytest

from stream_app.heads.signing import SigningKey
from stream_app.localbroker.broker import LocalBroker
from tests.kafka.installation import Installation, readings

GRAVE = re.compile(r"^.* (?:WARNING|ERROR|CRITICAL) .*$", re.MULTILINE)


@pytest.fixture
def installation(broker: LocalBroker, tmp_path: Path, request: pytest.FixtureRequest) -> Installation:
    """An installation named after the test, with signed heads, because unsigned heads cause a warning."""
    name = request.node.name.removeprefix("test_").replace("_", "-")
    SigningKey.create(tmp_path / "signing.key")
    more = {"signing_key_file": tmp_path / "signing.key", "head_interval_ms": 1_000}
    return Installation(broker, tmp_path, name, partitions=4, more=more)


def test_a_healthy_start_and_rebalances_are_no_news(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers, one leaving and one coming back; Faust's patience is shortened to what a test can wait."""
    monkeypatch.setenv("STREAM_PROCESSING_TIMEOUT", "3")
    total = installation.send(readings(400))
    with installation.worker("a") as first:
        first.await_committed(total)
        with installation.worker("b") as second:
            second.await_log("owns partitions")
            for worker in (first, second):
                worker.await_ready(200, "partitions [")
            total += installation.send(readings(400, start=400))
            first.await_committed(total)
            assert second.stop() == 0
        for start in range(800, 2_400, 200):
            total += installation.send(readings(200, start=start))
            time.sleep(1)
        first.await_committed(total)
        first.await_ready(200, "partitions [0, 1, 2, 3]")
        assert first.stop() == 0
    said = "".join(worker.said() for worker in (first, second))
    assert GRAVE.findall(said) == []


AWAY_SECONDS = 15.0
MOST_LINES = 45
"""The limit for a worker whose brokers are away for that long: each kind of line once, whatever fails."""


def test_brokers_that_are_away_fill_no_disk_and_stop_no_worker(tmp_path: Path) -> None:
    """The libraries try several times a second, and log each attempt.

    The worker stays ready: nobody is in a group then, so it is an outage, and others should not replace the worker.
    """
    with LocalBroker.start(tmp_path / "kafka") as broker:
        installation = Installation(broker, tmp_path, "away")
        total = installation.send(readings(400))
        with installation.worker() as worker:
            worker.await_committed(total)
            worker.await_ready(200, "partitions [")
            os.kill(broker.pid, signal.SIGKILL)
            killed = time.monotonic()
            worker.await_ready(200, "partitions [0, 1]; degraded: the brokers do not answer")
            assert (worker.metric("landmark_in_group"), worker.metric("landmark_partitions_running")) == (0, 2)
            assert worker.get("/healthz") == (200, "alive\n")
            time.sleep(max(0.0, killed + AWAY_SECONDS - time.monotonic()))
            assert worker.stop() == 0
    lines = worker.said().splitlines()
    assert any("Unable connect" in line for line in lines)
    assert len(lines) < MOST_LINES, "\n".join(lines)
