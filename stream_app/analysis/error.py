"""The error of a release, and the best constant in hindsight: the baseline that whatever is published has to beat.

The constant publishes nothing, and whoever names it must know the true values: no post-processing, but a yardstick.
"""

from collections.abc import Mapping, Sequence
from math import cos, degrees, fsum, hypot, radians
from statistics import median
from typing import Any

from stream_app.privacy.kinds import Category, Choice, Counts, HiddenMean, Kind, Location, Mean, Number, Sum, Vector
from stream_app.privacy.kinds.location import EARTH_RADIUS_METRES


def error(raw: Any, published: Any, kind: Kind | None = None) -> float:
    """Return |difference| of numbers, metres between positions, 0 or 1 for categories.

    Of counts it is the mean over keys, of vectors (where ``kind`` is given) over parts in shares of their ranges.
    Positions are compared on the plane that touches the sphere at the raw one. Values stand as in records.
    """
    if isinstance(kind, Vector):
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


def guess(kind: Kind) -> object:
    """Return the value to assume for withheld steps, from the policy alone.

    The middle of the range or of the bounds, the first category, or no items; of a vector each part.
    """
    match kind:
        case Number():
            return (kind.axis.double(kind.axis.low) + kind.axis.double(kind.axis.high)) / 2
        case Sum() | Mean() | HiddenMean():
            return guess(kind.item)
        case Vector():
            return {name: guess(part) for name, part in zip(kind.names, kind.parts, strict=True)}
        case Location():
            return {"latitude": sum(kind.north) / 2, "longitude": sum(kind.east) / 2}
        case Counts():
            return dict.fromkeys(kind.keys, 0)
        case Category():
            return kind.categories[0]
        case Choice():
            return kind.items[0]


ROUNDED_METRES = 0.01
"""Within it the distance to a position is rounded off, so that the search for the best one cannot stick to one."""
SETTLED = 1e-12  # radians, a few micrometres: a search that moves less has ended
MOST_ROUNDS = 1_000


def best_constant(kind: Kind, raws: Sequence[Any]) -> object:
    """Return the value with the smallest mean error over ``raws``, at least one: nobody knows it beforehand.

    The median, of counts and vectors key by key; the geometric median of positions, whose error is right to a
    thousandth; the commonest category.
    """
    match kind:
        case Number() | Sum() | Mean() | HiddenMean():
            return median(map(float, raws))
        case Location():
            return _geometric_median(raws)
        case Counts():
            return {key: median(raw.get(key, 0) for raw in raws) for key in kind.keys}
        case Vector():
            return {name: median(float(raw[name]) for raw in raws) for name in kind.names}
        case Category():
            return max(kind.categories, key=list(raws).count)
        case Choice():
            return max(kind.items, key=list(raws).count)


def _geometric_median(raws: Sequence[Any]) -> dict[str, float]:
    """Return the position with the smallest mean distance in metres (Weiszfeld 1937, from the mean on)."""
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
