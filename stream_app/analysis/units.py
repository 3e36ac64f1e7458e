"""The error of a statistic of units: in advance by epsilon and unit, and as the exact law of noise.

A total of cells has discrete Laplace noise of rate ``e / sensitivity``. The sensitivity is w*D for a sum or a mean, w
for a share, and 2*w for a histogram's bins. Anything divided by the public number n of units has noise that is n times
as small. So a mean over many steps, weighted by their numbers of units, has the sum of all their noise.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from math import asinh, ceil, inf
from typing import Final, assert_never

from stream_app.analysis.law import mean_magnitude
from stream_app.analysis.noise import Noise, laplace
from stream_app.privacy.kinds import ByBins, Histogram, Share, UnitMean, UnitStatistic, UnitSum
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import LandmarkLevel
from stream_app.privacy.values import NANO


def regular_nano(policy: Policy) -> int:
    """Return what a step of units may spend if nothing was registered late, in nano-epsilon.

    This is all of epsilon, unless budget is kept for spare landmarks in past steps: ``w * (E // (w + spare))``.
    """
    assert policy.units is not None, "asked before"
    spare, window = policy.spare if isinstance(policy.protection, LandmarkLevel) else 0, policy.units.window
    return policy.epsilon_nano if spare == 0 else window * (policy.epsilon_nano // (window + spare))


def per_step(policy: Policy) -> int:
    """Return the number of units in a step."""
    assert policy.units is not None, "asked before"
    return policy.units.per_step


def with_window(kind: UnitStatistic, window: int) -> UnitStatistic:
    """Return the statistic that protects ``window`` consecutive units together."""
    match kind:
        case UnitSum() | UnitMean() | Share() | Histogram():
            return replace(kind, window=window)
        case ByBins():
            return replace(kind, of=replace(kind.of, window=window))
        case _:
            assert_never(kind)


def unit_error(kind: UnitStatistic, spend_nano: int, units: float) -> float:
    """Return the mean absolute error of a step of ``units`` units, for a spend of at least 1 nano-epsilon.

    It is in the value's unit for a sum and a mean, and in shares of the units for a share and a histogram's bin. By
    local time it is the error of one bin, and ``units`` counts those of all bins, which have equally many.
    """
    return mean_magnitude(spend_nano / (kind.sensitivity * NANO)) * _of_a_cell(kind, units)


def needed_nano(kind: UnitStatistic, error: float, units: float) -> int:
    """Return the least spend, in nano-epsilon, for this mean absolute error in a step of ``units`` units.

    The mean magnitude is ``1 / sinh(rate)``, so the rate is ``asinh(1 / magnitude)``.
    """
    return max(1, ceil(asinh(_of_a_cell(kind, units) / error) * kind.sensitivity * NANO))


def needed_units(kind: UnitStatistic, spend_nano: int, error: float) -> float:
    """Return how many units a step needs for this mean absolute error; infinity for an inaccurate sum.

    More units do not improve a sum. A sum that is accurate enough needs one.
    """
    if _is_sum(kind):
        return 1.0 if unit_error(kind, spend_nano, 1) <= error else inf
    return max(1.0, unit_error(kind, spend_nano, 1) / error)


def _is_sum(kind: UnitStatistic) -> bool:
    return isinstance(kind.of if isinstance(kind, ByBins) else kind, UnitSum)


def _of_a_cell(kind: UnitStatistic, units: float) -> float:
    """Return the effect of one cell of noise on a release over ``units`` units."""
    match kind:
        case UnitSum():
            return float(1 / kind.item.axis.cells_per_unit)
        case UnitMean():
            return float(1 / kind.item.axis.cells_per_unit) / units
        case Share() | Histogram():
            return 1 / units
        case ByBins():
            return _of_a_cell(kind.of, units / len(kind.local.names))
        case _:
            assert_never(kind)


def unit_words(kind: UnitStatistic) -> str:
    """Return the unit of `unit_error` in words."""
    match kind:
        case UnitSum() | UnitMean():
            return "in the value's unit"
        case Share():
            return "as a share of the units"
        case Histogram():
            return "of a bin, as a share of the units"
        case ByBins():
            return "of a bin, in the value's unit"
        case _:
            assert_never(kind)


def unit_noises(kind: UnitStatistic, spend_nano: int, count: int | Mapping[str, int]) -> dict[str, Noise]:
    """Return the noise of a measurement over ``count`` units by part; a single number's part is "".

    The bins of a histogram over edges are parts "0", "1"..; bins over categories and bins of local time have their own
    names.
    """
    named = tuple(sorted(count.items())) if isinstance(count, Mapping) else count
    return _noises(kind, spend_nano, named)


@lru_cache(maxsize=4096)
def _noises(kind: UnitStatistic, spend_nano: int, count: int | tuple[tuple[str, int], ...]) -> dict[str, Noise]:
    noise = laplace(spend_nano / (kind.sensitivity * NANO))
    match kind:
        case UnitSum() | UnitMean() | Share() if isinstance(count, int):
            return {"": noise.times(_of_a_cell(kind, max(1, count)))}
        case Histogram() if isinstance(count, int):
            return dict.fromkeys(kind.names or map(str, range(kind.bins)), noise)
        case ByBins() if isinstance(count, tuple):
            return {name: noise.times(_of_a_cell(kind.of, max(1, number))) for name, number in count}
        case _:
            return {}


def unit_scales(kind: UnitStatistic, spend_nano: int, count: int | Mapping[str, int]) -> float | dict[str, float]:
    """Return the scale stated by a release over ``count`` units."""
    if isinstance(count, Mapping) and not _is_sum(kind):
        return {name: kind.scale(spend_nano, number) for name, number in count.items()}
    return kind.scale(spend_nano, count if isinstance(count, int) else 1)


WEIGHED: Final = frozenset({"mean", "share"})
"""In a mean over steps, these count once per unit of a step; a sum or a histogram counts once."""
