"""Geometry of the sphere, exact where the guarantee depends on it."""

from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from math import cos, degrees, fsum, hypot, radians
from typing import Final

EARTH_RADIUS_METRES: Final = Fraction(63_710_088, 10)
"""Mean radius R1 of the Earth (IUGG); distances in the guarantee are on this sphere."""
DEGREES: Final = 180
PROJECTION: Final = Fraction(1005, 1000)
"""Upper bound on how much the plane stretches distances within the bounds; the policy checks this bound."""
DECIMAL: Final = Context(prec=60)
PI: Final = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
DIGITS: Final = Decimal(10) ** -40
ROUNDED_METRES: Final = 0.01
"""Scale in metres below which distances are smoothed, so that a median search cannot get stuck at a position."""
SETTLED: Final = 1e-12  # radians, a few micrometres: a search that moves less has ended
MOST_ROUNDS: Final = 1_000


def projects(span_degrees: Fraction) -> bool:
    """Return whether plane distances in a box of this span are at most 1.005 times the distances on the sphere.

    By the haversine formula, ``sin^2(d/2R) >= sinc^2(span/2) * (plane/2R)^2``, because both cosines of latitude are at
    least the plane's; so ``plane <= d / sinc(span/2)``.
    """
    half = DECIMAL.multiply(DECIMAL.divide(PI, Decimal(DEGREES)), _decimal(span_degrees / 2))
    return DECIMAL.multiply(_series(half, first=1), _decimal(PROJECTION)) >= half


def cosine(degrees: Fraction) -> Decimal:
    """Return the cosine of an angle to 40 digits."""
    return _series(DECIMAL.multiply(DECIMAL.divide(PI, Decimal(DEGREES)), _decimal(degrees)), first=0)


def _series(angle: Decimal, first: int) -> Decimal:
    """Return the cosine (``first`` 0) or sine (1) of an angle in radians by its Taylor series."""
    square = DECIMAL.multiply(angle, angle)
    term = total = angle if first else Decimal(1)
    n = first
    while abs(term) > DIGITS * DIGITS:
        term = DECIMAL.divide(DECIMAL.multiply(term, square), Decimal(-(n + 1) * (n + 2)))
        total = DECIMAL.add(total, term)
        n += 2
    return total


def _decimal(number: Fraction) -> Decimal:
    return DECIMAL.divide(Decimal(number.numerator), Decimal(number.denominator))


def geometric_median(positions: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the position with the smallest mean distance in metres (Weiszfeld 1937, from the mean)."""
    places = [(radians(each["latitude"]), radians(each["longitude"])) for each in positions]
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
