"""How far a release is from the raw value: what a reader of the releases would be off by."""

from collections.abc import Mapping
from math import cos, fsum, hypot, radians
from typing import Any

from stream_app.privacy.kinds import Category, Counts, Kind, Location, Number
from stream_app.privacy.kinds.location import EARTH_RADIUS_METRES


def error(raw: Any, published: Any) -> float:
    """Return |difference| of numbers, metres between positions, 0 or 1 for categories, the mean over keys of counts.

    Positions are compared on the plane that touches the sphere at the raw one. Values stand as in records.
    """
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
    """Return what one takes who has no release, from the policy alone: it stands for withheld steps.

    The middle of the range or of the bounds, the first category, or no items.
    """
    match kind:
        case Number():
            return (kind.axis.double(kind.axis.low) + kind.axis.double(kind.axis.high)) / 2
        case Location():
            return {"latitude": sum(kind.north) / 2, "longitude": sum(kind.east) / 2}
        case Counts():
            return dict.fromkeys(kind.keys, 0)
        case Category():
            return kind.categories[0]
