"""A worker that nothing is sent to stays in its group, whatever of Faust, aiokafka and the brokers acts on idleness."""

import time
from pathlib import Path

import pytest

from stream_app.localbroker.broker import LocalBroker
from tests.kafka.installation import Installation, readings

POLL_SECONDS = 3
"""Faust's `broker_max_poll_interval`, which is 1,000 s in an installation."""
SECONDS = 60.0


@pytest.fixture(autouse=True)
def short_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the group give a worker up soon: Faust takes its own settings from the environment."""
    monkeypatch.setenv("BROKER_MAX_POLL_INTERVAL", str(POLL_SECONDS))


def test_it_decides_what_comes_after_long_silence(broker: LocalBroker, tmp_path: Path) -> None:
    """It was in no group any more: what was sent later waited for a restart, and nothing said so."""
    installation = Installation(broker, tmp_path, "idle")
    with installation.worker() as worker:
        worker.await_ready(200, "partitions [")
        time.sleep(3 * POLL_SECONDS)
        worker.await_committed(installation.send(readings(100)), SECONDS)
        assert worker.stop() == 0
    installation.answered_once()
