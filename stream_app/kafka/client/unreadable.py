"""Batches that cannot be read: damaged, or compressed by a codec for which a library is missing.

aiokafka raises whatever its decoders raise, without a place, and loses what it had decoded before. Here records before
such a batch are handed out first, and the error names topic, partition, offset and codec. Importing this module changes
aiokafka for every consumer of the process, Faust's too. Records also get the ``producer`` id of their batch's header,
and whoever sets ``whole`` before it reads a fetch gets it as one `Records`, without an object a record.
"""

from collections.abc import Iterator
from typing import Any, Final

from aiokafka import codec
from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException, KafkaError, UnsupportedCodecError

from stream_app.formats.records import Records

CODECS: Final = ("uncompressed", "gzip", "snappy", "lz4", "zstd")
"""Kafka's codecs, by their number in a batch, as the topic setting ``compression.type`` names them."""


class UnreadableBatchError(KafkaError):
    """A batch cannot be decoded; the message holds no byte of it."""

    def __init__(self, topic: str, partition: int, offset: int, codec_name: str, cause: Exception) -> None:
        self.topic, self.partition, self.offset, self.codec = topic, partition, offset, codec_name
        self.asked = f"a batch that can be decoded at offset {offset} of {topic}, partition {partition}"
        if isinstance(cause, UnsupportedCodecError):
            self.found = f"codec {codec_name}, for which this installation has no library"
            self.remedy = "Install `cramjam`, which every installation of this program needs, and start again"
        else:
            # PRIVACY: what a decoder says can quote what it decodes; only the kind of its error is told.
            self.found = f"a damaged one (codec {codec_name}, {type(cause).__name__})"
            self.remedy = "Restore the topic from a replica that is whole, or from a backup, and start again"
        super().__init__(f"wanted {self.asked}; found {self.found}. {self.remedy}")


def readable_codecs() -> tuple[str, ...]:
    """Return the codecs that this installation can decode."""
    can = (True, codec.has_gzip(), codec.has_snappy(), codec.has_lz4(), codec.has_zstd())
    return tuple(name for name, here in zip(CODECS, can, strict=True) if here)


class _Batches:
    """The batches of one fetch; it remembers which one was given last."""

    def __init__(self, batches: Any) -> None:
        self.last: Any = None
        self.has_next = batches.has_next
        self._next = batches.next_batch

    def next_batch(self) -> Any:
        self.last = self._next()
        return self.last


class _Records(fetcher.PartitionRecords):
    """The records of one fetch, up to the first batch that cannot be read; it raises when nothing is before it."""

    whole = False
    next_fetch_offset: int
    _records: Any

    def _consumer_record(self, tp: Any, record: Any) -> Any:
        made = super()._consumer_record(tp, record)
        made.producer = self._records.last.producer_id  # whose transaction it is of; None of no producer
        return made

    def _unpack_records(self) -> Iterator[Any]:
        begin = self.next_fetch_offset
        batches = self._records = _Batches(self._records)
        records = Records(self._tp.topic, self._tp.partition, [], [], [], [])
        try:
            if self.whole:
                self._read(records)
            else:
                yield from super()._unpack_records()
        except Exception as error:
            if self.next_fetch_offset == begin:
                last = batches.last
                number = 0 if last is None else getattr(last, "compression_type", 0)
                name = CODECS[number] if number < len(CODECS) else f"number {number}"
                raise UnreadableBatchError(self._tp.topic, self._tp.partition, begin, name, error) from error
            # else the next fetch begins with it
        if records:
            yield records

    def _read(self, records: Records) -> None:
        """Append the records of all batches that count, by aiokafka's own rules; raises what it would."""
        batches, position = self._records, self.next_fetch_offset
        add_offset, add_time = records.offsets.append, records.timestamps_ms.append
        add_key, add_value = records.keys.append, records.values.append
        try:
            while batches.has_next():
                batch = batches.next_batch()
                if self._check_crcs and not batch.validate_crc():
                    raise CorruptRecordException(f"Invalid CRC - {self._tp}")
                if self._counts(batch):
                    for record in batch:
                        offset = record.offset
                        if offset >= position:  # a fetch begins with the whole batch that its offset is in
                            position = offset + 1
                            add_offset(offset)
                            add_time(record.timestamp)
                            add_key(record.key)
                            add_value(record.value)
                # The last record may have been compacted away.
                position = batch.next_offset
        finally:
            self.next_fetch_offset = position

    def _counts(self, batch: Any) -> bool:
        """Tell whether a batch holds records that were committed, or need not be: neither markers nor aborted ones."""
        if self._isolation_level == fetcher.READ_COMMITTED and batch.producer_id is not None:
            self._consume_aborted_up_to(batch.base_offset)
            if batch.is_control_batch and self._contains_abort_marker(batch):
                self._aborted_producers.discard(batch.producer_id)
            if batch.is_transactional and batch.producer_id in self._aborted_producers:
                return False
        return not batch.is_control_batch


fetcher.PartitionRecords = _Records
