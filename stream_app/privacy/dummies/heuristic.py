"""Options by Heuristic: a chain of growing sets, each with the one more step that changes the evenness least.

O(1) a candidate: a new mark ``x`` steps into a gap of length g takes ``2y`` from the sum of distances and ``2y(g - 1)``
from that of squares, ``y = x(g - x)``; all candidates at once in integers of 64 bits. Source: Katsomallos 2022.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_app.privacy.dummies.spread import nearer, numerator, sums_of

LARGEST = int(np.iinfo(np.int64).max)
"""Above every numerator of 16,384 steps, which stays under 2^57."""


class Growing:
    """A set of landmarks that grows; lives for one chain, never stored."""

    def __init__(self, steps: int, landmarks: Sequence[int]) -> None:
        """Begin with ``landmarks``, ascending, in a range of ``steps``."""
        marks = np.array((-1, *landmarks, steps), dtype=np.int64)
        self.at = np.arange(steps, dtype=np.int64)
        place = np.searchsorted(marks, self.at, side="left")
        self.low, self.high = marks[place - 1], marks[place]  # the marks around each step; of a landmark, as it was
        self.free = np.ones(steps, dtype=bool)
        self.free[marks[1:-1]] = False
        self.total, self.squares = sums_of(steps, landmarks)
        self.base = numerator(steps, (self.total, self.squares))  # of the landmarks alone

    def evenness(self) -> NDArray[np.int64]:
        """Return the numerator (spread.py) that the set would have with each step; meaningless for those it has."""
        less = 2 * (self.at - self.low) * (self.high - self.at)
        found: NDArray[np.int64] = (
            2 * len(self.at) * (self.squares - less * (self.high - self.low - 1)) - (self.total - less) ** 2
        )
        return found

    def best(self) -> int:
        """Return the free step with which the evenness comes nearest to that of the landmarks; there is one."""
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
        """Let a free step join the set."""
        start, end = int(self.low[step]), int(self.high[step])
        less = 2 * (step - start) * (end - step)
        self.total, self.squares = self.total - less, self.squares - less * (end - start - 1)
        self.high[start + 1 : step] = step
        self.low[step + 1 : end] = step
        self.free[step] = False


def heuristic_order(steps: int, landmarks: Sequence[int]) -> list[int]:
    """Return the steps that are no landmarks in the order in which they join; ties go to the earlier step.

    The set after each has the standard deviation of distances (spread.py) nearest to that of ``landmarks``, which are
    ascending, of all sets with one step more than the set before.
    """
    growing = Growing(steps, landmarks)
    order = []
    for _ in range(steps - len(landmarks)):
        step = growing.best()
        growing.join(step)
        order.append(step)
    return order
