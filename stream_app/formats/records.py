"""The records of the events topic: as the broker gives them, and as what they say.

Raw values stand in `Observation` and `Contribution`, which therefore hide them from whatever prints them.
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

    ``parsed`` is the JSON object that ``value`` holds, where that was read already.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    parsed: "Parsed | None" = None

    def __repr__(self) -> str:
        """Return where it stands alone."""
        # PRIVACY: whatever prints a record, a traceback too, shows no key and no value.
        return f"InputRecord({self.topic!r}, {self.partition}, {self.offset})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Records:
    """Records of one partition, as columns of equal length in the order of their offsets.

    ``timestamps_ms`` are the broker's append times, ``parsed`` the JSON objects of all values, where they were read
    already. A sequence of `InputRecord`, each made when it is asked for.
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
        """Return single records of one partition as columns; its name, where there are none, is as given."""
        found = list(records)
        if found:
            topic, partition = found[0].topic, found[0].partition
        offsets, times = [one.offset for one in found], [one.timestamp_ms for one in found]
        return cls(topic, partition, offsets, times, [one.key for one in found], [one.value for one in found])

    @classmethod
    def joined(cls, stretches: "list[Records]") -> "Records":
        """Return stretches that follow each other as one; a single one is returned itself."""
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
        """Return the records with what their values hold."""
        return replace(self, parsed=parsed)

    def pairs(self) -> "Iterator[tuple[bytes, bytes | None]]":
        """Return key and value of each record; all have a key, as those of a compacted topic do."""
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
        """Return the records at these places, ascending."""
        if isinstance(numbers, range):
            return self[numbers.start : numbers.stop]
        columns: list[list[Any] | None] = [self.offsets, self.timestamps_ms, self.keys, self.values, self.parsed]
        some: list[Any] = [column and [column[at] for at in numbers] for column in columns]
        return Records(self.topic, self.partition, *some)

    def __repr__(self) -> str:
        """Return where they stand alone."""
        # PRIVACY: Faust writes messages into its logs, and a traceback may show anything: no key and no value.
        where = f"{self.topic!r}, {self.partition}"
        return (
            f"Records({where}, offsets {self.offsets[0]} to {self.offsets[-1]})"
            if self.offsets
            else f"Records({where})"
        )


@frozen
class Observation:
    """One sensitive item, whose value may be anything that JSON holds; its repr hides the value."""

    series: str
    timestamp_ms: int
    value: Raw

    def __repr__(self) -> str:
        """Return series and timestamp alone."""
        # PRIVACY: whatever prints an observation, a traceback too, shows no value.
        return f"Observation({self.series!r}, {self.timestamp_ms})"


@dataclass(frozen=True, slots=True)
class PolicyRecord:
    """A policy version; ``parameters`` are its other members, unchecked.

    ``weaker``: its sender accepts that it protects less together than the version before it.
    """

    series: str
    version: int
    parameters: Mapping[str, object] = field(repr=False)  # the landmarks among them may be a secret
    weaker: bool = False


@dataclass(frozen=True, slots=True)
class LandmarksRecord:
    """Landmarks to add: timestamps and ``[start, end)`` intervals in milliseconds."""

    series: str
    add: tuple[int | Interval, ...]


@dataclass(frozen=True, slots=True)
class CloseRecord:
    """The request to end a series for ever."""

    series: str


class Contribution(NamedTuple):
    """One item of one contributor (``member``) at one step of a collected series; its repr hides both.

    ``value`` should be one of the policy's keys and may be anything that JSON holds.
    """

    series: str
    timestamp_ms: int
    member: str
    value: Raw

    def __repr__(self) -> str:
        """Return series and timestamp alone."""
        # PRIVACY: whatever prints a contribution, a traceback too, shows neither who nor what.
        return f"Contribution({self.series!r}, {self.timestamp_ms})"


class Watermark(NamedTuple):
    """Closes every step that ends at or before it and opens the next ones; its repr hides the seed.

    ``seed`` is fresh and kept by nobody; pan-private noise is expanded from it. Those of plain series need none.
    """

    series: str
    timestamp_ms: int
    seed: bytes | None

    def __repr__(self) -> str:
        """Return series and timestamp alone."""
        return f"Watermark({self.series!r}, {self.timestamp_ms})"


class Intrusion(NamedTuple):
    """Announces that somebody saw the worker's memory up to here; its repr hides the seed.

    Fresh noise for the counters of steps still open is expanded from ``seed``.
    """

    series: str
    seed: bytes

    def __repr__(self) -> str:
        """Return the series alone."""
        return f"Intrusion({self.series!r})"


@dataclass(frozen=True, slots=True)
class MemberRecord:
    """The cap of a member: what all of its series together may claim."""

    member: str
    cap_nano: int


Collected = Contribution | Watermark | Intrusion  # the records that only series with a `collect` policy take
EventRecord = Observation | PolicyRecord | LandmarksRecord | CloseRecord | Collected


@dataclass(frozen=True, slots=True)
class Malformed:
    """Bytes that are no record; series, or member, and timestamp where they could be read."""

    reason: Reason
    series: str | None = None
    timestamp_ms: int | None = None
    member: str | None = None


Seen = tuple[str, int, Raw]
"""Series, timestamp and value of an observation, which columns take as it is."""
Parsed = Seen | dict[str, Any] | Malformed
"""What a record's value holds: an observation, another JSON object, or why it holds none."""

E = TypeVar("E", bound=EventRecord)


def of_series(record: E, series: str) -> E:
    """Return a record as one of another series."""
    if record.series == series:
        return record
    if isinstance(record, Contribution | Watermark | Intrusion):
        return cast("E", record._replace(series=series))
    return replace(record, series=series)
