"""Batches that cannot be read: damaged, or compressed by a codec for which a library is missing.

aiokafka raises whatever its decoders raise, without a place, and loses what it had decoded before. Here records before
such a batch are handed out first, and the error names topic, partition, offset and codec. Importing this module changes
aiokafka for every consumer of the process, Faust's too. Records also get the ``producer`` id of their batch's header.
"""

from collections.abc import Iterator
from typing import Any, Final

from aiokafka import codec
from aiokafka.consumer import fetcher
from aiokafka.errors import KafkaError, UnsupportedCodecError

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

    _records: Any

    def _consumer_record(self, tp: Any, record: Any) -> Any:
        made = super()._consumer_record(tp, record)
        made.producer = self._records.last.producer_id  # whose transaction it is of; None of no producer
        return made

    def _unpack_records(self) -> Iterator[Any]:
        begin = self.next_fetch_offset
        batches = self._records = _Batches(self._records)
        try:
            yield from super()._unpack_records()
        except Exception as error:
            if self.next_fetch_offset > begin:
                return  # the next fetch begins with it
            last = batches.last
            number = 0 if last is None else getattr(last, "compression_type", 0)
            name = CODECS[number] if number < len(CODECS) else f"number {number}"
            raise UnreadableBatchError(self._tp.topic, self._tp.partition, begin, name, error) from error


fetcher.PartitionRecords = _Records
