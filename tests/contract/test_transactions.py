"""Fencing, aborted, hanging and late transactions."""

import pytest
from aiokafka.errors import IllegalOperation, ProducerFenced

from stream_app.kafka.brokers import Brokers, Extent, Writer
from tests.contract.acts import STAMP_MS, abort, bounds, commit, ends, records, seen, send, soon
from tests.contract.clusters import Cluster


async def test_a_marker_takes_an_offset_behind_each_transaction(topic: str, brokers: Brokers, writer: Writer) -> None:
    """The next record starts after the marker, and answers say so."""
    assert await commit(writer, topic, b"1", b"2") == Extent(0, 2)
    assert await abort(writer, topic, b"3") == Extent(3, 4)
    assert await commit(writer, topic, b"4") == Extent(5, 6)
    await soon(lambda: ends(brokers, topic), (7, 7))
    assert await seen(brokers, topic, "read_committed") == [(0, b"1"), (1, b"2"), (5, b"4")]
    assert await seen(brokers, topic, "read_uncommitted") == [(0, b"1"), (1, b"2"), (3, b"3"), (5, b"4")]


async def test_a_transaction_is_ended_in_every_partition_that_it_wrote_to(
    cluster: Cluster, brokers: Brokers, writer: Writer
) -> None:
    """Each written partition gets a marker; topics without records from it get none."""
    topics = [await cluster.make(name) for name in "uvw"]
    await writer.begin()
    assert [await send(writer, topic, b"1") for topic in topics[:2]] == [Extent(0, 1)] * 2
    assert await send(writer, topics[0], b"2", b"3") == Extent(1, 3)
    assert [await ends(brokers, topic) for topic in topics] == [(0, 3), (0, 1), (0, 0)]
    await writer.commit()
    for topic, end in zip(topics, (4, 2, 0), strict=True):
        await soon(lambda topic=topic: ends(brokers, topic), (end, end))  # type: ignore[misc]


async def test_topics_that_a_transaction_begins_with_are_ended_with_it(
    cluster: Cluster, brokers: Brokers, writer: Writer
) -> None:
    """Each gets a marker, whether written to or not, and so do other topics that receive records."""
    topics = [await cluster.make(name) for name in "uvwx"]
    await writer.begin(*topics[:2])
    assert await send(writer, topics[0], b"1") == Extent(0, 1)
    assert await send(writer, topics[2], b"2") == Extent(0, 1)
    await writer.commit()
    for topic, end in zip(topics, (2, 1, 2, 0), strict=True):
        await soon(lambda topic=topic: ends(brokers, topic), (end, end))  # type: ignore[misc]
    await writer.begin(*topics[2:])
    await writer.abort()
    for topic, end in zip(topics, (2, 1, 3, 1), strict=True):
        await soon(lambda topic=topic: ends(brokers, topic), (end, end))  # type: ignore[misc]


async def test_a_transaction_without_a_record_leaves_no_trace(topic: str, brokers: Brokers, writer: Writer) -> None:
    """No broker hears of it; even a fenced owner can commit one."""
    await brokers.fence(0)
    await writer.begin()
    await writer.commit()
    await writer.begin()
    await writer.abort()
    assert await ends(brokers, topic) == (0, 0)


async def test_whoever_fences_aborts_what_was_open(cluster: Cluster, topic: str, brokers: Brokers) -> None:
    """The zombie's records remain for readers of uncommitted ones; its id stays in use, but it adds no more.

    The new owner writes under that id; the zombie's later writes are refused.
    """
    zombie = await brokers.fence(0)
    await zombie.begin()
    await send(zombie, topic, b"1")
    assert await ends(brokers, topic) == (0, 1)
    owner = await cluster.brokers("a").fence(0)
    assert await ends(brokers, topic) == (2, 2)
    assert owner.id == zombie.id
    with pytest.raises(ProducerFenced):
        await send(zombie, topic, b"2")
    assert await commit(owner, topic, b"3") == Extent(2, 3)
    await soon(lambda: ends(brokers, topic), (4, 4))
    assert await seen(brokers, topic, "read_committed") == [(2, b"3")]
    assert await seen(brokers, topic, "read_uncommitted") == [(0, b"1"), (2, b"3")]


async def test_a_fenced_commit_is_refused(topic: str, brokers: Brokers) -> None:
    """The writer then becomes unusable."""
    zombie = await brokers.fence(0)
    await zombie.begin()
    await send(zombie, topic, b"1")
    await brokers.fence(0)
    with pytest.raises(ProducerFenced):
        await zombie.commit()
    with pytest.raises(AssertionError):
        await zombie.begin()
    assert await seen(brokers, topic, "read_committed") == []


@pytest.mark.parametrize("named", [False, True])
async def test_a_fenced_idle_writer_learns_of_it_with_its_next_record(
    topic: str, brokers: Brokers, writer: Writer, *, named: bool
) -> None:
    """Beginning asks nobody; its topics are requested meanwhile, and the first record receives the answer."""
    await commit(writer, topic, b"1")
    await brokers.fence(0)
    await writer.begin(*[topic] * named)
    with pytest.raises(ProducerFenced):
        await send(writer, topic, b"2")
    await writer.abort()
    with pytest.raises(AssertionError):
        await writer.begin()
    await soon(lambda: ends(brokers, topic), (2, 2))


async def test_partitions_and_applications_are_fenced_apart(cluster: Cluster) -> None:
    """Each has its own producer id, which all of its records carry."""
    topic = await cluster.make("t", 2)
    brokers, others = cluster.brokers("a"), cluster.brokers("b")
    writers = [await brokers.fence(0), await brokers.fence(1), await others.fence(0)]
    assert len({writer.id for writer in writers}) == 3
    for writer in writers:
        await commit(writer, topic, b"1")
    await soon(lambda: ends(brokers, topic), (4, 4))
    found = await records(brokers, topic, "read_committed")
    assert [(record.offset, record.producer) for record in found] == [(0, writers[0].id), (2, writers[2].id)]
    await soon(lambda: bounds(brokers, topic, "read_committed", 1), (0, 2))


async def test_a_producer_id_lasts_from_owner_to_owner(cluster: Cluster, topic: str, brokers: Brokers) -> None:
    """This holds for any number of owners, with or without open transactions."""
    ids = set()
    for number in range(3):
        writer = await cluster.brokers("a").fence(0)
        ids.add(writer.id)
        await writer.begin()
        if number != 1:
            await send(writer, topic, b"1")
        await writer.stop()
    assert len(ids) == 1
    assert await ends(brokers, topic) == (2, 3)


async def test_an_open_transaction_holds_up_readers_of_committed_records_alone(cluster: Cluster, topic: str) -> None:
    """It hides later records of all writers, with or without a transaction, until it has ended."""
    brokers, others = cluster.brokers("a"), cluster.brokers("b")
    writer, other = await brokers.fence(0), await others.fence(0)
    await commit(other, topic, b"0")
    await soon(lambda: ends(brokers, topic), (2, 2))
    await writer.begin()
    await send(writer, topic, b"1")
    await commit(other, topic, b"2")
    await cluster.append(topic, b"3")
    await soon(lambda: ends(brokers, topic), (2, 6))
    assert await seen(brokers, topic, "read_committed") == [(0, b"0")]
    assert len(await seen(brokers, topic, "read_uncommitted")) == 4
    await writer.abort()
    await soon(lambda: ends(brokers, topic), (7, 7))
    assert await seen(brokers, topic, "read_committed") == [(0, b"0"), (3, b"2"), (5, b"3")]


async def test_two_open_transactions_hold_up_from_the_older_one(cluster: Cluster, topic: str, brokers: Brokers) -> None:
    """After the older one ends, they hold up readers from the younger one on."""
    older, younger = await brokers.fence(0), await cluster.brokers("b").fence(0)
    await older.begin()
    await send(older, topic, b"1")
    await younger.begin()
    await send(younger, topic, b"2")
    await send(older, topic, b"3")
    assert await ends(brokers, topic) == (0, 3)
    await older.commit()
    await soon(lambda: ends(brokers, topic), (1, 4))
    assert await seen(brokers, topic, "read_committed") == [(0, b"1")]
    await younger.abort()
    await soon(lambda: ends(brokers, topic), (5, 5))
    assert await seen(brokers, topic, "read_committed") == [(0, b"1"), (2, b"3")]


async def test_a_writer_is_held_to_its_order_of_calls(topic: str, writer: Writer) -> None:
    """No record is sent outside a transaction; no transaction begins in another or ends without beginning."""
    with pytest.raises(IllegalOperation):
        await send(writer, topic, b"1")
    with pytest.raises(AssertionError):
        await writer.commit()
    await writer.abort()
    await writer.begin()
    with pytest.raises(AssertionError):
        await writer.begin()
    assert await send(writer, topic, b"1") == Extent(0, 1)


async def test_pages_keep_keys_times_and_headers(topic: str, brokers: Brokers, writer: Writer) -> None:
    """This holds for any size: a record may fill its own batch; deletions and keyless records are kept."""
    pages = writer.pages()
    written = [(b"a", b"1", 5, [("input", b"7"), ("x", b"")]), (None, b"2", 6, []), (b"b", None, STAMP_MS, [])]
    for record in written:
        pages.append(*record)
    assert pages.records == 3
    await writer.begin()
    assert await writer.send(topic, pages) == Extent(0, 3)
    await writer.commit()
    await soon(lambda: ends(brokers, topic), (4, 4))
    found = await records(brokers, topic, "read_committed")
    assert [(one.key, one.value, one.timestamp, list(one.headers)) for one in found] == written
    assert {(one.topic, one.partition) for one in found} == {(topic, 0)}


async def test_empty_pages_cannot_be_sent(topic: str, writer: Writer) -> None:
    """No caller sends them; one that did would get an error."""
    await writer.begin()
    with pytest.raises(IndexError):
        await writer.send(topic, writer.pages())
