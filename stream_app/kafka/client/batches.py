"""Unpacks the batches of a fetch and reports any that are damaged or whose codec library is missing.

aiokafka raises its decoder's error without a position, and loses the records decoded so far. This module first passes
on the records before the unreadable batch, and its error names the topic, partition, offset and codec. aiokafka also
builds an object with eleven fields for every record, which costs more than the rest of the reading. `Fetch.batches`
does not: it passes on the output of aiokafka's C decoder batch by batch.

Importing this module changes aiokafka for every consumer of the process, including Faust's. A caller that sets
``whole`` before it reads a fetch gets the fetch as one `Records`.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any, Final, NamedTuple, TypeVar

from aiokafka import codec
from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException, KafkaError, UnsupportedCodecError
from aiokafka.record.control_record import ABORT_MARKER, ControlRecord

from stream_app.formats.records import Records

Read = TypeVar("Read")

CODECS: Final = ("uncompressed", "gzip", "snappy", "lz4", "zstd")
"""Kafka's codecs, by their number in a batch, named as in the topic setting ``compression.type``."""


class UnreadableBatchError(KafkaError):
    """A batch that cannot be decoded; the message contains none of its bytes."""

    def __init__(self, topic: str, partition: int, offset: int, codec_name: str, cause: Exception) -> None:
        self.topic, self.partition, self.offset, self.codec = topic, partition, offset, codec_name
        self.asked = f"a decodable batch at offset {offset} of {topic}, partition {partition}"
        if isinstance(cause, UnsupportedCodecError):
            self.found = f"codec {codec_name}, but this installation has no library for it"
            self.remedy = "Install `cramjam`, which every installation of this program needs, and start again"
        else:
            # PRIVACY: a decoder's message can quote the data it decodes, so only the type of its error is shown.
            self.found = f"a damaged batch (codec {codec_name}, {type(cause).__name__})"
            self.remedy = "Restore the topic from a complete replica or from a backup, and start again"
        super().__init__(f"expected {self.asked}; found {self.found}. {self.remedy}")


def readable_codecs() -> tuple[str, ...]:
    """Return the codecs that this installation can decode."""
    can = (True, codec.has_gzip(), codec.has_snappy(), codec.has_lz4(), codec.has_zstd())
    return tuple(name for name, here in zip(CODECS, can, strict=True) if here)


class RecordBatch(NamedTuple):
    """The records of one batch (at least one), without an object per record."""

    producer: int | None  # the batch's; -1 or None without a producer id
    records: Records
    headers: list[Sequence[tuple[str, bytes]]]
    timestamp_type: int | None
    """1 if the broker set the timestamps, 0 if the producer did, None in an older format."""


class _Single(NamedTuple):
    """A record in the form that aiokafka converts to its own record type."""

    offset: int
    timestamp: int
    timestamp_type: int | None
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]
    checksum: None = None


def by_batch(_: Any) -> Any:
    """Make a consumer yield `RecordBatch` objects instead of records; pass it as ``key_deserializer``."""
    raise AssertionError("keys are not deserialized for a consumer that hands out batches")


class Fetch(fetcher.PartitionRecords):
    """The batches of one fetch of a partition, up to the first one that cannot be read."""

    whole = False
    next_fetch_offset: int

    def batches(self) -> Iterator[RecordBatch]:
        """Yield the remaining batches except aborted ones; ``next_fetch_offset`` moves past each batch.

        Raises `UnreadableBatchError` if a batch cannot be read and nothing was yielded before it.
        """
        for batch in self._each(self._made):
            if batch.records:
                yield batch

    def _each(self, read: Callable[[Any], Read]) -> Iterator[Read]:
        """Yield the result of ``read`` for each remaining batch; raises the same error as `batches`."""
        begin, batch = self.next_fetch_offset, None
        batches, checks = self._records, self._check_crcs
        try:
            while batches.has_next():
                batch = batches.next_batch()
                if checks and not batch.validate_crc():
                    raise CorruptRecordException("Invalid CRC")  # noqa: TRY301 (as what the decoders raise)
                if not self._is_passed_over(batch):
                    yield read(batch)
                # Move past the batch's original last record: compaction may have removed that record.
                self.next_fetch_offset = batch.next_offset
        except Exception as error:
            if self.next_fetch_offset > begin:
                return  # the next fetch begins here
            number = 0 if batch is None else getattr(batch, "compression_type", 0)
            name = CODECS[number] if number < len(CODECS) else f"number {number}"
            # PRIVACY: a stopped partition keeps the error, and the frames in its cause's traceback hold the fetch.
            error.__context__ = error.__cause__ = None
            error.with_traceback(None)
            raise UnreadableBatchError(self._tp.topic, self._tp.partition, begin, name, error) from error

    def _made(self, batch: Any) -> RecordBatch:
        records = Records(self._tp.topic, self._tp.partition, [], [], [], [])
        headers: list[Sequence[tuple[str, bytes]]] = []
        self._append(batch, records, headers)
        return RecordBatch(batch.producer_id, records, headers, getattr(batch, "timestamp_type", None))

    def _append(self, batch: Any, records: Records, headers: list[Sequence[tuple[str, bytes]]] | None = None) -> None:
        """Append all records of a batch to columns, or append none of them if any cannot be read."""
        offsets, times, keys, values = records.offsets, records.timestamps_ms, records.keys, records.values
        before, following = len(offsets), self.next_fetch_offset
        try:
            for record in batch:
                offset = record.offset
                if offset >= following:  # a fetch starts with the batch containing its offset
                    following = offset + 1
                    offsets.append(offset)
                    times.append(record.timestamp)
                    keys.append(record.key)
                    values.append(record.value)
                    if headers is not None:
                        headers.append(record.headers or ())
        except Exception:
            del offsets[before:], times[before:], keys[before:], values[before:]
            raise

    def _is_passed_over(self, batch: Any) -> bool:
        """Return whether the reader must skip a batch: a marker, or records of an aborted transaction."""
        if self._isolation_level == fetcher.READ_COMMITTED and batch.producer_id is not None:
            self._consume_aborted_up_to(batch.base_offset)
            # The log cleaner may keep the batch of a producer's last marker after removing its record.
            marker = next(batch, None) if batch.is_control_batch else None
            if marker is not None and ControlRecord.parse(marker.key) == ABORT_MARKER:
                self._aborted_producers.discard(batch.producer_id)
            if batch.is_transactional and batch.producer_id in self._aborted_producers:
                return True
        return bool(batch.is_control_batch)

    def _unpack_records(self) -> Iterator[Any]:
        if self._key_deserializer is by_batch:
            yield from self.batches()
            return
        if self.whole:
            records = Records(self._tp.topic, self._tp.partition, [], [], [], [])
            for _ in self._each(lambda batch: self._append(batch, records)):
                pass
            if records:
                yield records
            return
        for _, records, headers, kind in self.batches():
            columns = (records.offsets, records.timestamps_ms, repeat(kind), records.keys, records.values, headers)
            for record in map(_Single, *columns):
                made = self._consumer_record(self._tp, record)
                self.next_fetch_offset = record.offset + 1
                yield made


fetcher.PartitionRecords = Fetch
