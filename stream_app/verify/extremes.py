"""The two values of each kind that neighbours may have and that lie as far apart as the promise covers."""

from typing import Any, NamedTuple, assert_never

from stream_app.privacy.kinds import Category, Counts, Kind, Location, Number
from stream_app.privacy.kinds.kind_form import PI, cosine
from stream_app.privacy.kinds.location import DEGREES, EARTH_RADIUS_METRES
from stream_app.privacy.values import Raw, RawCells, exact

INWARD = 1 - 1e-9
"""Keeps a displacement within the radius for all roundings of doubles."""


class Extremes(NamedTuple):
    """Two raw values, as events carry them, and the cells that they are read as."""

    near: Any
    far: Any
    cells: tuple[RawCells, RawCells]

    @property
    def watched(self) -> tuple[int, ...]:
        """Return the cells in which the two differ: the noise of all others tells nothing."""
        near, far = self.cells
        return tuple(nth for nth, (one, other) in enumerate(zip(near, far, strict=True)) if one != other)


def extremes(kind: Kind) -> Extremes:
    """Return the values; of a number whose sensitivity is its range they lie outside of it, to test that it clamps."""
    near, far = _values(kind)
    cells = kind.quantise(Raw(near)), kind.quantise(Raw(far))
    assert cells[0] is not None, "a value of the kind"
    assert cells[1] is not None, "a value of the kind"
    return Extremes(near, far, (cells[0], cells[1]))


def _values(kind: Kind) -> tuple[Any, Any]:
    match kind:
        case Number():
            axis = kind.axis
            if kind.sensitivity < axis.high - axis.low:
                return axis.double(axis.low), axis.double(axis.low + kind.sensitivity)
            beyond = kind.upper - kind.lower
            return kind.lower - beyond, kind.upper + beyond
        case Counts():
            return {kind.keys[0]: 0}, {kind.keys[0]: kind.sensitivity}
        case Location():
            return _positions(kind)
        case Category():
            return kind.categories[0], kind.categories[1]
        case _:
            assert_never(kind)


def _positions(kind: Location) -> tuple[Any, Any]:
    """Return the south-west corner of the bounds, and a point within the radius of it, due north or east."""
    (west, east), (south, north) = kind.east, kind.north
    arc = float(kind.radius / EARTH_RADIUS_METRES) * DEGREES / float(PI) * INWARD  # degrees of a great circle
    shrink = float(cosine(exact(south)))
    up, right = min(arc, north - south), min(arc / shrink, east - west)
    corner = {"latitude": south, "longitude": west}
    if up >= right * shrink:
        return corner, {"latitude": south + up, "longitude": west}
    return corner, {"latitude": south, "longitude": west + right}
