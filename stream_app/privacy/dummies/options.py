"""The options of a method and their scores: steps are added to the landmarks one after another.

Option k is the landmarks with the first k joining steps, for k from 1 upward. If every step is already a landmark, no
step can join, and the landmarks are the only option. Scores are at most 0, and are higher if the option is closer to
the landmarks. Their sensitivity is 1: for a fixed option, adding or removing one landmark changes

* `count`, which is minus the number of dummies, by exactly 1;
* `proximity` by less than 1, because it lies within -1 .. 0. It is minus the mean distance of all the option's steps
  from the nearest landmark, in lengths of the range; a distance is 1 without landmarks and 0 for a landmark itself.

The exponential mechanism's own loss covers this. It does not cover the fact that the landmarks determine *which*
options there are. Source: Katsomallos 2022, section on the release of options.

Optimal and Heuristic build chains of growing landmark sets whose evenness stays close to that of the landmarks.

Evenness is the standard deviation of the distances to the previous and to the next landmark. A step's distances are
counted in steps, and are 0 at a landmark; the ends of the range count as marks, at -1 and n. So there are always 2n
distances, and the standard deviation is ``sqrt(numerator) / 2n`` with an integer numerator ``2n * sum of squares -
sum^2``. The numerator compares sets exactly, without a square root.

* Optimal: of all chains, the one whose sets change the evenness least in total. Instead of the (n - |L|)! chains, the
  2^(n - |L|) sets are enumerated, because the cost of the rest of a chain depends only on the set reached (Bellman
  1957).
* Heuristic: a chain of sets, each with the one additional step that changes the evenness least, O(1) per candidate. A
  new mark ``x`` steps into a gap of length g reduces the sum of distances by ``2y`` and the sum of squares by ``2y(g -
  1)``, ``y = x(g - x)``; all candidates are computed at once in 64-bit integers.

Source: Katsomallos 2022 (``evalSeq`` is the evenness). The pseudo-code of Optimal in that thesis compares the mean over
a chain's sets with the deviation of the landmarks. Here, absolute differences are summed, so a more even set does not
offset a less even one.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from math import isqrt
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from stream_app.privacy.dummies.partitioned import Histogram, histogram_of
from stream_app.privacy.dummies.request import Method, Utility


class Options(NamedTuple):
    """Steps in the order in which they join; for Partitioned, bins in the order in which they gain a step."""

    steps: int
    landmarks: tuple[int, ...]
    order: tuple[int, ...]
    own: Histogram | None = None  # of the landmarks; None: steps join


def options_of(method: Method, steps: int, landmarks: tuple[int, ...]) -> Options:
    """Return the options for ``landmarks``, which are ascending, in a range of ``steps``."""
    match method:
        case "optimal":
            return Options(steps, landmarks, tuple(optimal_order(steps, landmarks)))
        case "heuristic":
            return Options(steps, landmarks, tuple(heuristic_order(steps, landmarks)))
        case "partitioned":
            own = histogram_of(steps, landmarks)
            return Options(steps, landmarks, tuple(own.order()), own)
        case _:
            assert_never(method)


def scores_of(options: Options, utility: Utility) -> list[Fraction]:
    """Return the exact score of every option."""
    if utility == "count":
        return [Fraction(-number) for number in range(1, len(options.order) + 1)] or [Fraction(0)]
    far = accumulate(_distances(options))
    size = len(options.landmarks)
    return [-total / (options.steps * (size + number)) for number, total in enumerate(far, 1)] or [Fraction(0)]


def _distances(options: Options) -> list[Fraction]:
    """Return each joining step's distance to the nearest landmark; for a bin, the mean over the bin's other steps."""
    nearest, own = distances(options.steps, options.landmarks), options.own
    if own is None:
        return [Fraction(nearest[step]) for step in options.order]
    # Landmarks have distance 0, so the sum over a bin is the sum over its other steps.
    means = [
        Fraction(sum(nearest[nth * own.width : nth * own.width + room]), max(1, room - count))
        for nth, (room, count) in enumerate(zip(own.widths, own.counts, strict=True))
    ]
    return [means[nth] for nth in options.order]


def distances(steps: int, landmarks: Sequence[int]) -> list[int]:
    """Return the distance of each step to the nearest landmark, or ``steps`` if there are no landmarks."""
    found = [steps] * steps
    for step in landmarks:
        found[step] = 0
    for step in range(1, steps):
        found[step] = min(found[step], found[step - 1] + 1)
    for step in range(steps - 2, -1, -1):
        found[step] = min(found[step], found[step + 1] + 1)
    return found


Sums = tuple[int, int]
"""The sum of the distances, and the sum of their squares."""


def gap_sums(length: int) -> Sums:
    """Return the sums over the steps between two marks ``length`` apart: twice 1 + 2 + .. + (length - 1)."""
    return length * (length - 1), length * (length - 1) * (2 * length - 1) // 3


def sums_of(steps: int, marks: Iterable[int]) -> Sums:
    """Return the sums over all ``steps`` of a range with landmarks at ``marks``, which are ascending."""
    gaps = [gap_sums(later - earlier) for earlier, later in pairwise((-1, *marks, steps))]
    return sum(total for total, _ in gaps), sum(squares for _, squares in gaps)


def numerator(steps: int, sums: Sums) -> int:
    """Return the square of 2n times the standard deviation."""
    total, squares = sums
    return 2 * steps * squares - total * total


def nearer(base: int, above: int, below: int) -> int:
    """Return 1 if sqrt(``above``) is nearer to sqrt(``base``) than sqrt(``below``) is, or -1 if it is farther.

    The result is 0 if both are equally near, given ``above >= base > below >= 0``. It is the sign of ``2 sqrt(base) -
    sqrt(above) - sqrt(below)``, squared twice.
    """
    rest = 4 * base - above - below
    difference = rest * abs(rest) - 4 * above * below
    return (difference > 0) - (difference < 0)


ROOT_BITS = 64
"""The number of fractional bits in a square root; sums of rounded integers do not depend on their order."""


def change(steps: int, marks: Sequence[int], landmarks: Sequence[int]) -> int:
    """Return the absolute change in the standard deviation of distances compared with ``landmarks``, in 2^-64 / 2n."""
    return abs(_root(steps, marks) - _root(steps, landmarks))


def _root(steps: int, marks: Sequence[int]) -> int:
    return isqrt(numerator(steps, sums_of(steps, marks)) << 2 * ROOT_BITS)


def optimal_order(steps: int, landmarks: Sequence[int]) -> list[int]:
    """Return the steps that are not landmarks in the order in which they join; ties go to the first chain.

    The order minimises the sum of `change` over the sets of the chain. ``steps`` is at most 16: there are 2^16 sets.
    """
    known = set(landmarks)
    others = [step for step in range(steps) if step not in known]
    everything = (1 << len(others)) - 1
    cost = [0] * (everything + 1)  # of a set and of the best chain after it
    following = [0] * (everything + 1)
    for joined in range(everything, -1, -1):  # a larger set is a larger number
        if joined != everything:
            nexts = [nth for nth in range(len(others)) if not joined >> nth & 1]
            best = min(nexts, key=lambda nth: cost[joined | 1 << nth])
            following[joined] = best
            cost[joined] = cost[joined | 1 << best]
        marks = sorted((*landmarks, *(step for nth, step in enumerate(others) if joined >> nth & 1)))
        cost[joined] += change(steps, marks, landmarks)
    order, joined = [], 0
    while joined != everything:
        order.append(others[following[joined]])
        joined |= 1 << following[joined]
    return order


LARGEST = int(np.iinfo(np.int64).max)
"""Larger than every numerator of 16,384 steps, which is below 2^57."""


class Growing:
    """A landmark set, initially ascending, that grows within a range of ``steps``; used for one chain."""

    def __init__(self, steps: int, landmarks: Sequence[int]) -> None:
        marks = np.array((-1, *landmarks, steps), dtype=np.int64)
        self.at = np.arange(steps, dtype=np.int64)
        place = np.searchsorted(marks, self.at, side="left")
        self.low, self.high = marks[place - 1], marks[place]  # the marks around each step; unchanged for a landmark
        self.free = np.ones(steps, dtype=bool)
        self.free[marks[1:-1]] = False
        self.total, self.squares = sums_of(steps, landmarks)
        self.base = numerator(steps, (self.total, self.squares))  # of the landmarks alone

    def evenness(self) -> NDArray[np.int64]:
        """Return, for each step, the numerator of the set plus that step; it is meaningless for steps in the set."""
        less = 2 * (self.at - self.low) * (self.high - self.at)
        found: NDArray[np.int64] = (
            2 * len(self.at) * (self.squares - less * (self.high - self.low - 1)) - (self.total - less) ** 2
        )
        return found

    def best(self) -> int:
        """Return the free step that brings the evenness nearest to that of the landmarks; there must be a free step."""
        evenness = self.evenness()
        above = np.where(self.free & (evenness >= self.base), evenness, LARGEST)
        below = np.where(self.free & (evenness < self.base), evenness, -1)
        upper, lower = int(above.argmin()), int(below.argmax())
        highest, lowest = int(above[upper]), int(below[lower])
        if lowest < 0 or highest == LARGEST:
            return upper if lowest < 0 else lower
        side = nearer(self.base, highest, lowest)
        return min(upper, lower) if side == 0 else upper if side > 0 else lower

    def join(self, step: int) -> None:
        """Add a free step to the set."""
        start, end = int(self.low[step]), int(self.high[step])
        less = 2 * (step - start) * (end - step)
        self.total, self.squares = self.total - less, self.squares - less * (end - start - 1)
        self.high[start + 1 : step] = step
        self.low[step + 1 : end] = step
        self.free[step] = False


def heuristic_order(steps: int, landmarks: Sequence[int]) -> list[int]:
    """Return the steps that are not landmarks in the order of joining; ties go to the earlier step.

    Of all sets with one step more than the previous set, each set is the one whose standard deviation of distances is
    nearest to that of ``landmarks``, which are ascending.
    """
    growing = Growing(steps, landmarks)
    order = []
    for _ in range(steps - len(landmarks)):
        step = growing.best()
        growing.join(step)
        order.append(step)
    return order
