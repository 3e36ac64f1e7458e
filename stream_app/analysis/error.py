"""Errors by kind: of a release, the expected error of a measurement, and of the constant baseline.

The baseline publishes nothing, and choosing its constant requires the true values: it is a yardstick, not
post-processing.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import cos, degrees, exp, fsum, hypot, log1p, radians
from statistics import median
from typing import Any, assert_never

from stream_app.analysis.law import mean_magnitude, mean_sum
from stream_app.analysis.units import per_step, unit_error, unit_words
from stream_app.privacy import kinds
from stream_app.privacy.kinds.location import EARTH_RADIUS_METRES
from stream_app.privacy.noise.mechanisms import truth_probability
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import NANO


def error(raw: Any, published: Any, kind: kinds.Kind | None = None) -> float:
    """Return the absolute difference of numbers, metres between positions, or 0 or 1 for categories.

    For counts it is the mean over keys; for vectors (if ``kind`` is given), the mean over parts in shares of their
    ranges. Positions are compared on the plane tangent to the sphere at the raw position. Values have the form used in
    records.
    """
    if isinstance(kind, kinds.Vector):
        return fsum(
            abs(raw[name] - published[name]) / part.axis.double(part.axis.high - part.axis.low)
            for name, part in zip(kind.names, kind.parts, strict=True)
        ) / len(kind.parts)
    if isinstance(raw, Mapping):
        if raw.keys() == {"latitude", "longitude"}:
            north = radians(raw["latitude"] - published["latitude"])
            east = radians(raw["longitude"] - published["longitude"]) * cos(radians(raw["latitude"]))
            return float(EARTH_RADIUS_METRES) * hypot(north, east)
        return fsum(abs(raw.get(key, 0) - published[key]) for key in published) / len(published)
    if isinstance(raw, str | bool):
        return float(raw != published)
    return abs(float(raw) - float(published))


def guess(kind: kinds.Kind) -> object:
    """Return the value to assume for suppressed steps, from the policy alone.

    The middle of the range or of the bounds, the first category or item, or counts of 0; for vectors, part by part.
    """
    assert not isinstance(kind, kinds.UnitStatistic), _OF_UNITS
    match kind:
        case kinds.Number():
            return (kind.axis.double(kind.axis.low) + kind.axis.double(kind.axis.high)) / 2
        case kinds.Sum() | kinds.Mean() | kinds.HiddenMean():
            return guess(kind.item)
        case kinds.Vector():
            return {name: guess(part) for name, part in zip(kind.names, kind.parts, strict=True)}
        case kinds.Location():
            return {"latitude": sum(kind.north) / 2, "longitude": sum(kind.east) / 2}
        case kinds.Counts():
            return dict.fromkeys(kind.keys, 0)
        case kinds.Category():
            return kind.categories[0]
        case kinds.Choice():
            return kind.items[0]
        case _:
            assert_never(kind)


_OF_UNITS = "statistics of units are compared with those of the data (outlook/units/readings.py)"


ROUNDED_METRES = 0.01
"""Metres within which distances are rounded off, so that the search cannot get stuck at a position."""
SETTLED = 1e-12  # radians, a few micrometres: a search that moves less has ended
MOST_ROUNDS = 1_000


def best_constant(kind: kinds.Kind, raws: Sequence[Any]) -> object:
    """Return the value with the smallest mean error over ``raws`` (at least one), known only in hindsight.

    It is the median (of counts and vectors key by key), the geometric median of positions, whose error is accurate to a
    thousandth, or the most frequent category.
    """
    assert not isinstance(kind, kinds.UnitStatistic), _OF_UNITS
    match kind:
        case kinds.Number() | kinds.Sum() | kinds.Mean() | kinds.HiddenMean():
            return median(map(float, raws))
        case kinds.Location():
            return _geometric_median(raws)
        case kinds.Counts():
            return {key: median(raw.get(key, 0) for raw in raws) for key in kind.keys}
        case kinds.Vector():
            return {name: median(float(raw[name]) for raw in raws) for name in kind.names}
        case kinds.Category():
            return max(kind.categories, key=list(raws).count)
        case kinds.Choice():
            return max(kind.items, key=list(raws).count)
        case _:
            assert_never(kind)


def _geometric_median(raws: Sequence[Any]) -> dict[str, float]:
    """Return the position with the smallest mean distance in metres (Weiszfeld 1937, from the mean)."""
    places = [(radians(raw["latitude"]), radians(raw["longitude"])) for raw in raws]
    points = [(north, east, cos(north)) for north, east in places]
    north, east = (fsum(part) / len(places) for part in zip(*places, strict=True))
    rounded = ROUNDED_METRES / float(EARTH_RADIUS_METRES)
    for _ in range(MOST_ROUNDS):
        pulls = [1 / hypot(north - y, (east - x) * wide, rounded) for y, x, wide in points]
        before = north, east
        north = fsum(pull * y for pull, (y, _, _) in zip(pulls, points, strict=True)) / fsum(pulls)
        easts = [pull * wide * wide for pull, (_, _, wide) in zip(pulls, points, strict=True)]
        east = fsum(pull * x for pull, (_, x, _) in zip(easts, points, strict=True)) / fsum(easts)
        if hypot(north - before[0], east - before[1]) < SETTLED:
            break
    return {"latitude": degrees(north), "longitude": degrees(east)}


CLOSE = 1e-12  # relative size of a Newton step below which the root is found
FINE = 0.1  # rate per lattice step below which the lattice hardly shows
NEGLIGIBLE = 40  # norm times rate above which the weight, at most 5e-18 of the origin's, is ignored


def expected_error(policy: Policy, spend_nano: int) -> float:
    """Return the mean absolute error of a value perturbed with ``spend_nano`` (at least 1) nano-epsilon.

    Its unit depends on the kind:

    * number, sum: the value's unit
    * mean: the value's unit, to be divided by the number of items (if this is hidden: to first order in one part of it,
      for a mean at an end of the range)
    * counts: items of one cell
    * location: metres
    * category: the probability of a wrong category
    * choice: items by which the choice may miss the most frequent one
    * vector: shares of a part's range, the mean over the parts
    * statistic of units: as in `unit_error`, for a step in which each unit has a reading

    Rounding to the grid adds at most half a resolution. Every announced intrusion into collected data adds further
    noise.
    """
    kind = policy.kind
    if isinstance(kind, kinds.UnitStatistic):
        return unit_error(kind, spend_nano, per_step(policy))
    match kind:
        case kinds.Number():
            return mean_magnitude(spend_nano / (kind.sensitivity * NANO)) / float(kind.axis.cells_per_unit)
        case kinds.Counts():
            return _collected(policy, kind.sensitivity, spend_nano)
        case kinds.Sum() | kinds.Mean():
            return _collected(policy, kind.item.sensitivity, spend_nano) / float(kind.item.axis.cells_per_unit)
        case kinds.HiddenMean():
            # (x - m * y) / n: x and y are the noises of the sum and the number, m is the distance of the mean from c.
            farthest, (sum_rate, number_rate) = kind.item.sensitivity, hidden_rates(kind, spend_nano)
            return mean_sum(number_rate, sum_rate, farthest) / float(kind.item.axis.cells_per_unit)
        case kinds.Location():
            return mean_norm(float(kind.rate_per_nano * spend_nano)) / float(kind.plane.cells_per_unit)
        case kinds.Category():
            return 1.0 - truth_probability(spend_nano, len(kind.categories))
        case kinds.Choice():
            return mean_shortfall(spend_nano / NANO / (2 if kind.replace else 1), len(kind.items))
        case kinds.Vector():
            # A part's sensitivity is its range times the number of parts, so the sum is the mean in shares of ranges.
            noises = [mean_magnitude(spend_nano / (part.sensitivity * NANO)) / part.sensitivity for part in kind.parts]
            return fsum(noises)
        case _:
            assert_never(kind)


def _collected(policy: Policy, sensitivity: int, spend_nano: int) -> float:
    """Return the mean magnitude of all noise in a counter of a step without an announced intrusion."""
    closing = spend_nano / (sensitivity * NANO)
    if policy.collect is None or policy.collect.intrusion_nano is None:
        return mean_magnitude(closing)
    return mean_sum(policy.collect.intrusion_nano / (sensitivity * NANO), closing)


def expected_scale(policy: Policy, spend_nano: int) -> float:
    """Return the noise scale as stated in releases.

    For a vector it is in shares of a part's range, equal for all parts. For a mean it is that of one item, for a mean
    over a hidden number that of the sum.
    """
    kind = policy.kind
    match kind:
        case kinds.Vector():
            return kind.width * NANO / spend_nano
        case kinds.HiddenMean():
            return kind.scale(spend_nano)["sum"]
        case kinds.UnitMean() | kinds.Share():
            return kind.scale(spend_nano, per_step(policy))
        case _:
            return kind.scale(spend_nano)


def hidden_rates(kind: kinds.HiddenMean, spend_nano: int) -> tuple[float, float]:
    """Return the rates of the noise in the sum and in the number, for a spend of at least 2 nano-epsilon."""
    half_nano = spend_nano // 2
    return half_nano / (kind.item.sensitivity * NANO), (spend_nano - half_nano) / NANO


def sensitivity(kind: kinds.Kind) -> float | dict[str, float] | None:
    """Return the largest distance between neighbours in what noise is added to; None for a category.

    It is in the unit of `expected_error`; for a vector it is given for each part by name, for a mean it is that of the
    sum.
    """
    match kind:
        case kinds.Number():
            return kind.axis.double(kind.sensitivity)
        case kinds.Sum() | kinds.Mean():
            return kind.item.axis.double(kind.item.sensitivity)
        case kinds.HiddenMean():
            return {"sum": kind.item.axis.double(kind.item.sensitivity), "count": 1}
        case kinds.Counts() | kinds.Share() | kinds.Histogram():
            return kind.sensitivity
        case kinds.UnitSum() | kinds.UnitMean() | kinds.ByBins():
            return kind.item.axis.double(kind.sensitivity)
        case kinds.Choice():
            return 2 if kind.replace else 1
        case kinds.Location():
            return float(kind.radius)
        case kinds.Category():
            return None
        case kinds.Vector():
            ranges = [part.axis.double(part.axis.high - part.axis.low) for part in kind.parts]
            return dict(zip(kind.names, ranges, strict=True))
        case _:
            assert_never(kind)


def unit(kind: kinds.Kind) -> str:
    """Return the unit of `expected_error`, in words."""
    if isinstance(kind, kinds.UnitStatistic):
        return unit_words(kind)
    match kind:
        case kinds.Number():
            return "in the value's unit"
        case kinds.Counts():
            return "items a cell"
        case kinds.Location():
            return "metres"
        case kinds.Category():
            return "probability of a wrong category"
        case kinds.Vector():
            return "as a share of a part's range"
        case kinds.Sum():
            return "of the sum, in the value's unit"
        case kinds.Choice():
            return "number of items by which the drawn choice may fall short of the most frequent one"
        case kinds.Mean() | kinds.HiddenMean():
            return "in the value's unit, divided by the number of items"
        case _:
            assert_never(kind)


def mean_shortfall(rate: float, items: int) -> float:
    """Return by how many items the drawn item misses the most frequent on average, for the worst counts.

    With gaps g_i and weights exp(-rate * g_i) the mean is ``f = sum g_i w_i / (1 + sum w_i)``. Where its derivatives
    vanish, all gaps are ``1/rate + f``, so ``rate * f = W((items - 1) / e)`` with Lambert's W. Whole gaps cannot give
    more.
    """
    target = (items - 1) / exp(1)
    found = log1p(target)  # above W; x * exp(x) is convex, so Newton's steps fall to W
    while (step := (found - target * exp(-found)) / (found + 1)) > found * CLOSE:
        found -= step
    return found / rate


@lru_cache(maxsize=4096)
def mean_norm(rate: float) -> float:
    """Return the mean norm of planar Laplace noise on the integer lattice, in lattice steps.

    The weights are summed if the lattice shows. Below `FINE` the result is that of the plane, ``2 / rate`` (the radius
    is gamma distributed with shape 2: Andres et al. 2013, section 5). Its error is less than 6e-5 by Poisson's
    summation: the weights sum to ``2 pi / rate^2 + 0.2288 rate``, and the mean is minus the derivative of the
    logarithm.
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
