"""Fetches are unpacked batch by batch, with the same result as aiokafka's own unpacking."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c
from hypothesis import given
from hypothesis import strategies as st

from stream_app.kafka.client.batches import Fetch, RecordBatch, UnreadableBatchError, by_batch

_ORACLE: Any = Fetch.__mro__[1]  # aiokafka's own class
_PLACE = TopicPartition("state", 3)
_BASE_OFFSET, _CRC, _ATTRIBUTES, _LAST_DELTA, _BEHIND_CRC = slice(0, 8), slice(17, 21), 22, slice(23, 27), 21
"""Their positions in a batch: https://kafka.apache.org/documentation/#recordbatch."""
_CONTROL = 0x20
_ABORT, _COMMIT = b"\0\0\0\0", b"\0\0\0\1"
_UNCOMMITTED, _COMMITTED = 0, 1


class Laid(NamedTuple):
    """One batch of a log: keys and values of its records, or a marker's key; compaction may have removed some."""

    producer: int
    transactional: bool
    codec: int
    pairs: Sequence[tuple[bytes | None, bytes | None]]
    marker: bytes | None = None
    removed: frozenset[int] = frozenset()


pairs = st.lists(
    st.tuples(st.none() | st.binary(max_size=9), st.none() | st.binary(max_size=99)), min_size=1, max_size=6
)
laid = st.builds(
    Laid,
    st.integers(5, 8),
    st.booleans(),
    st.integers(0, 4),
    pairs,
    st.sampled_from((None, None, None, _ABORT, _COMMIT)),
    st.frozensets(st.integers(0, 5), max_size=6),
)


def bytes_of(one: Laid, base: int) -> tuple[bytes, int]:
    """Return a batch as stored in a log from offset ``base`` on, and the offset after it."""
    content = one.pairs if one.marker is None else [(one.marker, b"")]
    left = [at for at in range(len(content)) if one.marker is not None or at not in one.removed]
    codec = one.codec if one.marker is None and left else 0  # brokers keep an empty batch as a header alone
    builder = DefaultRecordBatchBuilder(2, codec, one.transactional, one.producer, 0, 0, 1 << 20)
    for at in left:
        key, value = content[at]
        assert builder.append(at, 1_000 + at, key, value, [("input", b"%d" % at)]) is not None
    made = bytearray(builder.build())
    made[_BASE_OFFSET] = base.to_bytes(8, "big")
    made[_LAST_DELTA] = (len(content) - 1).to_bytes(4, "big")
    if one.marker is not None:
        made[_ATTRIBUTES] |= _CONTROL
    made[_CRC] = calc_crc32c(bytes(made[_BEHIND_CRC:])).to_bytes(4, "big")
    return bytes(made), base + len(content)


def single(producer: int, value: bytes, base: int) -> tuple[bytes, int]:
    """Return a batch of one record, and the offset after it."""
    return bytes_of(Laid(producer, transactional=True, codec=0, pairs=[(b"a", value)]), base)


def fetched(kind: Any, log: bytes, start: int, aborted: list[tuple[int, int]], isolation: int, key: Any = None) -> Any:
    """Return one fetch in the form that the client passes to its unpacking."""
    return kind(_PLACE, MemoryRecords(log), list(aborted), start, key, None, True, isolation)  # noqa: FBT003


class Single(NamedTuple):
    """A record with the fields that aiokafka's record has."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]


def singles(batch: RecordBatch) -> list[Single]:
    """Return the records of a batch."""
    found = batch.records
    return list(map(Single, found.offsets, found.timestamps_ms, found.keys, found.values, batch.headers))


def told(record: Any) -> tuple[object, ...]:
    """Return what a record says."""
    return record.offset, record.timestamp, record.key, record.value, tuple(record.headers)


@given(st.lists(laid, max_size=8), st.integers(0, 12), st.data())
def test_batches_hold_what_aiokafka_unpacks(batches: list[Laid], start: int, data: st.DataObject) -> None:
    """This holds for markers, aborted transactions, compaction, codecs and partial first batches, in any order."""
    log, base = b"", 0
    for one in batches:
        made, base = bytes_of(one, base)
        log += made
    aborted = data.draw(st.lists(st.tuples(st.integers(5, 8), st.integers(0, 20)), max_size=3))
    for isolation in (_UNCOMMITTED, _COMMITTED):
        oracle = fetched(_ORACLE, log, start, aborted, isolation)
        expected = [told(record) for record in oracle]
        found = fetched(fetcher.PartitionRecords, log, start, aborted, isolation, by_batch)
        whole = list(found)
        assert [told(record) for batch in whole for record in singles(batch)] == expected
        assert {one.producer for one in whole} <= {5, 6, 7, 8}
        assert found.next_fetch_offset == oracle.next_fetch_offset
        assert all(len(batch.records) for batch in whole)
        each = fetched(fetcher.PartitionRecords, log, start, aborted, isolation)
        assert [told(record) for record in each] == expected
        assert each.next_fetch_offset == oracle.next_fetch_offset


def test_a_batch_tells_its_producer() -> None:
    """It distinguishes two producers' records in one fetch; a batch of the format before producer ids has none."""
    first, base = single(5, b"1", 0)
    second, _ = single(6, b"2", base)
    found = list(fetched(Fetch, first + second, 0, [], _COMMITTED, by_batch))
    assert [(batch.producer, batch.records.values) for batch in found] == [
        (5, [b"1"]),
        (6, [b"2"]),
    ]
    builder = LegacyRecordBatchBuilder(1, 0, 1 << 20)
    builder.append(0, 1, b"a", b"3", [])
    (old,) = fetched(Fetch, bytes(builder.build()), 0, [], _COMMITTED, by_batch)
    assert (old.producer, old.records[0].value) == (None, b"3")


@pytest.mark.parametrize("isolation", [_UNCOMMITTED, _COMMITTED])
@pytest.mark.parametrize("key", [None, by_batch])
def test_a_marker_that_compaction_emptied_is_passed_over(isolation: int, key: Any) -> None:
    """The log cleaner keeps a last marker's batch without its record, which aiokafka takes for damaged."""
    before, base = single(5, b"1", 0)
    builder = DefaultRecordBatchBuilder(2, 0, True, 5, 0, 0, 1 << 20)  # noqa: FBT003
    marker = bytearray(builder.build())
    marker[_BASE_OFFSET] = base.to_bytes(8, "big")
    marker[_ATTRIBUTES] |= _CONTROL
    marker[_CRC] = calc_crc32c(bytes(marker[_BEHIND_CRC:])).to_bytes(4, "big")
    behind, end = single(6, b"2", base + 1)
    for log, start, values in (
        (before + bytes(marker) + behind, 0, [b"1", b"2"]),
        (bytes(marker) + behind, base, [b"2"]),
    ):
        records = fetched(Fetch, log, start, [], isolation, key)
        found = [record for one in records for record in (singles(one) if key else [one])]
        assert [record.value for record in found] == values
        assert records.next_fetch_offset == end


def test_each_batch_is_checked_against_its_checksum() -> None:
    """If one bit of a value is wrong, everything before the batch is returned, then its place is named.

    A stopped partition keeps the error, so it holds none of the bytes: the frames that raised it hold the whole fetch.
    """
    whole, base = single(5, b"1", 0)
    broken = bytearray(single(5, b"2222", base)[0])
    broken[-3] ^= 1
    records = fetched(Fetch, whole + bytes(broken), 0, [], _COMMITTED, by_batch)
    assert [batch.records.offsets for batch in records] == [[0]]
    assert records.next_fetch_offset == base
    with pytest.raises(UnreadableBatchError) as raised:
        list(fetched(Fetch, bytes(broken), base, [], _COMMITTED, by_batch))
    assert raised.value.offset == base
    cause = raised.value.__cause__
    assert isinstance(cause, CorruptRecordException)
    assert (cause.__traceback__, cause.__context__) == (None, None)
