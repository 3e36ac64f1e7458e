"""The readings of the open steps of a partition's plain series: in memory alone, mutable, one object a partition.

Nothing here is ever written: a worker that lost it reads the input again, from `Readings.floor` on.
"""

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final, final

from stream_app.privacy.collected.plain import MOST_READINGS
from stream_app.privacy.collected.within import Within
from stream_app.privacy.reason import Reason
from stream_app.privacy.values import RawCells


class LostCountersError(Exception):
    """A row says that a step is open, but what was counted or read for it is not in memory; ``series`` and ``step``."""

    def __init__(self, series: str, step: int) -> None:
        self.series, self.step = series, step
        super().__init__(
            f"series {series!r}: step {step} is open, but its counters are not in memory; the input must be read again "
            "from the watermark that opened it, and if it is deleted there, run `recover`"
        )


_SPARE: Final = 64
"""Closed steps that may stand among the open ones, beside as many as these, until they are sorted out."""


@final
@dataclass(slots=True, repr=False)
class Gathered:
    """What one open step has read: the timestamps, and what its values come to so far."""

    offset: int  # of the record that opened the step
    times: set[int] = field(default_factory=set)
    latest_ms: int = -1
    kept: RawCells | None = None  # before the first reading nothing

    def refuses(self, timestamp_ms: int) -> Reason | None:
        """Return why a reading of this timestamp is not taken, whatever its value is."""
        # PRIVACY: a second reading of one moment is refused before its value is looked at.
        if timestamp_ms in self.times:
            return "duplicate"
        return "too-large" if len(self.times) >= MOST_READINGS else None

    def take(self, within: Within, timestamp_ms: int, part: RawCells) -> None:
        """Take up a valid reading."""
        later = timestamp_ms > self.latest_ms
        self.kept = part if self.kept is None else within.joined(self.kept, part, later=later)
        self.times.add(timestamp_ms)
        self.latest_ms = max(self.latest_ms, timestamp_ms)

    def __repr__(self) -> str:
        """Return where it was opened alone."""
        # PRIVACY: what prints it, a traceback too, shows neither values nor how many there are.
        return f"Gathered({self.offset})"


@final
class Readings:
    """The open steps of all plain series of a partition that take several readings; none at first."""

    __slots__ = ("_count", "_opened", "_series")

    def __init__(self) -> None:
        self._series: Final[dict[str, dict[int, Gathered]]] = {}
        self._opened: Final[list[tuple[int, str, int]]] = []  # a heap: offset, series and step, closed ones too
        self._count = 0

    def open(self, series: str, index: int, offset: int) -> Gathered:
        """Begin to take readings of step ``index`` of a series."""
        gathered = self._series.setdefault(series, {})[index] = Gathered(offset)
        heappush(self._opened, (offset, series, index))
        self._count += 1
        return gathered

    def find(self, series: str, index: int) -> Gathered:
        """Return what an open step has read.

        Raises:
            LostCountersError: if it is not in memory.
        """
        gathered = self.opened(series).get(index)
        if gathered is None:
            raise LostCountersError(series, index)
        return gathered

    def close(self, series: str, index: int) -> Gathered:
        """Return what an open step has read, and forget it.

        Raises:
            LostCountersError: if it is not in memory.
        """
        gathered = self.find(series, index)
        steps = self._series[series]
        del steps[index]
        if not steps:
            del self._series[series]
        self._count -= 1
        if len(self._opened) > 2 * self._count + _SPARE:
            self._opened[:] = sorted(
                (g.offset, name, nth) for name, found in self._series.items() for nth, g in found.items()
            )
        return gathered

    def drop(self, series: str) -> None:
        """Forget all open steps of a series unread."""
        self._count -= len(self._series.pop(series, ()))

    def opened(self, series: str) -> dict[int, Gathered]:
        """Return the open steps of a series."""
        return self._series.get(series, {})

    def floor(self) -> int | None:
        """Return the offset of the oldest record that opened a step still open; None: none is open."""
        heap = self._opened
        while heap:
            offset, series, index = heap[0]
            gathered = self.opened(series).get(index)
            if gathered is not None and gathered.offset == offset:
                return offset
            heappop(heap)
        return None

    def __len__(self) -> int:
        """Return how many steps are open, of all series."""
        return self._count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Readings) and self._series == other._series

    __hash__ = None  # type: ignore[assignment]
