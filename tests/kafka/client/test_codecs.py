"""Every codec of Kafka can be read; what still cannot be decoded is named and stops only its partition."""

from itertools import chain
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

from stream_app.kafka.client.batches import CODECS, UnreadableBatchError
from tests.kafka.evidence.cutlog import file_of, pieces
from tests.kafka.installation import Installation, readings

_BASE_OFFSET, _CRC, _BEHIND_CRC, _RECORDS = slice(0, 8), slice(17, 21), 21, 61
"""Their positions in a batch: https://kafka.apache.org/documentation/#recordbatch."""


def batch_of(number: int, base: int, *values: bytes) -> bytes:
    """Return a batch as a producer sends it, and a broker keeps it."""
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=number,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=100_000,
    )
    for place, value in enumerate(values):
        assert builder.append(place, 1, b"home-1", value, []) is not None
    batch = bytearray(builder.build())
    batch[_BASE_OFFSET] = base.to_bytes(8, "big")
    return bytes(batch)


def damaged(batch: bytes) -> bytes:
    """Return a batch whose records are not valid output of its codec, though its checksum is right."""
    changed = bytearray(batch)
    changed[_RECORDS : _RECORDS + 12] = b"\xff" * 12
    changed[_CRC] = calc_crc32c(bytes(changed[_BEHIND_CRC:])).to_bytes(4, "big")
    return bytes(changed)


def read(batches: bytes, start: int = 0) -> Any:
    """Return aiokafka's records of one fetch, as a consumer iterates over them."""
    place = TopicPartition("events", 3)
    return fetcher.PartitionRecords(place, MemoryRecords(batches), [], start, None, None, True, 0)  # noqa: FBT003


@pytest.mark.parametrize("number", range(len(CODECS)))
def test_what_lies_before_a_damaged_batch_is_read(number: int) -> None:
    """Then only the damaged batch raises an error, with its place and codec, and without its bytes."""
    whole, broken = batch_of(number, 0, b"one", b"two" * 50), damaged(batch_of(number, 2, b"three" * 50))
    records = read(whole + broken)
    assert [record.offset for record in records] == [0, 1]
    assert records.next_fetch_offset == 2
    with pytest.raises(UnreadableBatchError) as raised:
        list(read(broken, 2))
    error = raised.value
    assert (error.topic, error.partition, error.offset, error.codec) == ("events", 3, 2, CODECS[number])
    assert "three" not in str(error)


@pytest.mark.parametrize("number", range(2, len(CODECS)))
def test_a_missing_library_is_named(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names cramjam if it is missing, as in an installation that omitted it."""
    batch = batch_of(number, 7, b"value" * 50)
    assert [record.offset for record in read(batch, 7)] == [7]
    monkeypatch.setattr("aiokafka.codec.cramjam", None)
    with pytest.raises(UnreadableBatchError, match=rf"codec {CODECS[number]}, but .* no library.*cramjam"):
        list(read(batch, 7))


def test_a_worker_decides_what_any_codec_holds(installation: Installation) -> None:
    """Producers may compress, and output topics compress again; another worker reads everything back."""
    names, sent = installation.names, 0
    with installation.worker() as worker:
        for number, codec in enumerate(CODECS):
            for topic in (names.releases, names.ledger, names.changelog):
                installation.configure(topic, compression_type=codec)
            assert installation.command("topics", "--check") == 0
            sent += installation.send(readings(100, start=sent), None if codec == "uncompressed" else codec)
            worker.await_committed(sent)
            assert all(number in _codecs(installation, topic) for topic in (names.events, names.ledger))
        assert worker.stop() == 0
    with installation.worker("elsewhere") as worker:  # reads changelog and ledger back
        sent += installation.send(readings(40, start=sent))
        worker.await_committed(sent)
        assert worker.stop() == 0
    installation.answered_once()
    assert installation.command("audit") == 0


def test_a_damaged_batch_stops_its_partition_alone(installation: Installation) -> None:
    """Everything before it is decided, the other partition continues, and the log names place and codec."""
    installation.send(readings(100), "zstd")
    before = _in_first(installation)
    installation.send(readings(100, start=100), "zstd")
    others = 200 - _in_first(installation)
    found = pieces(installation.broker, installation.names.events)
    (piece,) = [piece for piece in found if piece.offset == before]
    with file_of(installation.broker, installation.names.events).open("r+b") as file:
        file.seek(piece.position)
        batch = file.read(piece.end - piece.position)
        file.seek(piece.position)
        file.write(damaged(batch))
    with installation.worker() as worker:
        worker.await_log("batch-unreadable")
        worker.await_committed(before + others)
        said = worker.said()
        assert f"offset {before} of {installation.names.events}, partition 0" in said
        assert "codec zstd" in said
        assert "Report this as a bug" not in said
        worker.await_ready(503, "batch-unreadable")
    assert installation.committed_of(0) == before


def _in_first(installation: Installation) -> int:
    """Return the number of events in partition 0."""
    return sum(record.partition == 0 for record in installation.read(installation.names.events))


def _codecs(installation: Installation, topic: str) -> set[int]:
    """Return the codec numbers of a topic's batches, as stored on the broker's disk."""
    found = (pieces(installation.broker, topic, number) for number in range(installation.partitions))
    return {piece.codec for piece in chain.from_iterable(found)}
