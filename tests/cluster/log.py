"""The log of one partition: batches, markers that end transactions, and each isolation's stopping point."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from aiokafka.errors import InvalidProducerEpoch, OffsetOutOfRangeError, OutOfOrderSequenceNumber

Isolation = Literal["read_committed", "read_uncommitted"]

NO_PRODUCER: Final = -1


class Draft(NamedTuple):
    """A record before it is in a log."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Sequence[tuple[str, bytes]] = ()


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """A record as a reader returns it, with the attributes of aiokafka's that the program reads."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]
    producer: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Records written together, or a transaction's marker, which has no records and one offset."""

    base: int
    end: int
    records: Sequence[MemoryRecord]
    producer: int = NO_PRODUCER
    epoch: int = -1
    sequence: int = -1
    """The sequence number of its last record, counted by its producer."""
    transactional: bool = False
    marker: Literal["commit", "abort"] | None = None


class _Known(NamedTuple):
    """A broker's knowledge of a producer, taken from the remaining batches."""

    epoch: int
    sequence: int | None
    """The sequence number of its last record; None allows any, as after a marker of a newer epoch."""


class Log:
    """One partition of one topic."""

    def __init__(self, topic: str, partition: int) -> None:
        """Begin empty."""
        self.topic, self.partition = topic, partition
        self.first = 0
        self.end = 0
        self.batches: list[Batch] = []
        self._open: dict[int, int] = {}
        self._aborted: dict[int, list[tuple[int, int]]] = {}
        self._known: dict[int, _Known] = {}

    @property
    def stable(self) -> int:
        """The last stable offset: the beginning of the oldest open transaction, or the end.

        If the log begins after that beginning, it is the base of the batch that holds the first offset kept.
        """
        oldest = min(self._open.values(), default=self.end)
        return oldest if oldest >= self.first else next((batch.base for batch in self.batches), self.end)

    def is_open(self, producer: int) -> bool:
        """Return whether a transaction of that producer wrote here and its marker has not followed yet."""
        return producer in self._open

    def bound(self, isolation: Isolation) -> int:
        """Return the offset before which a reader stops."""
        return self.end if isolation == "read_uncommitted" else self.stable

    def append(
        self,
        drafts: Sequence[Draft],
        *,
        append_ms: int | None = None,
        producer: int = NO_PRODUCER,
        epoch: int = -1,
        sequence: int = 0,
    ) -> int:
        """Append a batch and return its first offset; ``append_ms`` replaces its records' own times.

        With a ``producer``, the batch belongs to the producer's transaction; ``sequence`` is that of its first record.
        The producer's last batch is not written again.

        Raises:
            InvalidProducerEpoch: if the producer's epoch is older than one that was seen here.
            OutOfOrderSequenceNumber: if records of this producer are missing before it.
        """
        base = self.end
        if producer != NO_PRODUCER:
            written = self._check(producer, epoch, sequence, sequence + len(drafts) - 1)
            if written is not None:
                return written
        records = tuple(
            MemoryRecord(
                self.topic,
                self.partition,
                base + index,
                draft.timestamp if append_ms is None else append_ms,
                draft.key,
                draft.value,
                tuple(draft.headers),
                producer,
            )
            for index, draft in enumerate(drafts)
        )
        last = sequence + len(records) - 1
        transactional = producer != NO_PRODUCER
        self._add(Batch(base, base + len(records), records, producer, epoch, last, transactional))
        return base

    def mark(self, producer: int, epoch: int, marker: Literal["commit", "abort"]) -> None:
        """Append the marker that ends a producer's transaction; it takes an offset even without records here."""
        self._add(Batch(self.end, self.end + 1, (), producer, epoch, transactional=True, marker=marker))

    def abort_open(self) -> None:
        """Append an abort marker for every transaction that is open here."""
        for producer in list(self._open):
            self.mark(producer, self._known[producer].epoch, "abort")

    def delete_before(self, offset: int) -> None:
        """Delete records before an offset; -1 deletes all records.

        Raises:
            OffsetOutOfRangeError: if the log ends before it.
        """
        offset = self.end if offset < 0 else offset
        if offset > self.end:
            raise OffsetOutOfRangeError
        self.first = max(self.first, offset)
        while self.batches and self.batches[0].end <= self.first:
            self.batches.pop(0)

    def lose_tail(self, end: int) -> None:
        """Lose the batch that holds offset ``end`` and everything after it, like a broker that loses power.

        The state of producers is rebuilt from what is left: a transaction whose marker is lost is open again.
        """
        kept = [batch for batch in self.batches if batch.end <= end]
        self.batches, self._open, self._aborted, self._known = [], {}, {}, {}
        self.end = kept[-1].end if kept else self.first
        for batch in kept:
            self._add(batch)

    def lose_within(self, start: int, end: int) -> None:
        """Lose the records at offsets from ``start`` on and below ``end``; later data stays, including markers.

        No broker does this by itself. A damaged disk may, or an operator who deletes a segment's file.
        """
        self.batches = [
            replace(batch, records=tuple(record for record in batch.records if not start <= record.offset < end))
            for batch in self.batches
        ]

    def compact(self) -> None:
        """Keep only the last committed record of each key below the last stable offset; markers stay."""
        stable = self.stable
        last = {record.key: record.offset for record in self.visible(self.first, stable, "read_committed")}
        kept = set(last.values())
        self.batches = [
            batch
            if batch.marker or batch.end > stable
            else replace(batch, records=tuple(record for record in batch.records if record.offset in kept))
            for batch in self.batches
        ]

    def visible(self, start: int, end: int, isolation: Isolation) -> list[MemoryRecord]:
        """Return the records from offset ``start`` on and below ``end`` that a reader of ``isolation`` receives."""
        start, end = max(start, self.first), min(end, self.bound(isolation))
        found: list[MemoryRecord] = []
        for batch in self.batches_from(start):
            if batch.base >= end:
                break
            if isolation == "read_uncommitted" or not self._is_aborted(batch):
                found += [record for record in batch.records if start <= record.offset < end]
        return found

    def batches_from(self, offset: int) -> Iterator[Batch]:
        """Yield the batch that holds an offset, and those behind it."""
        index = bisect_right(self.batches, offset, key=lambda batch: batch.end)
        while index < len(self.batches):
            yield self.batches[index]
            index += 1

    def _is_aborted(self, batch: Batch) -> bool:
        return any(first <= batch.base < marker for first, marker in self._aborted.get(batch.producer, ()))

    def _check(self, producer: int, epoch: int, sequence: int, last: int) -> int | None:
        """Return the position of the same batch, if it was written before."""
        known = self._known.get(producer)
        if known is None or (epoch == known.epoch and known.sequence is None):
            return None
        if epoch < known.epoch:
            raise InvalidProducerEpoch
        if epoch == known.epoch and last == known.sequence:
            return next(
                batch.base for batch in reversed(self.batches) if (batch.producer, batch.sequence) == (producer, last)
            )
        if sequence != (0 if epoch > known.epoch or known.sequence is None else known.sequence + 1):
            raise OutOfOrderSequenceNumber
        return None

    def _add(self, batch: Batch) -> None:
        self.batches.append(batch)
        self.end = batch.end
        if batch.producer == NO_PRODUCER:
            return
        known = self._known.get(batch.producer)
        if batch.marker is None:
            self._known[batch.producer] = _Known(batch.epoch, batch.sequence)
            self._open.setdefault(batch.producer, batch.base)
            return
        same = known is not None and known.epoch == batch.epoch
        self._known[batch.producer] = _Known(batch.epoch, known.sequence if known and same else None)
        began = self._open.pop(batch.producer, None)
        if began is not None and batch.marker == "abort":
            self._aborted.setdefault(batch.producer, []).append((began, batch.base))
