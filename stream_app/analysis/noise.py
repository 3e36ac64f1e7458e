"""The law of the noise in a release: its variance, its tails, and where 95 of 100 draws lie.

The figures are those of the mechanism itself, on its grid. They need the policy: the ``scale`` of a release states
neither the grid nor the noise that counters start with.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import asinh, ceil, cos, exp, expm1, hypot, isclose, log, pi, sqrt
from statistics import NormalDist
from typing import Final, assert_never

from stream_app.analysis.law import Rates, is_exact, joined, law_of
from stream_app.privacy import kinds
from stream_app.privacy.kinds.axis import Axis
from stream_app.privacy.values import NANO

CONFIDENCE: Final = 0.95
NORMAL: Final = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
"""Standard errors either way that hold `CONFIDENCE` of a normal distribution: 1.96."""
WIDEST: Final = 1 / sqrt(1 - CONFIDENCE)
"""Standard errors either way that hold `CONFIDENCE` of any distribution, by Chebyshev's inequality: 4.47."""
HEAVY: Final = 0.072
"""Standard errors more for an excess kurtosis of 1. The expansion says ``(z^3 - 3z) / 24`` = 0.0686; sums of 2 to 100
draws of one scale need at most 0.0716, by inversion of their characteristic function, those of unequal ones less."""
RATE_DIGITS: Final = 12
"""Digits of a rate that tell draws of different rates apart: what a frame carries has lost the last ones."""
_ALIKE: Final = 1e-6  # relative distance of fourth cumulants of one law
ROUNDED: Final = 1e-6  # steps of a grid beyond the last one that counts, so that no rounding of doubles leaves it out
FINE: Final = 0.1  # rates per lattice step below which the lattice of positions hardly shows
NEGLIGIBLE: Final = 40.0
"""Norms times rate from which on the weight of planar noise, at most 5e-18 of the origin's, no longer counts."""
ANGLES: Final = 2_000
"""Of the integral over a quarter circle, whose integrand is smooth there: far more than doubles need."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Independent noise with mean 0, in the unit of what it was added to."""

    variance: float
    fourth: float
    """The fourth cumulant: how much heavier the tails are than those of normal noise. It adds up like the variance."""
    half: float  # at least 95 of 100 draws lie so far from 0 at most
    grid: float = 0.0  # draws are multiples of it; 0: they may lie anywhere, or nothing is known of that
    chances: tuple[float, float] | None = None
    """Of a random answer: that of the true category, and that of each other one. The noise lies within 1 over their
    difference then, skewed as one in a few, which no cumulant tells."""
    rates: Rates = ()
    """Of the discrete Laplace draws, a step of the grid a cell, whose sum it is: its exact law. Empty: another one."""

    def times(self, factor: float) -> "Noise":
        """Return the noise times a positive factor."""
        if factor == 1:
            return self
        scaled = self.variance * factor**2, self.fourth * factor**4, self.half * factor, self.grid * factor
        return Noise(*scaled, rates=self.rates)


def half_width(variance: float, fourth: float, grid: float = 0.0, coarsest: float = 0.0) -> float:
    """Return how far from 0 at most about 95 of 100 sums of noise of this variance and fourth cumulant lie.

    Cornish and Fisher's expansion (1938) to the fourth cumulant, with a coefficient that covers what it leaves out, and
    at most Chebyshev's bound: of n draws of Laplace noise of one scale it takes 1.96 + 0.216/n standard errors. Sums on
    a ``grid`` have no part of a step: the width reaches the step that holds the halves to which the normal curve counts
    (the correction for continuity), and the first one wherever one sum in twenty may be another than 0. Of draws on
    grids of their own, or of sums that are added with factors, half a step of the ``coarsest`` grid comes to it.
    """
    if variance == 0:
        return 0.0
    heavy = fourth / variance / variance  # the square of a variance may be too small for a double
    half = min(NORMAL + heavy * HEAVY, WIDEST) * sqrt(variance)
    if grid == 0:
        return half + coarsest / 2
    steps = max(ceil(half / grid - 0.5), variance > (1 - CONFIDENCE) * grid**2)
    return max(half, (steps + ROUNDED) * grid)


@lru_cache(maxsize=4096)
def noises_of(
    kind: kinds.Kind, spend_nano: int, items: int = 1, intrusion_nano: int | None = None, looks: int = 0
) -> dict[str, Noise]:
    """Return the noise of a measurement that cost ``spend_nano``, by part; a single number's part is "".

    ``items`` is the public number that a mean is of. ``intrusion_nano`` is the policy's: counters start with noise of
    that rate, and take up as much again at each of the announced ``looks``. Locations have parts in degrees. A choice
    has no noise of its own, and a category's depends on the truth (`Release.quantities`): both have none here.
    """
    elsewhere = "the noise of unit statistics depends on the number of units (analysis/units.py)"
    assert not isinstance(kind, kinds.UnitStatistic), elsewhere
    match kind:
        case kinds.Number():
            return {"": _on(kind.axis, laplace(spend_nano / (kind.sensitivity * NANO)))}
        case kinds.Counts():
            return dict.fromkeys(kind.keys, _collected(kind.sensitivity, spend_nano, intrusion_nano, looks))
        case kinds.Sum():
            return {"": _on(kind.item.axis, _collected(kind.item.sensitivity, spend_nano, intrusion_nano, looks))}
        case kinds.Mean():
            noise = _on(kind.item.axis, _collected(kind.item.sensitivity, spend_nano, intrusion_nano, looks))
            return {"": noise.times(1 / max(1, items))}
        case kinds.HiddenMean():
            half_nano = spend_nano // 2
            total = _on(kind.item.axis, laplace(half_nano / (kind.item.sensitivity * NANO)))
            return {"sum": total, "count": laplace((spend_nano - half_nano) / NANO)}
        case kinds.Vector():
            parts = zip(kind.names, kind.parts, strict=True)
            return {name: _on(part.axis, laplace(spend_nano / (part.sensitivity * NANO))) for name, part in parts}
        case kinds.Location():
            noise = planar(float(kind.rate_per_nano * spend_nano))
            return {"latitude": _on(kind.latitude, noise), "longitude": _on(kind.longitude, noise)}
        case kinds.Category() | kinds.Choice():
            return {}
        case _:
            assert_never(kind)


def _on(axis: Axis, noise: Noise) -> Noise:
    """Return noise in cells as noise in the axis' unit."""
    return noise.times(float(1 / axis.cells_per_unit))


def _collected(sensitivity: int, spend_nano: int, intrusion_nano: int | None, looks: int) -> Noise:
    closing = laplace(spend_nano / (sensitivity * NANO))
    if intrusion_nano is None:
        return closing
    start = laplace(intrusion_nano / (sensitivity * NANO))
    # A frame carries a variance and a fourth cumulant, which tell the rate of one draw alone.
    return replace(added([closing, start] + [start] * looks), rates=())


def added(noises: Sequence[Noise]) -> Noise:
    """Return the sum of independent noises; its half width is exact where all are discrete Laplace on one grid."""
    variance, fourth = sum(noise.variance for noise in noises), sum(noise.fourth for noise in noises)
    # Grids of one length differ in their last digits, where numbers of units divided and multiplied them.
    grids = {float(f"{noise.grid:.{RATE_DIGITS}g}") for noise in noises}
    grid, coarsest = noises[0].grid if len(grids) == 1 else 0.0, max(grids)
    if grid and all(noise.rates for noise in noises):
        rates = joined(noise.rates for noise in noises)
        if is_exact(rates):
            return Noise(variance, fourth, law_of(rates).half(CONFIDENCE) * grid, grid, rates=rates)
    return Noise(variance, fourth, half_width(variance, fourth, grid, coarsest), grid)


def laplace(rate: float) -> Noise:
    """Return discrete Laplace noise, in cells, exactly: ``P(k) = (1 - q) / (1 + q) * q^|k|``, ``q = exp(-rate)``.

    It is the difference of two geometric draws, whose cumulants are ``q/p^2`` and ``q(1 + 4q + q^2)/p^4``, p = 1 - q.
    """
    q, p = exp(-rate), -expm1(-rate)
    # P(|k| > m) = 2 q^(m+1) / (1 + q), at most 0.05
    half = max(0, ceil(log(2 / ((1 - CONFIDENCE) * (1 + q))) / rate - 1))
    told = float(f"{rate:.{RATE_DIGITS}g}")
    return Noise(2 * q / p**2, 2 * q * (1 + 4 * q + q**2) / p**4, float(half), 1.0, rates=((told, 1),))


def one_draw(variance: float, fourth: float, grid: float) -> Rates:
    """Return the rate of the discrete Laplace draw that has this variance on a grid; empty where the law is another."""
    if not grid or not variance:
        return ()
    # 2 q / (1 - q)^2 is the variance in cells, and 1 / (2 sinh(rate / 2)^2)
    found = laplace(2 * asinh(grid / sqrt(2 * variance)))
    return found.rates if isclose(found.fourth * grid**4, fourth, rel_tol=_ALIKE) else ()


@lru_cache(maxsize=1024)
def planar(rate: float) -> Noise:
    """Return planar Laplace noise along one axis, in lattice steps.

    The weights ``exp(-rate * norm)`` are summed where the lattice shows. Below `FINE` it is that of the plane: the
    radius is gamma distributed with shape 2 (Andres et al. 2013, section 5), so that the second moment of an axis is
    ``3/rate^2`` and the fourth ``45/rate^4``.
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


@lru_cache(maxsize=1)
def _planar_half() -> float:
    """Return the x at which P(|X| > x) is 0.05, X an axis of planar Laplace noise of rate 1, by bisection.

    The radius R has ``P(R > r) = (1 + r) exp(-r)``, and ``X = R cos(a)`` with an angle of any size.
    """
    cosines = [cos(pi / 2 * (nth + 0.5) / ANGLES) for nth in range(ANGLES)]
    low, high = 0.0, 20.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        beyond = sum((1 + middle / part) * exp(-middle / part) for part in cosines) / ANGLES
        low, high = (middle, high) if beyond > 1 - CONFIDENCE else (low, middle)
    return high
