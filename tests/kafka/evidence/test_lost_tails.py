"""Logs that lost their tail, as a broker's that lost power: what is gone is noticed, and nothing is written twice."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from stream_app.localbroker.broker import LocalBroker
from tests.kafka.evidence.cutlog import lose_power, pieces
from tests.kafka.installation import Installation, readings
from tests.kafka.replayed import assert_topics_hold_what_replay_computes

BATCH = 20


@contextmanager
def decided(folder: Path, batches: int = 5) -> Iterator[Installation]:
    """Run a broker of its own and an installation on it that decided so many batches, each with one reject."""
    with LocalBroker.start(folder / "kafka") as broker:
        installation = Installation(broker, folder / "site", "cut", partitions=1, more={"batch_records": BATCH + 1})
        total = 0
        with installation.worker() as worker:
            for number in range(batches):
                stranger = {"series": "nobody", "timestamp": number, "value": 1}
                total += installation.send([*readings(BATCH, start=number * BATCH), stranger])
                worker.await_committed(total)
            assert worker.stop() == 0
        yield installation


@contextmanager
def cut(installation: Installation, *, within: bool = False, **transactions: int) -> Iterator[Installation]:
    """Take the last so many transactions from topics by their meaning, and start the broker again.

    ``within``: of the one before them the marker is gone too.
    """
    ends = []
    for meaning, count in transactions.items():
        topic = getattr(installation.names, meaning)
        markers = [piece.offset for piece in pieces(installation.broker, topic) if piece.control]
        ends.append((topic, markers[-count - 1] + (not within)))
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
        assert installation.command("recover") == 2
        assert "(releases-short)" in capsys.readouterr().err
        assert installation.command("recover", "--accept-lost-releases") == 0
        total = installation.send(readings(BATCH, start=5 * BATCH)) + 5 * (BATCH + 1)
        with installation.worker() as worker:
            worker.await_committed(total)
            assert worker.stop() == 0
        assert len(installation.read(installation.names.releases)) == (6 - batches) * BATCH
        with installation.worker("b") as worker:
            worker.await_log("owns partitions [0]")
            worker.await_ready(200, "partitions [0]")
            assert worker.stop() == 0


@pytest.mark.parametrize("group", ["kept", "lost"])
def test_a_changelog_without_its_tail_is_settled(tmp_path: Path, group: str) -> None:
    """What has its outputs is decided again in silence, rejects too; a copy of the lost rows is worth nothing then."""
    with decided(tmp_path) as before, cut(before, changelog=3) as installation:
        written = _written(installation)
        if group == "lost":
            installation.set_offset(0)
        (installation.folder / "data-a").rename(installation.folder / "data-b")
        installation.more["batch_records"] = BATCH + 7  # one of them ends behind what has its outputs
        total = installation.send(readings(BATCH, start=5 * BATCH)) + 5 * (BATCH + 1)
        with installation.worker("a") as worker:
            worker.await_committed(total)
            assert f"input from {2 * (BATCH + 1)} to {5 * (BATCH + 1) - 1} has its outputs" in worker.log.read_text()
            assert worker.stop() == 0
        assert all(new[: len(old)] == old for new, old in zip(_written(installation), written, strict=True))
        total += installation.send(readings(2 * BATCH, start=6 * BATCH))
        with installation.worker("b") as worker:
            worker.await_committed(total)
            assert "the changelog was written anew from an earlier point" in worker.log.read_text()
            assert worker.stop() == 0
        _assert_once(installation)


def test_a_changelog_cut_within_a_transaction_is_rebuilt(tmp_path: Path) -> None:
    """Its half would count with the next commit: the worker stops, and `recover` writes every row behind it."""
    with decided(tmp_path) as before, cut(before, within=True, changelog=2) as installation:
        shutil.rmtree(installation.folder / "data-a")
        with installation.worker() as worker:
            assert worker.await_end() == 1
            assert "stopped (changelog-short)" in worker.log.read_text()
        assert installation.command("recover") == 0
        total = installation.send(readings(BATCH, start=5 * BATCH)) + 5 * (BATCH + 1)
        with installation.worker() as worker:
            worker.await_committed(total)
            assert worker.stop() == 0
        _assert_once(installation)


def test_rejects_alone_tell_what_was_decided(tmp_path: Path) -> None:
    """Input that came to nothing but rejects has its outputs too."""
    with decided(tmp_path, batches=2) as before:
        with before.worker() as worker:
            worker.await_committed(2 * (BATCH + 1) + before.send(readings(5)))
            assert worker.stop() == 0
        with cut(before, changelog=1) as installation:
            installation.set_offset(0)
            shutil.rmtree(installation.folder / "data-a")
            total = installation.send(readings(BATCH, start=2 * BATCH)) + 2 * (BATCH + 1) + 5
            with installation.worker() as worker:
                worker.await_committed(total)
                assert worker.stop() == 0
            _assert_once(installation)


def test_releases_tell_of_a_ledger_that_lost_its_tail(tmp_path: Path) -> None:
    """With the changelog's tail gone too, nothing else does; and nothing is decided without its entry."""
    with decided(tmp_path) as before, cut(before, changelog=2, ledger=2) as installation:
        shutil.rmtree(installation.folder / "data-a")
        with installation.worker() as worker:
            assert worker.await_end() == 1
            assert "stopped (ledger-short)" in worker.log.read_text()


def _written(installation: Installation) -> list[list[bytes]]:
    names = installation.names
    return [
        [record.value for record in installation.read(topic, "read_uncommitted")]
        for topic in (names.ledger, names.releases, names.rejects)
    ]


def _assert_once(installation: Installation) -> None:
    installation.answered_once()
    places = [(record.key, record.value) for record in installation.read(installation.names.ledger)]
    assert len(set(places)) == len(places)
    assert installation.command("audit") == 0
    assert_topics_hold_what_replay_computes(installation)
