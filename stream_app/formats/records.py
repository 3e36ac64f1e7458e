"""The records of the events topic, both as received from the broker and in decoded form.

`Observation` and `Contribution` contain raw values, so their printed forms hide them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, NamedTuple, TypeVar, cast, overload

from stream_app.privacy.landmarks import Interval
from stream_app.privacy.reason import Reason
from stream_app.privacy.values import Raw, frozen


@frozen
class InputRecord:
    """A record of the events topic; ``timestamp_ms`` is the broker's append time.

    ``parsed`` is the JSON object in ``value``, if it has already been read.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    parsed: "Parsed | None" = None

    def __repr__(self) -> str:
        """Return only the record's position."""
        # PRIVACY: no printed form of a record, including a traceback, shows its key or value.
        return f"InputRecord({self.topic!r}, {self.partition}, {self.offset})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Records:
    """Records of one partition, as columns of equal length in offset order.

    ``timestamps_ms`` are the broker's append times. ``parsed`` contains the JSON objects of all values, if they have
    already been read. The class is a sequence of `InputRecord`, each created on access.
    """

    topic: str
    partition: int
    offsets: list[int]
    timestamps_ms: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    parsed: "list[Parsed] | None" = None

    @classmethod
    def of(cls, records: Iterable[InputRecord], topic: str = "", partition: int = -1) -> "Records":
        """Return one partition's records as columns; ``topic`` and ``partition`` are used if there are no records."""
        found = list(records)
        if found:
            topic, partition = found[0].topic, found[0].partition
        offsets, times = [one.offset for one in found], [one.timestamp_ms for one in found]
        return cls(topic, partition, offsets, times, [one.key for one in found], [one.value for one in found])

    @classmethod
    def joined(cls, stretches: "list[Records]") -> "Records":
        """Return consecutive stretches joined into one; a single stretch is returned unchanged."""
        if not stretches:
            return cls("", -1, [], [], [], [])
        first = stretches[0]
        if len(stretches) == 1:
            return first
        whole = first[:]
        for stretch in stretches[1:]:
            whole.offsets.extend(stretch.offsets)
            whole.timestamps_ms.extend(stretch.timestamps_ms)
            whole.keys.extend(stretch.keys)
            whole.values.extend(stretch.values)
        return whole

    def read(self, parsed: "list[Parsed]") -> "Records":
        """Return the records with their parsed values."""
        return replace(self, parsed=parsed)

    def pairs(self) -> "Iterator[tuple[bytes, bytes | None]]":
        """Yield the key and value of each record; every record has a key, as in a compacted topic."""
        return zip(cast("list[bytes]", self.keys), self.values, strict=True)

    def __len__(self) -> int:
        return len(self.offsets)

    def __iter__(self) -> Iterator[InputRecord]:
        topic, partition, parsed = repeat(self.topic), repeat(self.partition), self.parsed or repeat(None)
        return map(InputRecord, topic, partition, self.offsets, self.timestamps_ms, self.keys, self.values, parsed)

    @overload
    def __getitem__(self, at: int) -> InputRecord: ...

    @overload
    def __getitem__(self, at: slice) -> "Records": ...

    def __getitem__(self, at: int | slice) -> "InputRecord | Records":
        offsets, times, keys, values = self.offsets, self.timestamps_ms, self.keys, self.values
        if isinstance(at, slice):
            some = None if self.parsed is None else self.parsed[at]
            return Records(self.topic, self.partition, offsets[at], times[at], keys[at], values[at], some)
        one = None if self.parsed is None else self.parsed[at]
        return InputRecord(self.topic, self.partition, offsets[at], times[at], keys[at], values[at], one)

    def some(self, numbers: Sequence[int]) -> "Records":
        """Return the records at the given ascending indices."""
        if isinstance(numbers, range):
            return self[numbers.start : numbers.stop]
        columns: list[list[Any] | None] = [self.offsets, self.timestamps_ms, self.keys, self.values, self.parsed]
        some: list[Any] = [column and [column[at] for at in numbers] for column in columns]
        return Records(self.topic, self.partition, *some)

    def __repr__(self) -> str:
        """Return only the records' positions."""
        # PRIVACY: Faust writes messages into its logs, and a traceback may show anything, so no key and no value
        # appears.
        where = f"{self.topic!r}, {self.partition}"
        return (
            f"Records({where}, offsets {self.offsets[0]} to {self.offsets[-1]})"
            if self.offsets
            else f"Records({where})"
        )


@frozen
class Observation:
    """One sensitive item, whose value may be any JSON value; its repr hides the value."""

    series: str
    timestamp_ms: int
    value: Raw

    def __repr__(self) -> str:
        """Return only the series and the timestamp."""
        # PRIVACY: no printed form of an observation, including a traceback, shows its value.
        return f"Observation({self.series!r}, {self.timestamp_ms})"


@dataclass(frozen=True, slots=True)
class PolicyRecord:
    """A policy version; ``parameters`` are its other fields, which have not been checked.

    If ``weaker``, the sender accepts that this version and the previous one together protect less.
    """

    series: str
    version: int
    parameters: Mapping[str, object] = field(repr=False)  # its landmarks may be secret
    weaker: bool = False


@dataclass(frozen=True, slots=True)
class LandmarksRecord:
    """Landmarks to add: timestamps and ``[start, end)`` intervals in milliseconds."""

    series: str
    add: tuple[int | Interval, ...]


@dataclass(frozen=True, slots=True)
class CloseRecord:
    """A request to end a series permanently."""

    series: str


class Contribution(NamedTuple):
    """A contributor's (``member``) item at one step of a collected series; the repr hides contributor and item.

    ``value`` should be one of the policy's keys but may be any JSON value.
    """

    series: str
    timestamp_ms: int
    member: str
    value: Raw

    def __repr__(self) -> str:
        """Return only the series and the timestamp."""
        # PRIVACY: no printed form of a contribution, including a traceback, shows its contributor or value.
        return f"Contribution({self.series!r}, {self.timestamp_ms})"


class Watermark(NamedTuple):
    """Closes every step that ends at or before its time, and opens the next steps; its repr hides the seed.

    ``seed`` is fresh, and nobody keeps it; pan-private noise is expanded from it. Watermarks of plain series need no
    seed.
    """

    series: str
    timestamp_ms: int
    seed: bytes | None

    def __repr__(self) -> str:
        """Return only the series and the timestamp."""
        return f"Watermark({self.series!r}, {self.timestamp_ms})"


class Intrusion(NamedTuple):
    """Announces that somebody has seen the worker's memory up to this point; its repr hides the seed.

    Fresh noise for the counters of open steps is expanded from ``seed``.
    """

    series: str
    seed: bytes

    def __repr__(self) -> str:
        """Return only the series."""
        return f"Intrusion({self.series!r})"


@dataclass(frozen=True, slots=True)
class MemberRecord:
    """A person's limit: the most that all of the person's series together may reserve."""

    member: str
    cap_nano: int


Collected = Contribution | Watermark | Intrusion  # records that only series with a `collect` policy accept
EventRecord = Observation | PolicyRecord | LandmarksRecord | CloseRecord | Collected


@dataclass(frozen=True, slots=True)
class MalformedRecord:
    """Bytes that are not a valid record, with the series (or person) and timestamp if they were readable."""

    reason: Reason
    series: str | None = None
    timestamp_ms: int | None = None
    member: str | None = None


Seen = tuple[str, int, Raw]
"""The series, timestamp and value of an observation, in the form that columns use directly."""
Parsed = Seen | dict[str, Any] | MalformedRecord
"""The content of a record's value: an observation, another JSON object, or the reason why it is malformed."""

E = TypeVar("E", bound=EventRecord)


def of_series(record: E, series: str) -> E:
    """Return a copy of a record for another series."""
    if record.series == series:
        return record
    if isinstance(record, Contribution | Watermark | Intrusion):
        return cast("E", record._replace(series=series))
    return replace(record, series=series)
