"""The contents of the open steps of a partition's series: one mutable object, in memory only.

These contents are never written. A worker that loses them reads the input again from `Collection.floor` onwards.
Contributors are kept as digests under a random key that only this object holds. A digest in a swap file or a dump
therefore reveals nothing, even to a holder of the noise key, unless the random key is there as well. Memory holds both.
"""

from array import array
from collections.abc import Collection as Sized
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import heappop, heappush
from typing import Final, final

from stream_app.deciding.units.blocks import Blocks
from stream_app.privacy.collected.collect import Gathered
from stream_app.privacy.collected.plain import MOST_READINGS
from stream_app.privacy.collected.within import Within
from stream_app.privacy.kinds import Kind
from stream_app.privacy.reason import Reason
from stream_app.privacy.values import Raw, RawCells

MEMBER_DIGEST_BYTES = 16
PERSON = b"landmark-members"
_SPARE: Final = 64
"""The number of closed steps kept, in addition to one per open step, before they are removed."""


class LostCountersError(Exception):
    """A step that is open according to its row, but whose counters or readings are not in memory.

    ``series`` and ``step`` identify the step.
    """

    def __init__(self, series: str, step: int) -> None:
        self.series, self.step = series, step
        super().__init__(
            f"series {series!r}: step {step} is open, but its counters are not in memory; the input must be read again "
            "from the watermark that opened the step; if that input is deleted, run `recover`"
        )


@final
@dataclass(slots=True, repr=False)
class Counters:
    """One open step of collected data: its raw counters, and its contributors' digests."""

    _gathers: Gathered
    _keyed: blake2b = field(compare=False)  # keyed hash that digests contributors
    offset: int  # of the watermark that opened the step
    cells: "array[int]"  # each starts with noise
    members: set[bytes] = field(default_factory=set)
    looks: int = 0  # announced intrusions so far

    def hidden(self, member: bytes) -> bytes:
        """Return a contributor's digest at this step, which differs from their digest at any other step."""
        keyed = self._keyed.copy()
        keyed.update(member)
        return keyed.digest()

    def count(self, member: bytes, item: Raw) -> Reason | None:
        """Count one contributor's item, or return the reason for refusing it and change nothing."""
        keyed = self._keyed.copy()
        keyed.update(member)
        digest = keyed.digest()
        # PRIVACY: a contributor's second item is refused before its value is looked at.
        if digest in self.members:
            return "duplicate"
        # PRIVACY: this branch shows whether the item was valid, and nothing else about it.
        added = self._gathers.added(item)
        if added is None:
            return "invalid-value"
        self.members.add(digest)
        cell, more = added
        # PRIVACY: the raw item moves a counter that stays in memory until its step closes.
        self.cells[cell] += more
        return None

    def closed(self) -> RawCells:
        """Return the cells computed from the counters."""
        return self._gathers.closed(self.cells, len(self.members))

    def see(self, noise: Iterable[int]) -> None:
        """Add fresh noise after an announced intrusion."""
        self.looks += 1
        for nth, fresh in enumerate(noise):
            self.cells[nth] += fresh


@final
@dataclass(slots=True, repr=False)
class Readings:
    """One open step of a plain series: the timestamps of its readings, and their aggregate so far."""

    _within: Within
    _kind: Kind
    offset: int  # of the record that opened the step
    times: set[int] = field(default_factory=set)
    _latest_ms: int = -1
    _kept: RawCells | None = None  # None before the first reading

    def count(self, timestamp_ms: int, value: Raw) -> Reason | None:
        """Add a reading, or return the reason for refusing it and change nothing."""
        # PRIVACY: a second reading at the same time is refused before its value is looked at.
        if timestamp_ms in self.times:
            return "duplicate"
        if len(self.times) >= MOST_READINGS:
            return "too-large"
        # PRIVACY: this branch shows whether the value was valid, and nothing else; with a substitute in `invalid`, it
        # is never taken.
        part = self._within.read(self._kind, value)
        if part is None:
            return "invalid-value"
        later = timestamp_ms > self._latest_ms
        self._kept = part if self._kept is None else self._within.joined(self._kept, part, later=later)
        self.times.add(timestamp_ms)
        self._latest_ms = max(self._latest_ms, timestamp_ms)
        return None

    def closed(self) -> RawCells | None:
        """Return the aggregate of the readings, or None if there are none."""
        return None if self._kept is None else self._within.aggregated(self._kind, self._kept, len(self.times))

    def __repr__(self) -> str:
        """Return text that says only where the step was opened."""
        # PRIVACY: anything that prints this object, including a traceback, shows neither the values nor their number.
        return f"Readings({self.offset})"


Open = Counters | Readings
"""The contents of an open step in memory: a closed union."""


@final
class Collection:
    """The open steps of all series of a partition; empty at first.

    ``key`` (32 random bytes, different for each object) hides contributors in their digests. The readings of unit steps
    are in ``units``. A worker stores the rows of ``units`` with each batch, so no such reading is lost with the memory.
    """

    __slots__ = ("_collected", "_count", "_keyed", "_opened", "_series", "units")

    def __init__(self, key: bytes, units: Blocks | None = None) -> None:
        self._keyed: Final = blake2b(key=key, digest_size=MEMBER_DIGEST_BYTES, person=PERSON)
        self._series: Final[dict[str, dict[int, Open]]] = {}
        self._opened: Final[list[tuple[int, str, int]]] = []  # heap of (offset, series, step), closed ones too
        self._collected: Final[set[str]] = set()
        self._count = 0
        self.units: Final = Blocks() if units is None else units

    def counters(self, series: str, gathers: Gathered, index: int, offset: int, noise: Iterable[int]) -> Counters:
        """Return empty counters for step ``index`` of a series, ready for `put`."""
        keyed = self._keyed.copy()
        keyed.update(b"%d:%d:%b" % (index, len(series.encode()), series.encode()))
        return Counters(gathers, keyed, offset, array("q", noise))

    def put(self, series: str, index: int, step: Open) -> None:
        """Keep an open step; the steps of one series are opened in order."""
        self._series.setdefault(series, {})[index] = step
        if isinstance(step, Counters):
            self._collected.add(series)
        heappush(self._opened, (step.offset, series, index))
        self._count += 1

    def find(self, series: str, index: int) -> Open:
        """Return the contents of an open step.

        Raises:
            LostCountersError: if the step is not in memory.
        """
        step = self.opened(series).get(index)
        if step is None:
            raise LostCountersError(series, index)
        return step

    def close(self, series: str, index: int) -> RawCells | None:
        """Remove an open step and return its cells, or None if the step accepted nothing.

        Raises:
            LostCountersError: if the step is not in memory.
        """
        step = self.find(series, index)
        steps = self._series[series]
        del steps[index]
        if not steps:
            del self._series[series]
        self._forget(1)
        return step.closed()

    def drop(self, series: str) -> None:
        """Forget all open steps of a series without reading their contents."""
        self._collected.discard(series)
        self._forget(len(self._series.pop(series, ())))

    def _forget(self, closed: int) -> None:
        """Count steps as closed, and remove closed steps from the heap once they are the majority."""
        self._count -= closed
        if len(self._opened) > 2 * self._count + _SPARE:
            self._opened[:] = sorted(
                (one.offset, name, nth) for name, steps in self._series.items() for nth, one in steps.items()
            )

    def opened(self, series: str) -> dict[int, Open]:
        """Return the open steps of a series."""
        return self._series.get(series, {})

    def counted(self, series: str) -> dict[int, Counters]:
        """Return a series' open steps of collected data."""
        return {index: step for index, step in self.opened(series).items() if isinstance(step, Counters)}

    @property
    def collected(self) -> Sized[str]:
        """The series that have counted contributions since they were last dropped."""
        return self._collected

    @property
    def read(self) -> int:
        """The number of open steps of plain series."""
        return sum(isinstance(step, Readings) for steps in self._series.values() for step in steps.values())

    def floor(self) -> int | None:
        """Return the offset of the oldest record that opened a still-open step, or None if no step is open.

        Restoring this memory requires reading the input again from that offset, so no later input is acknowledged.
        """
        heap = self._opened
        while heap:
            offset, series, index = heap[0]
            step = self.opened(series).get(index)
            if step is not None and step.offset == offset:
                return offset
            heappop(heap)
        return None

    def __len__(self) -> int:
        """Return the number of open steps of all series."""
        return self._count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Collection) and (self._series, self.units) == (other._series, other.units)

    __hash__ = None  # type: ignore[assignment]
