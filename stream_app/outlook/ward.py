"""How many contributors a collected statistic needs for a target error: the smallest ward.

A release counts as *within* an error if it stays within that error with probability `WANTED`, whatever the
contributors' items are. The error comes from noise alone: items are first rounded to their grid and clamped to their
range.
"""

from collections.abc import Callable
from fractions import Fraction
from math import ceil, exp, expm1, log, sinh
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stream_app.privacy.collected.collect import Collect
from stream_app.privacy.kinds import Choice, Counts, HiddenMean, Mean, Sum
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import NANO

WANTED: Final = 0.95  # probability that a release is within its error
MOST_CONTRIBUTORS: Final = 100_000  # search limit if the number of contributors is hidden
MOST_DRAWS: Final = 1_000_000
"""The largest noise considered in a number, in either direction.

The scale is then 42,000, and a useful number is at least three scales.
"""
NEGLIGIBLE: Final = 24.0  # in scales of discrete Laplace noise: the rest, 4e-11 of it, counts as failure
CERTAIN: Final = 30.0  # a rate at which noise is 0 except once in 10^13 draws
NEAR: Final = 1e-7  # relative distance of rates treated as equal: the formula for two would subtract close numbers

Tail = Callable[[int], float]  # the probability that noise exceeds so many cells, either way; decreasing


def contributors(policy: Policy, spend_nano: int, error: Fraction) -> int | None:
    """Return how many contributors a release with this budget needs for an error above 0, or None.

    For a sum, the error is per contributor, in the value's unit. For a mean, it is the mean's error. For counts, it is
    a share of the contributors. For a choice, it is also a share of the contributors: the lead of the item to be drawn.
    None means that more than `MOST_CONTRIBUTORS` are needed, or that the data are not collected.
    """
    kind, collect = policy.kind, policy.collect
    if collect is None:
        return None
    match kind:
        case Counts():
            return contributors_of_total(_reach(collect, kind.sensitivity, spend_nano), error)
        case Sum() | Mean():
            cells = error * kind.item.axis.cells_per_unit
            return contributors_of_total(_reach(collect, kind.item.sensitivity, spend_nano), cells)
        case Choice():
            return contributors_of_total(lead(kind, spend_nano), error)
        case HiddenMean() if spend_nano > 1:
            cells = error * kind.item.axis.cells_per_unit
            return contributors_of_mean(*kind.rates(spend_nano), kind.item.sensitivity, cells)
        case _:
            return None


def within_words(policy: Policy, error: float) -> str | None:
    """Describe what is within an error; return None for data that are not collected and so have no ward."""
    match policy.kind:
        case _ if policy.collect is None:
            return None
        case Counts():
            return f"a count whose error is at most {error:g} times the number of contributors"
        case Sum():
            return f"a sum whose error is at most {error:g} per contributor"
        case Mean() | HiddenMean():
            return f"a mean within {error:g} of the truth"
        case Choice():
            return f"the item with a lead of {error:g} times the number of contributors"
        case _:
            return None


def lead(kind: Choice, spend_nano: int) -> int:
    """Return by how many contributors an item must lead to be drawn with probability `WANTED`."""
    return lead_of(len(kind.items), spend_nano / NANO / kind.largest_change)


def _reach(collect: Collect, sensitivity: int, spend_nano: int) -> int:
    rate = spend_nano / (sensitivity * NANO)
    if collect.intrusion_nano is None:
        return reach_of(laplace_tail(rate))
    return reach_of(sum_tail(collect.intrusion_nano / (sensitivity * NANO), rate))


def laplace_tail(rate: float) -> Tail:
    """Return the tail of discrete Laplace noise: ``P(|k| > m) = 2 q^(m + 1) / (1 + q)`` with ``q = exp(-rate)``."""
    return lambda most: 2 * exp(-rate * (most + 1)) / (1 + exp(-rate))


def sum_tail(one: float, other: float) -> Tail:
    """Return the tail of the sum of two independent draws of discrete Laplace noise with these rates.

    With a and b for ``exp(-rate)``, the product of both generating functions ``(1 - a)^2 / ((1 - a z) (1 - a / z))``
    has the partial fractions ``P(n) = w (a^|n| a / (1 - a^2) - b^|n| b / (1 - b^2))``, where ``w = (1 - a)^2 (1 - b)^2
    / (a b d)`` and ``d = (1 - b)^2 / b - (1 - a)^2 / a``, the product of two hyperbolic sines. If a = b, ``P(n) = ((1 -
    a) / (1 + a))^2 a^|n| (|n| + (1 + a^2) / (1 - a^2))``.
    """
    low, high = sorted((min(one, CERTAIN), min(other, CERTAIN)))
    a, b = exp(-low), exp(-high)
    if high - low < NEAR * low:
        half = (1 + a * a) / -expm1(-2 * low)
        least = -expm1(-low)
        return lambda most: (
            2 * (least / (1 + a)) ** 2 * exp(-low * (most + 1)) * ((most + 1 + half) / least + a / least**2)
        )
    whole = 2 * expm1(-low) ** 2 * expm1(-high) ** 2 / (a * b * 4 * sinh((high - low) / 2) * sinh((high + low) / 2))

    def beyond(rate: float, most: int) -> float:
        return exp(-rate * (most + 2)) / (expm1(-rate) * expm1(-2 * rate))

    return lambda most: whole * (beyond(low, most) - beyond(high, most))


def reach_of(tail: Tail) -> int:
    """Return the smallest number of cells within which noise lies with probability `WANTED`."""
    return _least(lambda most: tail(most) <= 1 - WANTED, 0)


def contributors_of_total(reach: int, error_cells: Fraction) -> int:
    """Return how many contributors reduce noise of ``reach`` cells in the total to ``error_cells`` per contributor."""
    return max(1, ceil(reach / error_cells))


def contributors_of_mean(sum_rate: float, number_rate: float, farthest: int, error_cells: Fraction) -> int | None:
    """Return how many contributors a mean over a hidden number needs; None if more than `MOST_CONTRIBUTORS`.

    With noise x in the sum and y in the number n, and the mean m cells from the middle of the range, the error is ``|x
    - m y| / (n + y)``. The mean is assumed to lie at an end of the range, ``farthest`` cells away, where y matters
    most. The gain from clamping there is ignored, and n + y < 1 is a failure. The result for n therefore also holds for
    any larger number.
    """
    most = min(ceil(NEGLIGIBLE / number_rate), MOST_DRAWS)
    draws = np.arange(-most, most + 1, dtype=np.float64)
    q = exp(-number_rate)
    chances = (1 - q) / (1 + q) * np.exp(-number_rate * np.abs(draws))
    width = float(error_cells)

    def enough(number: int) -> bool:
        room = np.floor(width * (number + draws) * (1 + 1e-12))
        low, high = np.ceil(farthest * draws - room), np.floor(farthest * draws + room)
        held = np.where(number + draws >= 1, _between(sum_rate, low, high), 0.0)
        return float(chances @ held) >= WANTED

    return _least(enough, 1) if enough(MOST_CONTRIBUTORS) else None


def _between(rate: float, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities that discrete Laplace noise lies in ``low .. high``."""
    return np.maximum(0.0, _below(rate, high) - _below(rate, low - 1))


def _below(rate: float, cell: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``P(k <= cell)``: ``q^-cell / (1 + q)`` below 0, ``1 - q^(cell + 1) / (1 + q)`` from 0 on."""
    q = exp(-rate)
    found: NDArray[np.float64] = np.where(
        cell < 0, np.exp(rate * np.minimum(cell, 0)) / (1 + q), 1 - np.exp(-rate * (np.maximum(cell, 0) + 1)) / (1 + q)
    )
    return found


def lead_of(items: int, rate: float) -> int:
    """Return the lead over every other item, in contributors, with which an item is chosen with probability `WANTED`.

    An item chosen by n contributors has the weight ``exp(rate * n)``. The leading item is least likely to be chosen if
    all others are equal, with probability ``1 / (1 + (items - 1) exp(-rate * lead))``.
    """
    return max(1, ceil(log((items - 1) * WANTED / (1 - WANTED)) / rate))


def _least(holds: Callable[[int], bool], first: int) -> int:
    """Return the smallest number from ``first`` on for which ``holds`` is true, if it stays true for larger ones."""
    low, high = first, first
    while not holds(high):
        low, high = high + 1, 2 * high + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
