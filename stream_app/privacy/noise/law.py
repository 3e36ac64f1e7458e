"""The exact law of a sum of independent discrete Laplace draws: its mean error and its quantiles.

A sum of n draws of one rate is the difference of two negative binomials. A sum over several rates is the convolution of
such sums. Its characteristic function is the product of ``(1 - q)^2 / (1 - 2 q cos t + q^2)`` with ``q = exp(-rate)``.
A discrete Fourier transform inverts it over a period long enough for the wrapped-around part to be negligible.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil, exp, expm1, log, log2, sqrt, tanh
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stream_app.privacy.values import NANO

Rates = tuple[tuple[float, int], ...]
"""The number of draws of each rate, in ascending order of the rates."""

DETAILED: Final = 2_000.0
"""Steps of the grid per scale of the widest draw.

A finer grid is coarsened to about this number, which changes a variance by less than one part in 10^7.
"""
NEGLIGIBLE: Final = 1e-14  # probability beyond half a period: below the rounding of the transform
MOST_DRAWS: Final = 100_000
MOST_WORK: Final = 2**23
"""Limit on rates times steps per period: larger products, as from a sampling rate, take too long to multiply."""


@dataclass(frozen=True, slots=True)
class Law:
    """The probabilities of ``-reach .. reach``, in steps of ``step`` cells."""

    step: int
    probabilities: NDArray[np.float64] = field(repr=False)

    @property
    def reach(self) -> int:
        """The largest number of steps with a probability."""
        return len(self.probabilities) // 2

    @property
    def mean_magnitude(self) -> float:
        """The mean absolute value, in cells."""
        steps = np.arange(-self.reach, self.reach + 1)
        return float(np.abs(steps) @ self.probabilities) * self.step

    def half(self, confidence: float) -> int:
        """Return the smallest number of cells on either side of 0 that contain a share ``confidence`` of all sums."""
        middle, reach = self.probabilities[self.reach], self.reach
        within = np.concatenate(([middle], middle + 2 * np.cumsum(self.probabilities[reach + 1 :])))
        least = int(np.searchsorted(within, confidence - NEGLIGIBLE))
        # On a coarsened grid a sum may lie up to half a step beyond the point that represents it.
        return least if self.step == 1 else (least + 1) * self.step


def mean_magnitude(rate: float) -> float:
    """Return the mean of |k| for discrete Laplace noise k, exactly ``1 / sinh(rate)``.

    ``sum |k| q^|k| (1 - q) / (1 + q) = 2 q / (1 - q^2)`` with ``q = exp(-rate)`` (Ghosh et al. 2009, definition 2.1).
    """
    return 2 * exp(-rate) / -expm1(-2 * rate)


def mean_sum(one: float, other: float, times: int = 1) -> float:
    """Return the exact mean of |times * j + k| for independent discrete Laplace draws j and k.

    Pan-private counters start with noise. Over k, ``E|i + k| = |i| + q^|i| / sinh(other)`` with ``q = exp(-other)``.
    Over j, the mean of ``p^|j|`` with ``p = q^times`` is ``tanh(one / 2) / tanh((one + times * other) / 2)``.
    """
    return times * mean_magnitude(one) + mean_magnitude(other) * tanh(one / 2) / tanh((one + times * other) / 2)


def mean_noise(sensitivity: int, spend_nano: int, intrusion_nano: int | None = None) -> float:
    """Return the mean magnitude, in cells, of all noise in a total, as in `noise_of` without looks."""
    rate = spend_nano / (sensitivity * NANO)
    return mean_magnitude(rate) if intrusion_nano is None else mean_sum(intrusion_nano / (sensitivity * NANO), rate)


def joined(several: Iterable[Rates]) -> Rates:
    """Return the draws of several sums as the draws of one sum."""
    found = Counter[float]()
    for rates in several:
        for rate, draws in rates:
            found[rate] += draws
    return tuple(sorted(found.items()))


def is_exact(rates: Rates) -> bool:
    """Return whether `law_of` accepts these draws: at least one, and not too many."""
    if not rates or sum(draws for _, draws in rates) > MOST_DRAWS:
        return False
    return len(rates) * _period(rates, _step(rates)) <= MOST_WORK


@lru_cache(maxsize=256)
def law_of(rates: Rates) -> Law:
    """Return the law of the sum of all draws; `is_exact` must hold for them."""
    step = _step(rates)
    period = _period(rates, step)
    cosines = np.cos(2 * np.pi / period * np.arange(period // 2 + 1))
    characteristic = np.ones(period // 2 + 1)
    for rate, draws in rates:
        q = exp(-rate * step)
        # 1 - 2 q cos t + q^2, written so that nothing cancels where t is small
        characteristic *= (expm1(-rate * step) ** 2 / (expm1(-rate * step) ** 2 + 2 * q * (1 - cosines))) ** draws
    half = period // 2 - 1
    found = np.maximum(np.fft.irfft(characteristic, period)[: half + 1], 0.0)
    whole = np.concatenate((found[:0:-1], found))
    return Law(step, whole / whole.sum())


def half_of_difference(one: Rates, one_factor: float, other: Rates, other_factor: float, confidence: float) -> float:
    """Return the half width around 0 that contains a share ``confidence`` of the difference of two sums.

    The difference is ``one_factor * X - other_factor * Y``. X and Y are the sums of the draws, and both factors are
    above 0. The function bisects the half width. For each width tried, it sums, over all X, the probability of all Y
    for which the difference lies within that width.
    """
    first, second = law_of(one), law_of(other)
    if one_factor * first.step < other_factor * second.step:  # sum over the one with fewer distinct values
        first, second, one_factor, other_factor = second, first, other_factor, one_factor
    places = one_factor * first.step * np.arange(-first.reach, first.reach + 1)
    below = np.concatenate(([0.0], np.cumsum(second.probabilities)))
    width = other_factor * second.step

    def within(distance: float) -> float:
        low = np.ceil((places - distance) / width * (1 - _ROUNDED)).clip(-second.reach, second.reach + 1)
        high = np.floor((places + distance) / width * (1 + _ROUNDED)).clip(-second.reach - 1, second.reach)
        chances = below[(high + second.reach + 1).astype(int)] - below[(low + second.reach).astype(int)]
        return float(first.probabilities @ np.maximum(chances, 0.0))

    low, high = 0.0, one_factor * first.step * first.reach + width * second.reach
    while high - low > high * _NEAR:
        middle = (low + high) / 2
        low, high = (low, middle) if within(middle) >= confidence else (middle, high)
    joints = [factor * law.step for factor, law in ((one_factor, first), (other_factor, second)) if law.step > 1]
    return high + sum(joints)


_ROUNDED: Final = 1e-12  # so that a distance met exactly counts as met
_NEAR: Final = 1e-9


def _step(rates: Rates) -> int:
    """Return how many cells form one step: one if the widest draw's scale is below `DETAILED` cells."""
    return max(1, int(1 / (rates[0][0] * DETAILED)))


def _period(rates: Rates, step: int) -> int:
    """Return a power of two more than twice the largest magnitude of nearly all sums, by Chernoff's bound.

    ``E exp(s X) = (1 - q)^2 / ((1 - q e^s) (1 - q e^-s))`` for s below the rate.
    """
    slowest = rates[0][0] * step
    variance = sum(draws * 2 * exp(-rate * step) / expm1(-rate * step) ** 2 for rate, draws in rates)
    best = float("inf")
    for share in _SHARES:
        s = slowest * share
        power = sum(
            draws * (2 * log(-expm1(-rate * step)) - log(-expm1(s - rate * step)) - log(-expm1(-s - rate * step)))
            for rate, draws in rates
        )
        best = min(best, (power - log(NEGLIGIBLE)) / s)
    return 1 << max(6, ceil(log2(2 * max(best, sqrt(variance)) + 4)))


_SHARES: Final = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 0.95)
"""Shares of the smallest rate at which Chernoff's bound is tried."""
