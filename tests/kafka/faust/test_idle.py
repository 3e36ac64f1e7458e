"""A worker that receives nothing stays in its group; one that is outside says so."""

import re
import time
from pathlib import Path

import pytest

from stream_app.cli import main
from stream_app.kafka.faust import membership
from stream_app.kafka.owner import partition
from tests.deploy.prometheus import alert_failures
from tests.kafka.installation import Installation, readings
from tests.patience import ANSWER_SECONDS, awaited

POLL_SECONDS = 3
"""Faust's `broker_max_poll_interval`, which is 1,000 s in an installation. Faust reads it from the environment."""


def forget_the_last_batch() -> None:
    """Have this worker show the lag of its last batch for a second: 15 in an installation."""
    partition.IDLE_SECONDS = 1


LAG = re.compile(r"^(landmark_event_lag_seconds\{.*\}) .*$", re.MULTILINE)


def test_it_decides_what_comes_after_long_silence(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It used to be in no group any more: later input waited for a restart, and nothing said so.

    Nor does the shipped alert fire while the worker idles: it used to, because the lag of the last batch was still
    shown.
    """
    monkeypatch.setenv("BROKER_MAX_POLL_INTERVAL", str(POLL_SECONDS))
    installation.prepare = forget_the_last_batch
    with installation.worker() as worker:
        worker.await_ready(200, "partitions [")
        time.sleep(3 * POLL_SECONDS)
        worker.await_committed(installation.send(readings(100)), ANSWER_SECONDS)
        awaited(lambda: worker.metric("landmark_event_lag_seconds") == 0)  # it was above, and stayed so for ever
        figures = worker.get("/metrics")[1]
        assert "landmark_in_group 1.0" in figures
        assert alert_failures(tmp_path, figures, "LandmarkEventLag") == ""
        assert "LandmarkEventLag" in alert_failures(tmp_path, LAG.sub(r"\1 78", figures), "LandmarkEventLag")
        assert worker.stop() == 0
        assert worker.said().count("owns partitions [0, 1]") == 1
    installation.answered_once()


GRACE_SECONDS = 3
"""How long a worker of the next test may be outside its group: 120 in an installation (test_membership.py)."""


def have_little_grace() -> None:
    """Make this worker wait for only part of a rebalance."""
    membership.REBALANCES = GRACE_SECONDS / 60


def test_a_worker_outside_its_group_says_so(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Metric, probes, page, `top` and log say so; no figure looks healthy. It leaves at its first heartbeat."""
    monkeypatch.setenv("BROKER_MAX_POLL_INTERVAL", "0")
    installation.prepare = have_little_grace
    with installation.worker() as worker:
        awaited(lambda: "outside its consumer group; " in worker.ready()[1], worker.ready)
        awaited(lambda: worker.metric("landmark_in_group") == 0)
        assert worker.ready()[0] == 503
        answer = awaited(lambda: (found := worker.get("/healthz"))[0] != 200 and found)
        assert answer == (503, f"outside its consumer group for over {GRACE_SECONDS} s\n")
        figures = worker.get("/metrics")[1]
        assert "landmark_partitions_running 0.0" in figures
        assert "landmark_event_lag_records{" not in figures
        assert "Outside its consumer group" in worker.get("/")[1]
        assert main(["top", "--once", "--interval", "0", "--url", worker.address()]) == 0
        rows = dict(
            re.split(r" {2,}", line.strip()) for line in capsys.readouterr().out.splitlines()[3:] if line.strip()
        )
        assert (rows["outside the consumer group"], rows["not processed yet"]) == ("1", "unknown")
        assert rows["partitions served"] == "0 of 2"
        assert len(re.findall(r"ERROR .* outside its consumer group for [0-9]+ s", worker.said())) == 1
