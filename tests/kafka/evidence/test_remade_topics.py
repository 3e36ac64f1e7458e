"""Topics that lose records or are recreated under a running worker, which stops before any double spend."""

import asyncio
import os
import re
import signal
from dataclasses import replace
from typing import Any

from stream_app.kafka.provision import make_and_check
from stream_app.manual import page_at
from tests.kafka.acts import stopped, store_row, stored_row
from tests.kafka.installation import Installation, readings

INSTALLED: dict[str, Any] = {"partitions": 1}


def test_a_remade_changelog_is_never_written_on(installation: Installation) -> None:
    """It would hold only the series of later batches, and the others would start over with their whole budget."""
    total = installation.send(readings(400))
    with installation.worker() as worker:
        worker.await_committed(total)
        installation.delete(installation.names.changelog)
        total += installation.send(readings(3, start=400))
        assert worker.await_end() == 1
        assert "stopped (changelog-short)" in worker.said()
    stopped(installation, "stopped (row-missing)")
    assert installation.command("recover") == 0
    total += installation.send(readings(400, start=403))
    installation.decide(total)
    installation.answered_once()
    assert installation.command("audit") == 0


def test_a_remade_ledger_is_never_written_on(installation: Installation) -> None:
    """Entries that nobody can read any more were spent: entries after them would have no predecessor."""
    total = installation.send(readings(400))
    with installation.worker() as worker:
        worker.await_committed(total)
        installation.delete(installation.names.ledger)
        installation.send(readings(3, start=400))
        assert worker.await_end() == 1
        assert "stopped (ledger-short)" in worker.said()
    assert not installation.read(installation.names.ledger)


def test_rows_of_another_changelog_are_no_state(installation: Installation) -> None:
    """What an earlier version wrote to a remade changelog is detected by the id in its partition row."""
    total = installation.send(readings(40))
    installation.decide(total)
    asyncio.run(store_row(installation, replace(stored_row(installation), changelog="of another life")))
    stopped(installation, "stopped (changelog-short)")


def test_input_that_lost_its_end_and_grew_again_stops(installation: Installation) -> None:
    """Its new records would be below what was decided, and would pass unnoticed."""
    total = installation.send(readings(40))
    installation.decide(total)
    row = stored_row(installation)
    assert row.last_offset == row.next_offset - 1 == total - 1
    # The log cannot be cut under a running broker; the state is that of one whose last record was appended earlier.
    asyncio.run(store_row(installation, replace(row, last_append_ms=row.last_append_ms - 1)))
    stopped(installation, "stopped (input-short)")


def test_a_remade_events_topic_ends_its_workers(installation: Installation) -> None:
    """Both the partition's owner and a worker without one end; nothing of the new topic is ever released.

    Entries sent along with the request for the topic's id are aborted. The topic immediately grows past the old
    positions, so that no offset distinguishes the two. The owner sleeps meanwhile, so that it never sees the topic
    missing.
    """
    total = installation.send(readings(40))
    with installation.worker("a") as owner:
        owner.await_committed(total)
        with installation.worker("b") as surplus:
            surplus.await_log("owns partitions []")
            surplus.await_ready(200, "partitions []")
            before, entries = _written(installation), len(installation.read(installation.names.ledger))
            os.kill(owner.process.pid, signal.SIGSTOP)
            installation.delete(installation.names.events)
            installation.send(readings(2 * total, start=total))
            os.kill(owner.process.pid, signal.SIGCONT)
            for worker in (owner, surplus):
                assert worker.await_end() == 1
                assert "(topic-replaced)" in worker.said()
                assert "Restore all topics from one backup. Without a backup, start over" in worker.said()
    stopped(installation, "stopped (topic-replaced)", name="a")
    assert _written(installation)[1:] == before[1:]
    assert len(installation.read(installation.names.ledger)) == entries


def test_an_events_topic_that_grows_ends_its_workers(installation: Installation) -> None:
    """Each ends at its next check, with the remedy, even if it owns nothing: nobody would read new partitions."""
    total = installation.send(readings(40))
    with installation.worker("a") as owner, installation.worker("b") as other:
        owner.await_committed(total)
        owner.await_ready(200, "partitions")
        other.await_ready(200, "partitions")
        installation.grow(installation.names.events, 3)
        for worker in (owner, other):
            assert worker.await_end() == 1
            said = worker.said()
            # By its look at the topic; or by a partition's, where the group moved that one meanwhile.
            assert re.search(r"expected .*1 partitions, .*; found 3", said), said
            assert "(partition-count)" in said
            assert page_at("how-to/more-partitions.md") in said
    stopped(installation, "partition count is 3, but must be 1", name="a", code=2)


def test_a_new_partition_of_grown_topics_decides_nothing(installation: Installation) -> None:
    """Series that the new count puts there have spent elsewhere: they would have their whole budget again."""
    total = installation.send(readings(40))
    installation.decide(total)
    before = _written(installation)
    for topic in installation.names:
        installation.grow(topic, 2)
    installation.partitions = 2
    installation.send(readings(40, start=40))
    with installation.worker(exit_when_stopped="never") as worker:
        worker.await_log("partition 0 stopped (partition-count)")
        worker.await_log("partition 1 stopped (partition-count)")
    assert _written(installation) == before


def test_a_worker_without_its_events_topic_is_not_ready(installation: Installation) -> None:
    """It waits, because the topic may only be hidden. A recreated topic is a different one."""
    total = installation.send(readings(40))
    with installation.worker() as worker:
        worker.await_committed(total)
        worker.await_ready(200, "partitions [0]")
        installation.drop(installation.names.events)
        worker.await_ready(503, f"expected topic {installation.names.events}; found none")
        assert worker.process.poll() is None
        asyncio.run(make_and_check(installation.settings()))
        assert worker.await_end() == 1
        assert "(topic-replaced)" in worker.said()


def _written(installation: Installation) -> list[int]:
    """Return how much each output topic holds, including aborted records."""
    names = installation.names
    return [
        len(installation.read(topic, "read_uncommitted")) for topic in (names.ledger, names.releases, names.rejects)
    ]
