"""A set of landmark steps, kept as disjoint intervals of step indices."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
import numpy.typing as npt

Interval = tuple[int, int]
"""Steps ``[first, end)`` by index: a step's start is its index times the step's length."""

MOST_INTERVALS = 65_536
"""Intervals of one series, two megabytes as a row: a row that no topic takes would stop its partition for ever."""


@dataclass(frozen=True, slots=True)
class LandmarkSet:
    """Disjoint, sorted, non-touching intervals of step indices; look-ups take O(log n)."""

    intervals: tuple[Interval, ...] = ()
    _firsts: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _before: tuple[int, ...] = field(init=False, repr=False, compare=False)  # steps in all intervals before the nth

    def __post_init__(self) -> None:
        """Derive the look-up tables."""
        object.__setattr__(self, "_firsts", tuple(first for first, _ in self.intervals))
        counts = accumulate((end - first for first, end in self.intervals), initial=0)
        object.__setattr__(self, "_before", tuple(counts))

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
        """Return how many steps are landmarks."""
        return self._before[-1]

    def __contains__(self, step: int) -> bool:
        """Return whether ``step`` is a landmark."""
        nth = bisect_right(self._firsts, step) - 1
        return nth >= 0 and step < self.intervals[nth][1]

    def count_before(self, step: int) -> int:
        """Return how many landmarks lie before ``step``."""
        nth = bisect_right(self._firsts, step) - 1
        if nth < 0:
            return 0
        first, end = self.intervals[nth]
        return self._before[nth] + min(step, end) - first

    def count_from(self, step: int) -> int:
        """Return how many landmarks lie at or after ``step``."""
        return self._before[-1] - self.count_before(step)

    def contains_each(self, steps: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return whether each of many steps is a landmark."""
        _, ends, nth = self._nearest(steps)
        return (nth >= 0) & (steps < ends)

    def count_from_each(self, steps: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return `count_from` of each of many steps."""
        firsts, ends, nth = self._nearest(steps)
        before = np.array(self._before, np.int64)
        passed = np.where(nth >= 0, before[nth] + np.minimum(steps, ends) - firsts, 0)
        found: npt.NDArray[np.int64] = before[-1] - passed
        return found

    def _nearest(
        self, steps: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the last interval that begins at or before each step: its first, its end and its place, or -1."""
        both = np.array(self.intervals or ((0, 0),), np.int64)
        nth = np.searchsorted(both[:, 0], steps, side="right") - 1 if self.intervals else np.full(len(steps), -1)
        return both[nth, 0], both[nth, 1], nth

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
        """Return the set of all steps in either."""
        return LandmarkSet.of(self.intervals + other.intervals)


NO_LANDMARKS = LandmarkSet()


def aligned(spans_ms: Iterable[int | Interval], step_ms: int) -> LandmarkSet:
    """Return the landmark steps of timestamps and ``[start, end)`` intervals in milliseconds.

    An interval is every step it intersects; a single timestamp is floored to its step; duplicates change nothing.
    """
    return LandmarkSet.of(
        (span // step_ms, span // step_ms + 1)
        if isinstance(span, int)
        else (span[0] // step_ms, -(-span[1] // step_ms))
        for span in spans_ms
    )
