"""The error of a release: its distance from the raw value."""

from collections.abc import Mapping
from math import cos, fsum, hypot, radians
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
