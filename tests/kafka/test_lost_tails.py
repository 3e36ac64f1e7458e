"""Logs that lost their tail, as a broker's that lost power: what is gone is noticed, and nothing is written twice."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from stream_app.kafka.broker import LocalBroker
from tests.kafka.cutlog import lose_power, pieces
from tests.kafka.installation import Installation, readings

BATCH = 20


@contextmanager
def decided(folder: Path, batches: int = 5) -> Iterator[Installation]:
    """Run a broker of its own and an installation on it that decided and committed so many batches."""
    with LocalBroker.start(folder / "kafka") as broker:
        installation = Installation(broker, folder / "site", "cut", partitions=1, more={"batch_records": BATCH})
        total = 0
        with installation.worker() as worker:
            for number in range(batches):
                total += installation.send(readings(BATCH, start=number * BATCH))
                worker.await_committed(total)
            assert worker.stop() == 0
        yield installation


@contextmanager
def cut(installation: Installation, **transactions: int) -> Iterator[Installation]:
    """Take the last so many transactions from topics by their meaning, and start the broker again."""
    ends = []
    for meaning, count in transactions.items():
        topic = getattr(installation.names, meaning)
        markers = [piece.offset for piece in pieces(installation.broker, topic) if piece.control]
        ends.append((topic, markers[-count - 1] + 1))
    lose_power(installation.broker, ends)
    with LocalBroker.start(installation.broker.folder) as broker:
        yield replace(installation, broker=broker)


@pytest.mark.parametrize("batches", [1, 3])
def test_releases_without_their_tail_are_noticed_at_the_next_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], batches: int
) -> None:
    """Readers would miss steps; of the last batch the ledger tells, of those before it the row."""
    with decided(tmp_path) as before, cut(before, releases=batches) as installation:
        assert installation.command("topics", "--check") == (2 if batches > 1 else 0)
        assert ('"reason": "releases-short"' in capsys.readouterr().out) == (batches > 1)
        with installation.worker() as worker:
            assert worker.await_end() == 1
            assert "stopped (releases-short)" in worker.log.read_text()
