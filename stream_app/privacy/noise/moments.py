"""The law of the noise in a release: its variance, its tails, and its 95 % range.

The figures are those of the mechanism itself, on its grid. They need the policy, because the ``scale`` of a release
states neither the grid nor the initial noise of counters.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import asinh, ceil, cos, exp, expm1, hypot, isclose, log, pi, sqrt
from statistics import NormalDist
from typing import Final

from stream_app.privacy.noise.law import Rates, is_exact, joined, law_of
from stream_app.privacy.values import NANO

CONFIDENCE: Final = 0.95
NORMAL: Final = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
"""The standard errors on either side that cover `CONFIDENCE` of a normal distribution: 1.96."""
WIDEST: Final = 1 / sqrt(1 - CONFIDENCE)
"""The standard errors on either side that cover `CONFIDENCE` of any distribution (Chebyshev): 4.47."""
HEAVY: Final = 0.072
"""Additional standard errors for an excess kurtosis of 1.

The expansion gives ``(z^3 - 3z) / 24`` = 0.0686. According to the inverted characteristic functions, sums of 2 to 100
draws of one scale need at most 0.0716, and sums of unequal scales need less.
"""
RATE_DIGITS: Final = 12
"""Number of digits that distinguish rates of draws, because rates in a frame have lost their last digits."""
_ALIKE: Final = 1e-6  # relative tolerance of a law's fourth cumulants
ROUNDED: Final = 1e-6  # share of a grid step added to the last one, so that rounding of doubles does not exclude it
FINE: Final = 0.1  # rate per lattice step below which the position lattice hardly shows
NEGLIGIBLE: Final = 40.0
"""Norm times rate above which a weight of planar noise, at most 5e-18 of the origin's weight, is ignored."""
ANGLES: Final = 2_000
"""Number of angles in the integral over a quarter circle; doubles need far fewer for the smooth integrand."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Independent noise with mean 0, in the same unit as the value it was added to."""

    variance: float
    fourth: float
    """The fourth cumulant: how much heavier the tails are than those of normal noise. It adds up like the variance."""
    half: float  # at least 95 of 100 draws are no farther from 0
    grid: float = 0.0  # draws are multiples of it; 0: they may lie anywhere, or it is unknown
    chances: tuple[float, float] | None = None
    """The probabilities of a random answer: that of the true category, and that of each other category.

    The noise is then at most 1 divided by the difference of the two. No cumulant shows the noise's skew, which is like
    that of a one-in-a-few chance.
    """
    rates: Rates = ()
    """The discrete Laplace draws, one cell per grid step, whose sum gives the exact law; empty for any other law."""

    def times(self, factor: float) -> "Noise":
        """Return the noise multiplied by a positive factor."""
        if factor == 1:
            return self
        scaled = self.variance * factor**2, self.fourth * factor**4, self.half * factor, self.grid * factor
        return Noise(*scaled, rates=self.rates)


def half_width(variance: float, fourth: float, grid: float = 0.0, coarsest: float = 0.0) -> float:
    """Return a distance from 0 that contains about 95 of 100 sums of noise with these cumulants.

    The result is Cornish and Fisher's expansion (1938) to the fourth cumulant, with a coefficient that covers the
    omitted terms, and at most Chebyshev's bound. For n draws of Laplace noise of one scale it gives 1.96 + 0.216/n
    standard errors. Sums on a ``grid`` are whole steps, so the width is enlarged, if necessary, to include the first
    step that, plus half a step, reaches the expansion's width (the continuity correction). The width includes at least
    the first step if one sum in twenty may differ from 0. If draws have different grids, or sums are added with
    factors, half a step of the ``coarsest`` grid is added.
    """
    if variance == 0:
        return 0.0
    heavy = fourth / variance / variance  # the squared variance may be too small for a double
    half = min(NORMAL + heavy * HEAVY, WIDEST) * sqrt(variance)
    if grid == 0:
        return half + coarsest / 2
    steps = max(ceil(half / grid - 0.5), variance > (1 - CONFIDENCE) * grid**2)
    return max(half, (steps + ROUNDED) * grid)


@lru_cache(maxsize=4096)
def noise_of(sensitivity: int, spend_nano: int, intrusion_nano: int | None = None, looks: int = 0) -> Noise:
    """Return the noise of a total, in cells, at rate ``e / sensitivity``.

    Counters of collected data may start with noise of rate ``intrusion_nano / sensitivity``. The same amount of noise
    is added again at each of the announced ``looks``.
    """
    closing = laplace(spend_nano / (sensitivity * NANO))
    if intrusion_nano is None:
        return closing
    start = laplace(intrusion_nano / (sensitivity * NANO))
    # A frame has a variance and a fourth cumulant, which determine the rate of a single draw only.
    return replace(added([closing, start] + [start] * looks), rates=())


def added(noises: Sequence[Noise]) -> Noise:
    """Return the sum of independent noises.

    The sum's half width is exact if all noises are discrete Laplace on one grid.
    """
    variance, fourth = sum(noise.variance for noise in noises), sum(noise.fourth for noise in noises)
    # Equal grids differ in their last digits after division and multiplication by numbers of units.
    grids = {float(f"{noise.grid:.{RATE_DIGITS}g}") for noise in noises}
    grid, coarsest = noises[0].grid if len(grids) == 1 else 0.0, max(grids)
    if grid and all(noise.rates for noise in noises):
        rates = joined(noise.rates for noise in noises)
        if is_exact(rates):
            return Noise(variance, fourth, law_of(rates).half(CONFIDENCE) * grid, grid, rates=rates)
    return Noise(variance, fourth, half_width(variance, fourth, grid, coarsest), grid)


def laplace(rate: float) -> Noise:
    """Return the exact law of discrete Laplace noise, in cells.

    ``P(k) = (1 - q) / (1 + q) * q^|k|`` with ``q = exp(-rate)``. It is the difference of two geometric draws, whose
    cumulants are ``q/p^2`` and ``q(1 + 4q + q^2)/p^4`` with p = 1 - q.
    """
    q, p = exp(-rate), -expm1(-rate)
    # P(|k| > m) = 2 q^(m+1) / (1 + q), at most 0.05
    half = max(0, ceil(log(2 / ((1 - CONFIDENCE) * (1 + q))) / rate - 1))
    told = float(f"{rate:.{RATE_DIGITS}g}")
    return Noise(2 * q / p**2, 2 * q * (1 + 4 * q + q**2) / p**4, float(half), 1.0, rates=((told, 1),))


def one_draw(variance: float, fourth: float, grid: float) -> Rates:
    """Return the discrete Laplace draw with this variance on a grid; empty if the law is a different one."""
    if not grid or not variance:
        return ()
    # 2 q / (1 - q)^2 is the variance in cells, and equals 1 / (2 sinh(rate / 2)^2)
    found = laplace(2 * asinh(grid / sqrt(2 * variance)))
    return found.rates if isclose(found.fourth * grid**4, fourth, rel_tol=_ALIKE) else ()


@lru_cache(maxsize=1024)
def planar(rate: float) -> Noise:
    """Return planar Laplace noise along one axis, in lattice steps.

    From rate `FINE` on, where the lattice matters, the weights ``exp(-rate * norm)`` are summed. Below `FINE` the noise
    is that of the plane: the radius is gamma distributed with shape 2 (Andres et al. 2013, section 5), so along an axis
    the second moment is ``3/rate^2`` and the fourth ``45/rate^4``.
    """
    if rate < FINE:
        return Noise(3 / rate**2, 18 / rate**4, _planar_half() / rate)
    reach = int(NEGLIGIBLE / rate) + 1
    column = [sum((1 if y == 0 else 2) * exp(-rate * hypot(x, y)) for y in range(reach + 1)) for x in range(reach + 1)]
    whole = column[0] + 2 * sum(column[1:])
    second = 2 * sum(x**2 * weight for x, weight in enumerate(column)) / whole
    fourth = 2 * sum(x**4 * weight for x, weight in enumerate(column)) / whole
    within, half = column[0], 0
    while within < CONFIDENCE * whole:
        half += 1
        within += 2 * column[half]
    return Noise(second, fourth - 3 * second**2, float(half), 1.0)


@lru_cache(maxsize=4096)
def mean_norm(rate: float) -> float:
    """Return the mean norm of planar Laplace noise on the integer lattice, in lattice steps.

    From rate `FINE` on, where the lattice matters, the weights are summed. Below `FINE` the result is the mean on the
    plane, ``2 / rate``, because the radius is gamma distributed with shape 2 (Andres et al. 2013, section 5). Its error
    is less than 6e-5 by Poisson's summation: the weights sum to ``2 pi / rate^2 + 0.2288 rate``, and the mean is minus
    the derivative of the logarithm.
    """
    if rate < FINE:
        return 2 / rate
    reach = int(NEGLIGIBLE / rate) + 1
    weights, norms = 1.0, 0.0  # the origin
    for x in range(1, reach + 1):
        for y in range(x + 1):  # an eighth of the plane
            norm = hypot(x, y)
            weight = exp(-rate * norm) * (4 if y in {0, x} else 8)
            weights += weight
            norms += norm * weight
    return norms / weights


@lru_cache(maxsize=1)
def _planar_half() -> float:
    """Return the x with P(|X| > x) = 0.05, found by bisection; X is planar Laplace noise of rate 1 along an axis.

    The radius R has ``P(R > r) = (1 + r) exp(-r)``, and ``X = R cos(a)`` with a uniform angle.
    """
    cosines = [cos(pi / 2 * (nth + 0.5) / ANGLES) for nth in range(ANGLES)]
    low, high = 0.0, 20.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        beyond = sum((1 + middle / part) * exp(-middle / part) for part in cosines) / ANGLES
        low, high = (middle, high) if beyond > 1 - CONFIDENCE else (low, middle)
    return high
