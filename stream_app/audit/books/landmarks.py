"""The landmark set of one period: disjoint intervals of step numbers with running counts."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import Final, NamedTuple

FOREVER: Final = 1 << 62  # after any step

MOST_INTERVALS: Final = 65_536  # most intervals that registrations may turn landmarks into

Interval = tuple[int, int]  # step numbers [start, end)


class Stretch(NamedTuple):
    """Steps [start, end) that are either all landmarks or all regular, so a single lookup is enough for all of them."""

    start: int
    end: int
    landmark: bool
    base: int  # landmarks at or after a step: `base - step` if all are landmarks, else `base`

    def left(self, step: int) -> int:
        """Return how many landmarks are at or after a step of the stretch."""
        return max(0, self.base - step) if self.landmark else self.base


NOWHERE: Final = Stretch(0, 0, landmark=False, base=0)  # a stretch of no steps
ORDINARY: Final = Stretch(0, FOREVER, landmark=False, base=0)  # the stretch of all steps if there are no landmarks


class LandmarkSet(NamedTuple):
    """Merged intervals of landmarks, in ascending order.

    `before[i]` counts the landmarks before interval i; its last item counts all of them.
    """

    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    before: tuple[int, ...] = (0,)

    def stretch(self, step: int) -> Stretch:
        """Return the stretch that contains `step`, which is 0 or later."""
        place = bisect_right(self.ends, step)
        since = self.ends[place - 1] if place else 0
        if place == len(self.ends):
            return Stretch(since, FOREVER, landmark=False, base=0)
        start, end = self.starts[place], self.ends[place]
        left = self.before[-1] - self.before[place]
        if step < start:
            return Stretch(since, start, landmark=False, base=left)
        return Stretch(start, end, landmark=True, base=left + start)

    def at(self, step: int) -> tuple[bool, int]:
        """Return whether `step` is a landmark, and how many landmarks are at or after it."""
        stretch = self.stretch(step)
        return stretch.landmark, stretch.left(step)

    @property
    def total(self) -> int:
        """The number of landmark steps."""
        return self.before[-1]

    def count_before(self, step: int) -> int:
        """Return how many landmarks are before `step`."""
        return self.before[-1] - self.at(step)[1]

    def count_common(self, other: "LandmarkSet") -> int:
        """Return how many landmarks are also in `other`."""
        pairs = zip(other.starts, other.ends, strict=True)
        return sum(self.count_before(end) - self.count_before(start) for start, end in pairs)

    def without(self, other: "LandmarkSet") -> "LandmarkSet":
        """Return the set without the steps that are in `other`."""
        pieces: list[Interval] = []
        for start, end in zip(self.starts, self.ends, strict=True):
            at = start
            while at < end:
                found = other.stretch(at)
                if not found.landmark:
                    pieces.append((at, min(end, found.end)))
                at = found.end
        return LandmarkSet().joined(pieces)

    def count_joined(self, intervals: Iterable[Interval]) -> int:
        """Return how many intervals `joined(intervals)` would have.

        `intervals` must be ascending and must not touch each other.
        """
        count, taken = len(self.starts), 0
        for start, end in intervals:
            low, high = bisect_left(self.ends, start), bisect_right(self.starts, end)
            # An interval that touches the same one as its predecessor merges with the predecessor.
            count += taken - high if low < taken else 1 + low - high
            taken = max(taken, high)
        return count

    def joined(self, intervals: Iterable[Interval]) -> "LandmarkSet":
        """Return the set with more intervals added; adding steps that it already contains changes nothing."""
        starts, ends = list(self.starts), list(self.ends)
        changed = len(starts)
        for start, end in intervals:
            low = bisect_left(ends, start)  # first interval that touches [start, end)
            high = bisect_right(starts, end)  # first interval after it
            touched = low < high
            starts[low:high] = [min(start, starts[low]) if touched else start]
            ends[low:high] = [max(end, ends[high - 1]) if touched else end]
            changed = min(changed, low)
        later = (end - start for start, end in zip(starts[changed:], ends[changed:], strict=True))
        before = (*self.before[:changed], *accumulate(later, initial=self.before[changed]))
        return LandmarkSet(tuple(starts), tuple(ends), before)


NO_LANDMARKS: Final = LandmarkSet()
