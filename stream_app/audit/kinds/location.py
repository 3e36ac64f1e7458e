"""Positions on a lattice within a box of degrees; all computations use exact fractions."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, pi
from typing import ClassVar, Final, Self, final

from stream_app.audit.form.domains import DOUBLE, OBJECT, fault_in, needed, number
from stream_app.audit.form.grid import Members, decimal_of
from stream_app.audit.kinds.kind import COMMON, ValueKind
from stream_app.audit.kinds.space import Count, Line, Measured, Space, all_moved, part_of

_METRES: Final = 20_100_000
_BOUNDS: Final = {
    "south": needed(number(-85, 85)),
    "west": needed(number(-180, 180)),
    "north": needed(number(-85, 85)),
    "east": needed(number(-180, 180)),
}
"""The members of `bounds`, in degrees."""
_SIDES: Final = (("south", 1), ("west", 1), ("north", -1), ("east", -1))
_DECIMALS: Final = 10**7  # degrees are published with 7 decimals, rounded half up
WIDEST_DEGREES: Final = Fraction("19.8132090259803689287643620467470208362649750976443")
"""The span s of bounds at which the plane stretches distances by 1.005: 1.005 * sin(s/2) = s/2."""
METRES_PER_DEGREE: Final = Fraction("6371008.8") * Fraction(pi) / 180
"""Metres on the sphere of mean radius R1 (IUGG), with pi rounded to a double, as the lattice requires."""
_FINE: Final = 1 << 256  # denominator of the fractions in a cosine's sum
_RADIAN: Final = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628621") / 180


@dataclass(frozen=True, slots=True)
class Positions(Space):
    """Positions on a lattice, in degrees."""

    latitude: Line
    longitude: Line
    resolution: Fraction  # metres

    def estimate(self, published: object, _count: Count, *, clamps: bool) -> dict[str, float] | None:
        """Return the position, within the box if clamped."""
        return all_moved({"latitude": self.latitude, "longitude": self.longitude}, published, clamps=clamps)

    def still(self, former: Measured, latter: Measured, scale: Fraction) -> bool:
        """Return whether the scale exceeds the Euclidean distance of two positions on the lattice."""
        north, east = (
            line.cells_between(part_of(former[0], name), part_of(latter[0], name))
            for name, line in (("latitude", self.latitude), ("longitude", self.longitude))
        )
        return scale**2 > (north * north + east * east) * self.resolution**2


@final
class Location(ValueKind):
    """The kind location."""

    __slots__ = ()

    members: ClassVar = {
        "radius": needed(number(0.001, _METRES)),
        "resolution": needed(number(0.1, _METRES)),
        "bounds": OBJECT,
        **COMMON,
    }
    has_filter: ClassVar = True
    are_all_neighbours: ClassVar = False

    def fault(self) -> str:
        """Return a fault in the bounds: of a member, or because they form no lattice."""
        return fault_in("value.bounds", self.value["bounds"], _BOUNDS) or _box_fault(self.value)

    def holds(self, found: object) -> bool:
        """Return whether this is an object with both coordinates."""
        position = {"latitude", "longitude"}
        return isinstance(found, dict) and found.keys() == position and all(map(DOUBLE.fits, found.values()))

    def narrower(self, former: Self) -> list[str]:
        """Return a phrase if the radius or the box shrinks."""
        old, new = former.value["bounds"], self.value["bounds"]
        shrunk = any(sign * (new[side] - old[side]) > 0 for side, sign in _SIDES)
        return ["the radius or the bounds shrink"] if shrunk or self.scale < former.scale else []

    @property
    def scale(self) -> Fraction:
        """The radius, in metres."""
        return decimal_of(self.value["radius"])

    @property
    def space(self) -> Space:
        """The points of the lattice."""
        bounds = {name: decimal_of(edge) for name, edge in self.value["bounds"].items()}
        north, east = _cells_per_degree(self.value)
        return Positions(
            Line(north, ceil(bounds["south"] * north), floor(bounds["north"] * north), _DECIMALS),
            Line(east, ceil(bounds["west"] * east), floor(bounds["east"] * east), _DECIMALS),
            decimal_of(self.value["resolution"]),
        )

    def effect(self, scale: float, _spend_nano: int) -> str:
        """Return the mean distance of planar Laplace noise."""
        return f"The noisy position has an average error of {2 * scale:.4g} metres."


def _box_fault(value: Members) -> str:
    south, west, north, east = (decimal_of(value["bounds"][name]) for name in ("south", "west", "north", "east"))
    if south >= north or west >= east:
        return "value.bounds are empty: south must be below north, and west below east"
    if max(north - south, east - west) > WIDEST_DEGREES:
        return "value.bounds are so wide that the planar projection violates the guarantee within the radius"
    per_degree, along = _cells_per_degree(value)
    if not (_holds_two(south * per_degree, north * per_degree) and _holds_two(west * along, east * along)):
        return "value.bounds contain fewer than two lattice points per side"
    return ""


def _cells_per_degree(value: Members) -> tuple[Fraction, Fraction]:
    """Return the lattice steps per degree of latitude and per degree of longitude."""
    widest = max(abs(decimal_of(value["bounds"][name])) for name in ("south", "north"))
    per_degree = METRES_PER_DEGREE / decimal_of(value["resolution"])
    return per_degree, per_degree * Fraction(_cosine_of(widest))


def _cosine_of(degrees: Fraction) -> float:
    """Return the cosine of an angle, rounded once: the cosine's series is summed in whole numbers."""
    angle = floor(degrees * _RADIAN * _FINE)
    total = term = _FINE
    order = 0
    while term:
        term = term * angle // _FINE * angle // (_FINE * (order + 1) * (order + 2))
        order += 2
        total += term if order % 4 == 0 else -term
    return total / _FINE


def _holds_two(first: Fraction, last: Fraction) -> bool:
    return ceil(first) < floor(last)
