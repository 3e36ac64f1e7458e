"""Where readers begin and stop, and what they are given, at both isolations."""

from collections.abc import Callable
from typing import Any

import pytest
from aiokafka.errors import OffsetOutOfRangeError

from stream_app.kafka.brokers import Brokers, Isolation, Reader, Writer
from tests.contract.acts import STAMP_MS, abort, bounds, commit, ends, records, seen, send, soon
from tests.contract.clusters import Cluster

BOTH: tuple[Isolation, ...] = ("read_committed", "read_uncommitted")


@pytest.mark.parametrize("isolation", BOTH)
async def test_an_empty_log_has_nothing(topic: str, brokers: Brokers, isolation: Isolation) -> None:
    """The bounds are equal, and there is no record and no last record."""
    assert await bounds(brokers, topic, isolation) == (0, 0)
    async with brokers.reader(isolation) as reader:
        assert await reader.last(topic, 0) is None
        assert [found async for found in reader.records(topic, 0, 0)] == []


async def test_records_are_read_from_any_offset(topic: str, brokers: Brokers, writer: Writer) -> None:
    """They start within a batch, in a gap left by markers and aborted records, at the end and after it."""
    await commit(writer, topic, b"0", b"1", b"2")
    await abort(writer, topic, b"4", b"5")
    await commit(writer, topic, b"7", b"8")
    await soon(lambda: ends(brokers, topic), (10, 10))
    whole = [(0, b"0"), (1, b"1"), (2, b"2"), (7, b"7"), (8, b"8")]
    for start in range(12):
        assert await seen(brokers, topic, "read_committed", start) == [one for one in whole if one[0] >= start]
    assert await seen(brokers, topic, "read_uncommitted", 5) == [(5, b"5"), (7, b"7"), (8, b"8")]


async def test_reading_up_to_an_offset_may_give_more(topic: str, brokers: Brokers, writer: Writer) -> None:
    """All records below it come in order, and none if there are none below it."""
    await commit(writer, topic, b"0", b"1", b"2")
    await commit(writer, topic, b"4")
    await soon(lambda: ends(brokers, topic), (6, 6))
    whole = [(0, b"0"), (1, b"1"), (2, b"2"), (4, b"4")]
    for isolation in BOTH:
        for before in range(7):
            found = await seen(brokers, topic, isolation, 1, before)
            assert found == whole[1 : 1 + len(found)]
            assert [one for one in whole if 1 <= one[0] < before] == [one for one in found if one[0] < before]
        assert await seen(brokers, topic, isolation, 2, 2) == []


async def test_the_last_record_is_found_behind_aborted_ones_and_markers(
    topic: str, brokers: Brokers, writer: Writer
) -> None:
    """The result is the last record that is wanted."""
    await commit(writer, topic, b"x", b"y")
    for _ in range(3):
        await abort(writer, topic, b"z", b"z")
    await soon(lambda: ends(brokers, topic), (12, 12))
    async with brokers.reader("read_committed") as reader:
        assert (await _last(reader, topic)).offset == 1
        assert (await _last(reader, topic, lambda record: record.value == b"x")).offset == 0
        assert await reader.last(topic, 0, lambda record: record.value == b"z") is None
    async with brokers.reader("read_uncommitted") as reader:
        assert (await _last(reader, topic)).offset == 10
        assert (await _last(reader, topic, lambda record: record.value == b"y")).offset == 1


async def test_the_last_record_is_none_of_an_open_transaction(cluster: Cluster, topic: str, brokers: Brokers) -> None:
    """This holds for any committed record after that transaction's beginning."""
    writer, other = await brokers.fence(0), await cluster.brokers("b").fence(0)
    await commit(writer, topic, b"0")
    await soon(lambda: ends(brokers, topic), (2, 2))
    await writer.begin()
    await send(writer, topic, b"2")
    await commit(other, topic, b"3")
    async with brokers.reader("read_committed") as reader:
        assert (await _last(reader, topic)).value == b"0"
    async with brokers.reader("read_uncommitted") as reader:
        assert (await _last(reader, topic)).value == b"3"


async def test_deleted_heads_move_the_beginning(cluster: Cluster, topic: str, brokers: Brokers, writer: Writer) -> None:
    """This works within a batch or gap and up to the end; earlier reads start there, and offsets continue."""
    await commit(writer, topic, b"0", b"1", b"2")
    await abort(writer, topic, b"4")
    await soon(lambda: ends(brokers, topic), (6, 6))
    for first, left in ((1, [(1, b"1"), (2, b"2")]), (3, []), (5, []), (6, [])):
        await cluster.delete_before(topic, first)
        for isolation in BOTH:
            assert await bounds(brokers, topic, isolation) == (first, 6)
        assert await seen(brokers, topic, "read_committed") == left
        async with brokers.reader("read_committed") as reader:
            last = await reader.last(topic, 0)
        assert (None if last is None else last.offset) == (left[-1][0] if left else None)
    await cluster.delete_before(topic, 2)
    with pytest.raises(OffsetOutOfRangeError):
        await cluster.delete_before(topic, 7)
    assert await bounds(brokers, topic, "read_uncommitted") == (6, 6)
    assert (await commit(writer, topic, b"6")).first == 6
    await soon(lambda: ends(brokers, topic), (8, 8))
    assert await seen(brokers, topic, "read_committed") == [(6, b"6")]


async def test_aborted_records_stay_aborted_when_their_first_are_deleted(
    cluster: Cluster, topic: str, brokers: Brokers, writer: Writer
) -> None:
    """A reader of committed records is given none of the rest."""
    await abort(writer, topic, b"0", b"1")
    await commit(writer, topic, b"3")
    await soon(lambda: ends(brokers, topic), (5, 5))
    await cluster.delete_before(topic, 1)
    assert await seen(brokers, topic, "read_committed") == [(3, b"3")]
    assert await seen(brokers, topic, "read_uncommitted") == [(1, b"1"), (3, b"3")]


async def test_records_of_an_open_transaction_can_be_deleted(
    cluster: Cluster, topic: str, brokers: Brokers, writer: Writer
) -> None:
    """The log then begins after its first record; the stable part ends at the base of the log's first batch."""
    await writer.begin()
    await send(writer, topic, b"0", b"1", b"2")
    await send(writer, topic, b"3", b"4")
    for first, stable in ((1, 0), (3, 3), (4, 3), (5, 5)):
        await cluster.delete_before(topic, first)
        assert await bounds(brokers, topic, "read_committed") == (first, stable)
        assert await bounds(brokers, topic, "read_uncommitted") == (first, 5)
        assert await seen(brokers, topic, "read_committed") == []
    await send(writer, topic, b"5")
    assert await bounds(brokers, topic, "read_committed") == (5, 5)
    await writer.commit()
    await soon(lambda: ends(brokers, topic), (7, 7))
    assert await seen(brokers, topic, "read_committed") == [(5, b"5")]


async def test_records_of_no_transaction_are_of_no_producer(cluster: Cluster, topic: str, brokers: Brokers) -> None:
    """Records keep their own time, unless the topic replaces it with the time of the append."""
    stamped = await cluster.make("u", append_time=True)
    for one in (topic, stamped):
        await cluster.append(one, b"0", b"1")
    found = await records(brokers, topic, "read_committed")
    assert [(one.offset, one.key, one.value, one.timestamp) for one in found] == [
        (0, b"key", b"0", STAMP_MS),
        (1, b"key", b"1", STAMP_MS),
    ]
    assert {one.producer in {None, -1} for one in found} == {True}
    times = {one.timestamp for one in await records(brokers, stamped, "read_committed")}
    assert len(times) == 1
    assert min(times) > STAMP_MS


async def test_two_readers_of_a_topic_with_many_records(topic: str, brokers: Brokers, writer: Writer) -> None:
    """The lists contain all records in order, whatever their lengths."""
    await writer.begin()
    for start in range(0, 3000, 300):
        await send(writer, topic, *(b"%d" % number for number in range(start, start + 300)))
    await writer.commit()
    await soon(lambda: ends(brokers, topic), (3001, 3001))
    for isolation in BOTH:
        found = await seen(brokers, topic, isolation, 700)
        assert found == [(number, b"%d" % number) for number in range(700, 3000)]


async def _last(reader: Reader, topic: str, wanted: Callable[[Any], bool] = lambda _: True) -> Any:
    found = await reader.last(topic, 0, wanted)
    assert found is not None
    return found
