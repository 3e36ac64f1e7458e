"""A set of landmark steps, kept as disjoint intervals of step indices."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final

import numpy as np

from stream_app.privacy.amounts import Flag, Flags, Ints, Whole, last_up_to, least, taken

Interval = tuple[int, int]
"""Steps ``[first, end)`` by index: a step's start is its index times the step's length."""

_BEFORE_ALL: Final = (-(2**62), -(2**62))
"""An interval without a step, so that every step has one that begins before it."""
MOST_INTERVALS = 65_536
"""Intervals of one series, two megabytes as a row: a row that no topic takes would stop its partition for ever."""


@dataclass(frozen=True, slots=True)
class LandmarkSet:
    """Disjoint, sorted, non-touching intervals of step indices; look-ups take O(log n)."""

    intervals: tuple[Interval, ...] = ()
    _firsts: tuple[int, ...] = field(init=False, repr=False, compare=False)  # an empty interval before all others
    _ends: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _before: tuple[int, ...] = field(init=False, repr=False, compare=False)  # steps in all intervals before the nth

    def __post_init__(self) -> None:
        """Derive the look-up tables."""
        firsts, ends = zip(_BEFORE_ALL, *self.intervals, strict=True)
        counts = accumulate((end - first for first, end in self.intervals), initial=0)
        object.__setattr__(self, "_firsts", firsts)
        object.__setattr__(self, "_ends", ends)
        object.__setattr__(self, "_before", (0, *counts))

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
        return bool(self.at(step)[0])

    def at(self, step: Whole) -> tuple[Flag, Whole]:
        """Return whether a step is a landmark, and how many landmarks lie before it."""
        nth = last_up_to(self._firsts, step)
        end = taken(self._ends, nth)
        return step < end, taken(self._before, nth) + least(step, end) - taken(self._firsts, nth)

    def left(self, step: Whole) -> tuple[Any, Whole]:
        """Return whether a step is a landmark, and how many landmarks lie at or after it."""
        inside, before = self.at(step)
        return inside, self._before[-1] - before

    def count_before(self, step: int) -> int:
        """Return how many landmarks lie before ``step``."""
        return self.at(step)[1]

    def count_from(self, step: int) -> int:
        """Return how many landmarks lie at or after ``step``."""
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
        """Return the set of all steps in either."""
        return LandmarkSet.of(self.intervals + other.intervals)


NO_LANDMARKS = LandmarkSet()


@dataclass(frozen=True, slots=True)
class LandmarkSets:
    """The sets of many series, one each."""

    sets: tuple[LandmarkSet, ...]

    def left(self, steps: Ints) -> tuple[Flags, Ints]:
        """Return `LandmarkSet.left` of a step of each series."""
        if len(set(map(id, self.sets))) == 1:
            inside, left = self.sets[0].left(steps)
            return np.asarray(inside), left
        found = [own.left(step) for step, own in zip(steps.tolist(), self.sets, strict=True)]
        return np.array([inside for inside, _ in found], np.bool_), np.array([left for _, left in found], np.int64)


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
