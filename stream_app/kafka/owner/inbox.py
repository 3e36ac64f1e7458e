"""The fetched but unprocessed records of one partition, in order and without gaps."""

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from stream_app.formats.records import Records
from stream_app.kafka.brokers import Message

_COMMITS = 8  # commits while the largest batch is processed: some hundred records per commit
_SHORTEST = 16  # the largest batch is cut into at most 16 parts, however slow some records were


def _size(records: Records) -> int:
    return sum([len(value) for value in records.values if value is not None])


@dataclass(slots=True, repr=False, eq=False)
class Delivery:
    """Records of one partition from one fetch, and the offset range that they cover completely."""

    _records: Records
    start: int
    end: int

    def __len__(self) -> int:
        return len(self._records)

    def taken(self) -> Records:
        """Return the records and stop referring to them."""
        # PRIVACY: Faust keeps the last message until the next one comes, which may never happen.
        records, self._records = self._records, self._records[:0]
        return records

    def __repr__(self) -> str:
        # PRIVACY: Faust writes messages into its logs; records contain raw values and must not appear there.
        return f"<{len(self)} records, offsets {self.start} to {self.end}>"


class BatchInput(NamedTuple):
    """The records to process as one batch, and the offset range that they cover completely."""

    start: int
    end: int
    records: Records
    messages: list[Message]  # the messages it completes

    def parted(self, count: int) -> "tuple[BatchInput, BatchInput | None]":
        """Return the first ``count`` records, and the rest with all the messages (None if nothing is left)."""
        if count >= len(self.records):
            return self, None
        left = self.records[count:]
        end = left.offsets[0]
        return BatchInput(self.start, end, self.records[:count], []), BatchInput(end, self.end, left, self.messages)


class _Piece(NamedTuple):
    message: Message
    records: Records
    end: int
    size: int


class Inbox:
    """A queue of fetches that returns all waiting input as a batch, up to limits, so batches grow under load."""

    def __init__(self, most_records: int, most_bytes: int) -> None:
        """Set the limits of one batch; the inbox is full with two such batches, and hungry below one."""
        self._most_records = most_records
        self._most_bytes = most_bytes
        self._pieces: deque[_Piece] = deque()
        self._records = 0
        self._bytes = 0
        self._rests: list[BatchInput] = []  # the rests put back; the last one is next
        self._room, self._given, self._cut = most_records, 0, False
        self._broken: Exception | None = None
        self.next_offset = 0
        self._start = 0

    def restart(self, next_offset: int) -> None:
        """Discard everything, and expect the log from ``next_offset`` on."""
        self._pieces.clear()
        self._rests.clear()
        self._records = self._bytes = 0
        self._start = self.next_offset = next_offset

    @property
    def full(self) -> bool:
        """Whether the waiting input is enough for two batches."""
        return self._records >= 2 * self._most_records or self._bytes >= 2 * self._most_bytes

    @property
    def hungry(self) -> bool:
        """Whether the waiting input is less than one batch."""
        return self._records < self._most_records and self._bytes < self._most_bytes

    @property
    def ample(self) -> bool:
        """Whether processing the waiting input takes as long as a commit, so that both should run at once."""
        much = self._records * _COMMITS >= self._most_records or self._bytes * _COMMITS >= self._most_bytes
        return much or bool(self._rests)

    def __len__(self) -> int:
        return self._records

    def put(self, message: Message, fetched: Delivery) -> bool:
        """Add the records of a fetch; return False and add nothing if earlier offsets are missing."""
        records = fetched.taken()
        if fetched.start > self.next_offset:
            return False
        if fetched.end <= self.next_offset:
            return True
        if fetched.start < self.next_offset:
            records = records[bisect_left(records.offsets, self.next_offset) :]
        size = _size(records)
        self._pieces.append(_Piece(message, records, fetched.end, size))
        self._records += len(records)
        self._bytes += size
        self.next_offset = fetched.end
        return True

    def give_back(self, rest: BatchInput) -> None:
        """Put back the unprocessed rest of the last batch, to be returned next.

        Input that is put back is read again. The next batches are therefore as short as the processed part, and double
        in size after each one that is processed completely.
        """
        self._rests.append(rest)
        self._cut = True
        self._room = max(self._most_records // _SHORTEST, self._given - len(rest.records))
        self._records += len(rest.records)
        self._bytes += _size(rest.records)

    def break_off(self, error: Exception) -> None:
        """Make `take` raise ``error`` after the waiting input; no more input follows."""
        self._broken = error

    def take(self) -> BatchInput | None:
        """Return the next batch's input, or None if none waits; after `break_off`, raise its error instead of None."""
        if self._broken is not None and not self._records:
            raise self._broken
        self._room = self._room if self._cut else min(2 * self._room, self._most_records)
        self._cut = False
        taken = self._returned(self._rests.pop()) if self._rests else self._fetched()
        if taken is not None:
            self._given = len(taken.records)
            self._records -= self._given
            self._bytes -= _size(taken.records)
        return taken

    def _returned(self, rest: BatchInput) -> BatchInput:
        taken, more = rest.parted(self._room)
        if more is not None:
            self._rests.append(more)
        return taken

    def _fetched(self) -> BatchInput | None:
        start, size, count = self._start, 0, 0
        stretches: list[Records] = []
        messages: list[Message] = []
        while self._pieces and (not messages or count < self._room):
            piece = self._pieces[0]
            room = self._fitting(piece, count, size)
            if room >= len(piece.records):
                self._pieces.popleft()
                messages.append(piece.message)
                stretches.append(piece.records)
                count += len(piece.records)
                size += piece.size
                self._start = piece.end
            else:
                if room:
                    fitting, rest = piece.records[:room], piece.records[room:]
                    part = _size(fitting)
                    stretches.append(fitting)
                    count += room
                    size += part
                    self._pieces[0] = piece._replace(records=rest, size=piece.size - part)
                    self._start = rest.offsets[0]
                break
        if self._start == start:
            return None
        return BatchInput(start, self._start, Records.joined(stretches), messages)

    def _fitting(self, piece: _Piece, taken: int, size: int) -> int:
        """Return how many of the piece's records fit; at least one always fits into an empty batch."""
        room = self._room - taken
        if size + piece.size <= self._most_bytes:
            return room
        fitting = 0
        for value in piece.records.values[:room]:
            size += 0 if value is None else len(value)
            if size > self._most_bytes and (fitting or taken):
                break
            fitting += 1
        return fitting
