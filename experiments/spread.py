"""Means over seeds with 95 % confidence intervals: Student's t for a mean, Fieller's theorem for a ratio of two."""

from collections.abc import Sequence
from functools import lru_cache
from math import atan, cos, fsum, pi, sin, sqrt
from typing import NamedTuple

CONFIDENCE = 0.95


class SeedMean(NamedTuple):
    """A mean over seeds; ``low`` and ``high`` are None for a single value, whose spread is unknown."""

    mean: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "SeedMean":
        """Return the mean of one or more values, one value per seed."""
        count = len(values)
        mean = fsum(values) / count
        if count == 1:
            return cls(mean, None, None)
        half = student_quantile(count - 1) * sqrt(_covariance(values, values) / count)
        return cls(mean, mean - half, mean + half)


class Ratio(NamedTuple):
    """A ratio of two mean errors, never negative; bounds are None if there are too few seeds to determine them.

    This is the case for a single seed, and if the lower mean may be 0.
    """

    ratio: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, upper: Sequence[float], lower: Sequence[float]) -> "Ratio":
        """Return mean(upper) / mean(lower) of values paired by seed.

        The interval contains the ratios r >= 0 for which a t test allows mean(upper - r lower) to be 0 (Fieller 1954).
        """
        count = len(upper)
        above, below = fsum(upper) / count, fsum(lower) / count
        if below == 0:
            return cls(None, None, None)
        if count == 1:
            return cls(above / below, None, None)
        factor = student_quantile(count - 1) ** 2 / count
        square = below * below - factor * _covariance(lower, lower)
        half = above * below - factor * _covariance(upper, lower)
        constant = above * above - factor * _covariance(upper, upper)
        inside = half * half - square * constant
        if square <= 0 or inside < 0:
            return cls(above / below, None, None)
        # Errors are known to be non-negative. Restricting the set to r >= 0 does not reduce its confidence.
        return cls(above / below, max(0.0, (half - sqrt(inside)) / square), (half + sqrt(inside)) / square)


@lru_cache(maxsize=64)
def student_quantile(freedom: int) -> float:
    """Return t with P(|T| <= t) = 0.95 for Student's distribution, by bisection.

    ``freedom`` is the number of degrees of freedom.
    """
    low, high = 0.0, 1.0
    while _within(high, freedom) < CONFIDENCE:
        high *= 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if _within(middle, freedom) >= CONFIDENCE else (middle, high)
    return high


def _within(bound: float, freedom: int) -> float:
    """Return P(|T| <= bound) (Abramowitz and Stegun 1964, equations 26.7.3 and 26.7.4)."""
    angle = atan(bound / sqrt(freedom))
    square = cos(angle) ** 2
    term, terms = 1.0, []
    if freedom % 2:
        for step in range(2, freedom, 2):
            terms.append(term)
            term *= square * step / (step + 1)
        return 2 / pi * (angle + sin(angle) * cos(angle) * fsum(terms))
    for step in range(1, freedom, 2):
        terms.append(term)
        term *= square * step / (step + 1)
    return sin(angle) * fsum(terms)


def _covariance(first: Sequence[float], second: Sequence[float]) -> float:
    count = len(first)
    first_mean, second_mean = fsum(first) / count, fsum(second) / count
    products = ((one - first_mean) * (other - second_mean) for one, other in zip(first, second, strict=True))
    return fsum(products) / (count - 1)
