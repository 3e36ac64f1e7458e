"""How evenly landmarks lie: the standard deviation of the distances to the previous and to the next one.

A step's distances are counted in steps, 0 at a landmark; the ends of the range count as marks, at -1 and n. So there
are always 2n distances, and the standard deviation is ``sqrt(numerator) / 2n`` with an integer numerator
``2n * sum of squares - sum^2``: sets are compared by it exactly, without a square root.
Source: Katsomallos 2022 (``evalSeq``: the standard deviation of all distances from the previous and next landmark).
"""

from collections.abc import Iterable
from itertools import pairwise

Sums = tuple[int, int]
"""The sum of distances, and of their squares."""


def gap_sums(length: int) -> Sums:
    """Return the sums over the steps between two marks ``length`` apart: twice 1 + 2 + .. + (length - 1)."""
    return length * (length - 1), length * (length - 1) * (2 * length - 1) // 3


def sums_of(steps: int, marks: Iterable[int]) -> Sums:
    """Return the sums over all ``steps`` of a range with landmarks at ``marks``, ascending."""
    gaps = [gap_sums(later - earlier) for earlier, later in pairwise((-1, *marks, steps))]
    return sum(total for total, _ in gaps), sum(squares for _, squares in gaps)


def numerator(steps: int, sums: Sums) -> int:
    """Return the square of 2n times the standard deviation."""
    total, squares = sums
    return 2 * steps * squares - total * total


def nearer(base: int, above: int, below: int) -> int:
    """Return 1 when the root of ``above`` is nearer to that of ``base`` than that of ``below``, -1 when it is farther.

    0 when both are equally near; ``above >= base > below >= 0``. The sign of ``2 sqrt(base) - sqrt(above) -
    sqrt(below)``, squared twice.
    """
    rest = 4 * base - above - below
    difference = rest * abs(rest) - 4 * above * below
    return (difference > 0) - (difference < 0)
