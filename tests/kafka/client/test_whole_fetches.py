"""A fetch read as columns equals the one read by record: its records, the next position, and its errors."""

from dataclasses import dataclass, replace
from typing import Any

from aiokafka import TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c
from hypothesis import example, given
from hypothesis import strategies as st

from stream_app.kafka.client.batches import Fetch, UnreadableBatchError

_CRC, _ATTRIBUTES, _COUNT = slice(17, 21), 22, slice(57, 61)
"""Their positions in a batch: https://kafka.apache.org/documentation/#recordbatch."""
_CONTROL, _APPEND_TIME = 0x20, 0x08
_PRODUCERS = (7, 8)


@dataclass(frozen=True)
class Batch:
    """A batch of a log."""

    records: tuple[tuple[int, bytes | None, bytes | None], ...]
    """Steps from the previous offset (0 repeats it), keys and values."""
    codec: int
    producer: int
    transactional: bool
    marker: bytes | None
    """The key of a control record, which is then the only record."""
    append_time: bool
    damage: str
    legacy: bool


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Batches that are plain, transactional, compacted, compressed, of an old format, markers, or damaged."""
    maybe = st.none() | st.binary(max_size=6)
    records = st.lists(st.tuples(st.integers(0, 2), maybe, maybe), min_size=1, max_size=5)
    producer = draw(st.sampled_from((-1, *_PRODUCERS)))
    ends = producer >= 0 and draw(st.booleans())
    return Batch(
        tuple(draw(records)),
        codec=draw(st.integers(0, 4)),
        producer=producer,
        transactional=producer >= 0 and draw(st.booleans()),
        marker=draw(st.sampled_from((b"\0\0\0\0", b"\0\0\0\1"))) if ends else None,
        append_time=draw(st.booleans()),
        damage=draw(st.sampled_from(("none", "none", "none", "none", "none", "checksum", "count", "cut"))),
        legacy=producer < 0 and draw(st.booleans()),
    )


_GIVEN_UP = Batch(
    ((1, None, b"v"),), 0, 7, transactional=True, marker=None, append_time=True, damage="none", legacy=False
)
_ABORT = replace(_GIVEN_UP, marker=b"\0\0\0\0")


def laid(batch: Batch, base: int) -> tuple[bytes, int]:
    """Return a batch as stored in a log that continues at an offset, and the offset after it."""
    if batch.legacy:
        old = LegacyRecordBatchBuilder(magic=1, compression_type=0, batch_size=100_000)
        end = base
        for step, key, value in batch.records:
            end += max(1, step)
            assert old.append(end - 1, timestamp=end, key=key, value=value, headers=[]) is not None
        return bytes(old.build()), end
    codec = 0 if batch.marker else batch.codec  # brokers compress no marker
    new = DefaultRecordBatchBuilder(2, codec, batch.transactional, batch.producer, 0, 0, 100_000)
    end = 0
    for step, key, value in ((1, batch.marker, b"\0" * 6),) if batch.marker else batch.records:
        end += step if end else 1
        assert new.append(end - 1, 1_000 - end, key, value, []) is not None
    content = bytearray(new.build())
    content[:8] = base.to_bytes(8, "big")
    content[_ATTRIBUTES] |= (_CONTROL if batch.marker else 0) | (_APPEND_TIME if batch.append_time else 0)
    if batch.damage == "count":  # found when those that are there were read
        content[_COUNT] = (len(batch.records) + 1).to_bytes(4, "big")
    content[_CRC] = (calc_crc32c(bytes(content[21:])) ^ (batch.damage == "checksum")).to_bytes(4, "big")
    return bytes(content[:-1] if batch.damage == "cut" else content), base + end


def _arguments(content: bytes, start: int, isolation: int, aborted: list[tuple[int, int]]) -> Any:
    return TopicPartition("events", 3), MemoryRecords(content), aborted, start, None, None, True, isolation


@example(log=[_GIVEN_UP, _ABORT, _GIVEN_UP], first=0, behind=0, isolation=fetcher.READ_COMMITTED, aborts=[(7, 0)])
@given(
    log=st.lists(batches(), max_size=6),
    first=st.integers(0, 5),
    behind=st.integers(0, 12),
    isolation=st.sampled_from((fetcher.READ_COMMITTED, fetcher.READ_UNCOMMITTED)),
    aborts=st.lists(st.tuples(st.sampled_from(_PRODUCERS), st.integers(0, 20)), max_size=3),
)
def test_columns_are_what_single_records_are(
    log: list[Batch], first: int, behind: int, isolation: int, aborts: list[tuple[int, int]]
) -> None:
    """This holds for any log, from any offset in it, whether its batches are whole or not."""
    content, end = b"", first
    for batch in log:
        piece, end = laid(batch, end)
        if not content:  # a broker begins with the batch that the offset lies in; of old ones each holds one record
            behind = 0 if batch.legacy else min(behind, end - first - 1)
        content += piece
    single, whole = (Fetch(*_arguments(content, first + behind, isolation, aborts)) for _ in range(2))
    whole.whole = True
    singles: list[Any] = []
    columns: list[Any] = []
    raised: list[UnreadableBatchError | None] = []
    for records, found in ((single, singles), (whole, columns)):
        try:
            found.extend(records)
            raised.append(None)
        except UnreadableBatchError as error:
            raised.append(error)
    assert len(columns) <= 1
    assert [(one.offset, one.timestamp_ms, one.key, one.value) for each in columns for one in each] == [
        (one.offset, one.timestamp, one.key, one.value) for one in singles
    ]
    assert all((each.topic, each.partition) == ("events", 3) and len(each) for each in columns)
    if all(batch.damage == "none" for batch in log) and raised == [None, None] and single.next_fetch_offset == end:
        theirs = list(Fetch.__mro__[1](*_arguments(content, first + behind, isolation, aborts)))  # aiokafka's own class
        assert [(one.offset, one.timestamp, one.key, one.value) for one in singles] == [
            (one.offset, one.timestamp, one.key, one.value) for one in theirs
        ]
    assert whole.next_fetch_offset == single.next_fetch_offset
    assert [str(error) for error in raised] == [str(raised[0])] * 2
