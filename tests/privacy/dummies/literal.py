"""A second implementation of dummy landmarks, literal and slow: distances one by one, every set and chain."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import permutations
from math import isqrt
from statistics import pvariance

import numpy as np

DIGITS = Context(prec=80)
TINY = Decimal("1e-60")


def distances(steps: int, marks: Iterable[int]) -> list[int]:
    """Return each step's distances to the nearest marks at or before it and at or after it; the ends are marks."""
    known = {-1, steps, *marks}
    before = [next(back for back in range(steps + 2) if step - back in known) for step in range(steps)]
    after = [next(on for on in range(steps + 2) if step + on in known) for step in range(steps)]
    return before + after


def variance(steps: int, marks: Iterable[int]) -> Fraction:
    """Return the variance of these distances."""
    return pvariance([Fraction(each) for each in distances(steps, marks)])


def root(number: Fraction) -> Decimal:
    """Return a square root to 80 digits."""
    return DIGITS.sqrt(DIGITS.divide(Decimal(number.numerator), Decimal(number.denominator)))


def change(steps: int, marks: Iterable[int], landmarks: Sequence[int]) -> Decimal:
    """Return by how much the standard deviation of the distances differs from that of the landmarks."""
    difference = DIGITS.subtract(root(variance(steps, marks)), root(variance(steps, landmarks)))
    return abs(difference).quantize(TINY, context=DIGITS)


def heuristic(steps: int, landmarks: Sequence[int]) -> Iterator[tuple[int, dict[int, Fraction]]]:
    """Yield the step that joins next, with the variance that every candidate would have produced."""
    marks = list(landmarks)
    while len(marks) < steps:
        candidates = [step for step in range(steps) if step not in marks]
        best = min(candidates, key=lambda step: (change(steps, [*marks, step], landmarks), step))
        yield best, {step: variance(steps, [*marks, step]) for step in candidates}
        marks.append(best)


def optimal(steps: int, landmarks: Sequence[int]) -> list[int]:
    """Return the first of all chains whose sets change the standard deviation least in total.

    The change is in units of 2^-64 / 2n.
    """

    def rounded(marks: Iterable[int]) -> int:
        return isqrt(int(variance(steps, marks) * (2 * steps) ** 2) << 128)

    def cost(chain: Iterable[int]) -> int:
        joined = tuple(chain)
        sets = [[*landmarks, *joined[: number + 1]] for number in range(len(joined))]
        return sum(abs(rounded(marks) - rounded(landmarks)) for marks in sets)

    others = [step for step in range(steps) if step not in landmarks]
    return list(min(permutations(others), key=cost))


def filling(counts: Sequence[int], room: Sequence[int]) -> list[int]:
    """Return the bins that gain one, each keeping the histogram nearest to the first in Euclidean distance."""
    own, now, order = np.array(counts), list(counts), []
    while any(count < most for count, most in zip(now, room, strict=True)):
        grown = {
            nth: [count + (nth == other) for other, count in enumerate(now)]
            for nth, most in enumerate(room)
            if now[nth] < most
        }
        best = min(grown, key=lambda nth: (sum((np.array(grown[nth]) - own) ** 2), nth))
        now = grown[best]
        order.append(best)
    return order


def subset(of: np.random.Generator, steps: int) -> tuple[int, ...]:
    """Return some steps of a range, in ascending order; occasionally none, or all."""
    number = int(of.integers(0, steps + 1))
    return tuple(sorted(int(step) for step in of.choice(steps, number, replace=False)))
