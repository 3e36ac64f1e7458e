"""A set of landmark steps, kept as disjoint intervals of step indices."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from stream_app.privacy.amounts import Flags, Ints, Whole, count_up_to, taken

Interval = tuple[int, int]
"""Steps ``[first, end)`` by index; a step starts at its index times the step length."""

MOST_INTERVALS = 65_536
"""Maximum number of intervals for one series; they take about two megabytes of the series' row.

If a row were too large for its topic, the row's partition would stop forever.
"""


@dataclass(frozen=True, slots=True)
class LandmarkSet:
    """Disjoint, sorted, non-touching intervals of step indices; a look-up takes O(log n)."""

    intervals: tuple[Interval, ...] = ()
    _bounds: tuple[int, ...] = field(init=False, repr=False, compare=False)  # interval starts and ends, alternating
    _left: tuple[int, ...] = field(init=False, repr=False, compare=False)  # landmarks from bound n on, `left` adjusts

    def __post_init__(self) -> None:
        """Derive the look-up tables."""
        left, after = [0], 0  # from the last bound to the first
        for first, end in reversed(self.intervals):
            left += (after + end, after := after + end - first)
        object.__setattr__(self, "_bounds", tuple(bound for interval in self.intervals for bound in interval))
        object.__setattr__(self, "_left", tuple(reversed(left)))

    @classmethod
    def of(cls, intervals: Iterable[Interval]) -> "LandmarkSet":
        """Return the set of all steps in ``intervals``, which may overlap and come in any order."""
        merged: list[Interval] = []
        for first, end in sorted(intervals):
            if merged and first <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], end))
            else:
                merged.append((first, end))
        return cls(tuple(merged))

    def __len__(self) -> int:
        """Return the number of steps that are landmarks."""
        return self._left[0]

    def __contains__(self, step: int) -> bool:
        """Return whether ``step`` is a landmark."""
        return bool(self.left(step)[0])

    def left(self, step: Whole) -> tuple[Any, Whole]:
        """Return whether a step is a landmark, and the number of landmarks at or after it."""
        passed = count_up_to(self._bounds, step)
        inside = passed & 1 > 0
        return inside, taken(self._left, passed) - step * inside

    def count_before(self, step: int) -> int:
        """Return the number of landmarks before ``step``."""
        return len(self) - self.count_from(step)

    def count_from(self, step: int) -> int:
        """Return the number of landmarks at or after ``step``."""
        return self.left(step)[1]

    def latest(self, count: int) -> "LandmarkSet":
        """Return the set of the last ``count`` landmarks."""
        kept: list[Interval] = []
        for first, end in reversed(self.intervals):
            if count <= 0:
                break
            kept.append((max(first, end - count), end))
            count -= end - first
        return LandmarkSet(tuple(reversed(kept)))

    def union(self, other: "LandmarkSet") -> "LandmarkSet":
        """Return the set of all steps in either set."""
        return LandmarkSet.of(self.intervals + other.intervals)

    def from_index(self, step: int) -> "LandmarkSet":
        """Return the set of the landmarks at or after a step."""
        return LandmarkSet.of((max(first, step), end) for first, end in self.intervals if end > step)

    def without(self, other: "LandmarkSet") -> "LandmarkSet":
        """Return the set of the landmarks that are not in another set."""
        kept: list[Interval] = []
        for first, end in self.intervals:
            at = first
            for start, stop in other.intervals:
                if stop > at and start < end:
                    kept += [(at, start)] if start > at else []
                    at = stop
            kept += [(at, end)] if at < end else []
        return LandmarkSet(tuple(kept))


NO_LANDMARKS = LandmarkSet()


@dataclass(frozen=True, slots=True)
class LandmarkSets:
    """The landmark sets of many series."""

    sets: tuple[LandmarkSet, ...]

    def left(self, steps: Ints) -> tuple[Flags, Ints]:
        """Return `LandmarkSet.left` for each series, each at its own step."""
        if len(set(map(id, self.sets))) == 1:
            inside, left = self.sets[0].left(steps)
            return np.asarray(inside), left
        found = [own.left(step) for step, own in zip(steps.tolist(), self.sets, strict=True)]
        return np.array([inside for inside, _ in found], np.bool_), np.array([left for _, left in found], np.int64)


class Grid(NamedTuple):
    """Consecutive intervals of ``length_ms``; the interval of index 0 starts at ``origin_ms``.

    The steps of a policy form one grid, and its units form another. The index of a time before the origin is negative.
    """

    length_ms: int
    origin_ms: int = 0

    def index_of(self, timestamp_ms: int) -> int:
        """Return the index of the interval that contains a time."""
        return (timestamp_ms - self.origin_ms) // self.length_ms

    def ceiling_of(self, timestamp_ms: int) -> int:
        """Return the index of the first interval that starts at or after a time."""
        return -((self.origin_ms - timestamp_ms) // self.length_ms)

    def start_of(self, index: int) -> int:
        """Return the start of an interval, in ms."""
        return self.origin_ms + index * self.length_ms

    def span_of(self, interval: Interval) -> Interval:
        """Return the start (not before 1970) and the end of intervals ``[first, end)``, in ms."""
        first, end = interval
        return max(0, self.start_of(first)), self.start_of(end)

    def taken_over(self, landmarks: LandmarkSet, former: "Grid") -> LandmarkSet:
        """Return the intervals of this grid that overlap landmarks counted on another grid."""
        return landmarks if former == self else aligned(map(former.span_of, landmarks.intervals), *self)


def aligned(spans_ms: Iterable[int | Interval], step_ms: int, offset_ms: int = 0) -> LandmarkSet:
    """Return the landmark steps, or units, given by timestamps and ``[start, end)`` intervals in milliseconds.

    ``step_ms`` is the length of a step and ``offset_ms`` the start of the first step. An interval yields every step
    that it intersects; a timestamp yields the step that contains it. Duplicates change nothing.
    """
    grid = Grid(step_ms, offset_ms)
    return LandmarkSet.of(
        (grid.index_of(span), grid.index_of(span) + 1)
        if isinstance(span, int)
        else (grid.index_of(span[0]), grid.ceiling_of(span[1]))
        for span in spans_ms
    )
