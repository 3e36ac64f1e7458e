"""The grid of a number and the lattice of a location: their points, and whether they have any.

All computations use exact fractions; numbers are taken as their printed decimals.
"""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, pi
from typing import Any, Final

Members = Mapping[str, Any]  # an object parsed from JSON

MOST_CELLS: Final = 2**50  # beyond it, neighbouring cells share doubles
WIDEST_DEGREES: Final = Fraction("19.8132090259803689287643620467470208362649750976443")
"""The span s of bounds at which the plane stretches distances by 1.005: 1.005 * sin(s/2) = s/2."""
METRES_PER_DEGREE: Final = Fraction("6371008.8") * Fraction(pi) / 180
"""Metres on the sphere of mean radius R1 (IUGG), with pi rounded to a double, as the lattice requires."""
_FINE: Final = 1 << 256  # denominator of the fractions in a cosine's sum
_RADIAN: Final = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628621") / 180


@lru_cache(maxsize=1024)  # most policies use the same few numbers
def decimal_of(found: float) -> Fraction:
    """Return the decimal that a JSON number was written as; whole numbers are first read as doubles."""
    return Fraction(Decimal(repr(float(found))))


def grid_of(value: Members) -> tuple[int, int]:
    """Return the first and last grid points in a number's range, in multiples of the resolution."""
    resolution = decimal_of(value["resolution"])
    return ceil(decimal_of(value["lower"]) / resolution), floor(decimal_of(value["upper"]) / resolution)


def cosine_of(degrees: Fraction) -> float:
    """Return the cosine of an angle, rounded once: the cosine's series is summed in whole numbers."""
    angle = floor(degrees * _RADIAN * _FINE)
    total = term = _FINE
    order = 0
    while term:
        term = term * angle // _FINE * angle // (_FINE * (order + 1) * (order + 2))
        order += 2
        total += term if order % 4 == 0 else -term
    return total / _FINE


def grid_fault(value: Members) -> str:
    """Return a sentence that says why a number's range does not form a grid, or "" if it does."""
    low, high = grid_of(value)
    if high <= low:
        return "the range from value.lower to value.upper contains fewer than two grid points"
    if max(high - low, -low, high) > MOST_CELLS:
        return "the range from value.lower to value.upper contains more than 2^50 grid points"
    return ""


def box_fault(value: Members) -> str:
    """Return a sentence that says why a location's bounds do not form a lattice, or "" if they do."""
    south, west, north, east = (decimal_of(value["bounds"][name]) for name in ("south", "west", "north", "east"))
    if south >= north or west >= east:
        return "value.bounds are empty: south must be below north, and west below east"
    if max(north - south, east - west) > WIDEST_DEGREES:
        return "value.bounds are so wide that the planar projection violates the guarantee within the radius"
    per_degree, along = cells_per_degree(value)
    if not (_holds_two(south * per_degree, north * per_degree) and _holds_two(west * along, east * along)):
        return "value.bounds contain fewer than two lattice points per side"
    return ""


def cells_per_degree(value: Members) -> tuple[Fraction, Fraction]:
    """Return the lattice steps per degree of latitude and per degree of longitude."""
    widest = max(abs(decimal_of(value["bounds"][name])) for name in ("south", "north"))
    per_degree = METRES_PER_DEGREE / decimal_of(value["resolution"])
    return per_degree, per_degree * Fraction(cosine_of(widest))


def _holds_two(first: Fraction, last: Fraction) -> bool:
    return ceil(first) < floor(last)
