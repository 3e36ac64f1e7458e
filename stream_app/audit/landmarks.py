"""The landmark set of one period: disjoint intervals of step numbers with running counts."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

Interval = tuple[int, int]
"""Step numbers [start, end)."""


class LandmarkSet(NamedTuple):
    """Merged intervals, ascending; `before[i]` counts the landmarks before interval i, its last item all of them."""

    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    before: tuple[int, ...] = (0,)

    def at(self, step: int) -> tuple[bool, int]:
        """Tell whether `step` is a landmark, and how many landmarks lie at or after it."""
        ends = self.ends
        place = bisect_right(ends, step)
        if place == len(ends):
            return False, 0
        start = self.starts[place]
        left = self.before[-1] - self.before[place]
        if step < start:
            return False, left
        return True, left - (step - start)

    @property
    def total(self) -> int:
        """How many steps are landmarks."""
        return self.before[-1]

    def count_before(self, step: int) -> int:
        """How many landmarks lie before `step`."""
        return self.before[-1] - self.at(step)[1]

    def joined(self, intervals: Iterable[Interval]) -> "LandmarkSet":
        """The set with more intervals in it; what it holds already changes nothing."""
        starts, ends = list(self.starts), list(self.ends)
        for start, end in intervals:
            low = bisect_left(ends, start)  # first interval that touches [start, end)
            high = bisect_right(starts, end)  # first interval beyond it
            touched = low < high
            starts[low:high] = [min(start, starts[low]) if touched else start]
            ends[low:high] = [max(end, ends[high - 1]) if touched else end]
        before = accumulate((end - start for start, end in zip(starts, ends, strict=True)), initial=0)
        return LandmarkSet(tuple(starts), tuple(ends), tuple(before))
