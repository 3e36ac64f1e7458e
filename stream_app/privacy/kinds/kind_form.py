"""Builds the kind of a policy's `value` from its form: grids, sensitivities, bounds and conditions."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from math import ceil
from typing import NamedTuple, assert_never

from stream_app.privacy.kinds import (
    Category,
    Choice,
    Counts,
    HiddenMean,
    Kind,
    Location,
    Mean,
    Number,
    OfStep,
    Sum,
    Unfiltered,
    UnitStatistic,
    Vector,
)
from stream_app.privacy.kinds.axis import LARGEST_CELL, Axis
from stream_app.privacy.kinds.location import DEGREES, EARTH_RADIUS_METRES, PROJECTION, ROOT_TWO
from stream_app.privacy.kinds.number import number_axis
from stream_app.privacy.value_forms import (
    CategoryForm,
    ChoiceForm,
    CountsForm,
    LocationForm,
    NumberForm,
    RangeForm,
    ValueForm,
    VectorForm,
)
from stream_app.privacy.values import NANO, Raw, exact

DECIMAL = Context(prec=60)
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
DIGITS = Decimal(10) ** -40


class KindFault(NamedTuple):
    """A member of `value` that does not fit the others."""

    member: str
    message: str


def twice(member: str) -> KindFault:
    """Return the fault of a list that contains an entry twice."""
    return KindFault(member, "an entry is listed twice; list each entry once")


def kind_of(form: ValueForm) -> OfStep | KindFault:
    """Return the kind of a policy's `value`, or its fault."""
    kind: OfStep | KindFault
    match form:
        case NumberForm():
            kind = _number(form)
        case CountsForm():
            kind = _counts(form)
        case LocationForm():
            kind = _location(form)
        case CategoryForm():
            kind = _category(form)
        case VectorForm():
            kind = _vector(form)
        case ChoiceForm():
            return Choice(form.items) if len(set(form.items)) == len(form.items) else twice("items")
        case _:
            assert_never(form)
    if isinstance(kind, KindFault) or form.invalid == "reject":
        return kind
    invalid = dict(form.invalid) if isinstance(form.invalid, Mapping) else form.invalid
    substitute = kind.quantise(Raw(invalid))
    if substitute is None:
        return KindFault(
            "invalid", f'the substitute is not a valid {form.kind} of this policy; use "reject" or a valid value'
        )
    return replace(kind, substitute=substitute)


def of_one(kind: Kind) -> OfStep:
    """Return the kind of the value in which neighbours differ: that of a step or of a unit."""
    return kind.item if isinstance(kind, UnitStatistic) else kind


def takes_substitute(kind: Kind) -> bool:
    """Return whether a substitute can hide an invalid value: only if any two values are neighbours.

    Otherwise the valid value and the substitute might not be neighbours, and releases could distinguish them without
    error.
    """
    kind = of_one(kind)
    match kind:
        case Number():
            return kind.sensitivity >= kind.axis.high - kind.axis.low
        case Counts() | Location() | Sum() | Mean() | HiddenMean() | Choice():
            return False
        case Category() | Vector():
            return True
        case _:
            assert_never(kind)


def takes_filter(kind: Kind) -> bool:
    """Return whether the filter `level` may follow measurements; other kinds are published as measured."""
    return not isinstance(kind, Unfiltered)


def substitute_fault(kind: Kind) -> KindFault | None:
    """Return why a policy with the kind's substitute may not be adopted; older policies may have one."""
    kind = of_one(kind)
    if kind.substitute is None or takes_substitute(kind):
        return None
    message = (
        "a substitute does not hide validity if two values are not always neighbours (counts, location, number with a "
        'sensitivity below its range): releases would distinguish it from valid values; use "reject", which shows '
        "validity"
    )
    return KindFault("invalid", message)


def _number(form: NumberForm) -> Number | KindFault:
    axis = _grid(form)
    if isinstance(axis, KindFault):
        return axis
    cells = axis.high - axis.low
    wanted = cells if form.sensitivity is None else ceil(exact(form.sensitivity) / exact(form.resolution))
    return Number(axis, min(cells, wanted), float(form.lower), float(form.upper), form.clamp)


def _grid(form: RangeForm) -> Axis | KindFault:
    axis = number_axis(exact(form.lower), exact(form.upper), exact(form.resolution))
    cells = axis.high - axis.low
    if cells < 1:
        return KindFault(
            "resolution",
            "the range lower .. upper must contain at least two grid points; widen the range, or use a "
            "finer resolution",
        )
    if max(cells, abs(axis.low), abs(axis.high)) > LARGEST_CELL:
        return KindFault("resolution", "the grid has more than 2^50 points; use a coarser resolution")
    return axis


def _vector(form: VectorForm) -> Vector | KindFault:
    # Sorted by name: members of a JSON object have no order, and rewriting a record may move them.
    names = tuple(sorted(form.parts))
    parts: list[Number] = []
    for name in names:
        part = form.parts[name]
        axis = _grid(part)
        if isinstance(axis, KindFault):
            return KindFault(f"parts.{name}.{axis.member}", axis.message)
        sensitivity = len(names) * (axis.high - axis.low)
        parts.append(Number(axis, sensitivity, float(part.lower), float(part.upper), form.clamp))
    return Vector(names, tuple(parts), form.clamp)


def _counts(form: CountsForm) -> Counts | KindFault:
    if len(set(form.keys)) != len(form.keys):
        return twice("keys")
    return Counts(form.keys, form.sensitivity, form.clamp)


def _category(form: CategoryForm) -> Category | KindFault:
    if len(set(form.categories)) != len(form.categories):
        return twice("categories")
    if "reject" in form.categories and "invalid" in form.model_fields_set and form.invalid == "reject":
        return KindFault("invalid", '"reject" is a category here and would not be substituted; omit `invalid`')
    return Category(form.categories, form.clamp)


def _location(form: LocationForm) -> Location | KindFault:
    bounds = form.bounds
    if bounds.south >= bounds.north:
        return KindFault("bounds", "south must be below north")
    if bounds.west >= bounds.east:
        return KindFault("bounds", "west must be below east; a box across the date line needs two series")
    south, north, west, east = (exact(edge) for edge in (bounds.south, bounds.north, bounds.west, bounds.east))
    if not projects(max(north - south, east - west)):
        message = (
            "the planar projection would stretch distances by more than 0.5 %; use bounds of at most 19 degrees "
            "per side"
        )
        return KindFault("bounds", message)
    resolution, radius = exact(form.resolution), exact(form.radius)
    # cos and pi are rounded once to doubles: libm's results differ between machines, and the lattice must not.
    metres = EARTH_RADIUS_METRES * Fraction(float(PI)) / DEGREES
    shrink = Fraction(float(cosine(max(abs(north), abs(south)))))
    latitude = _axis(south, north, metres / resolution)
    longitude = _axis(west, east, metres * shrink / resolution)
    if latitude.high <= latitude.low or longitude.high <= longitude.low:
        return KindFault(
            "resolution", "the bounds must contain at least two lattice points per side; use a finer resolution"
        )
    return Location(
        longitude=longitude,
        latitude=latitude,
        plane=Axis(1 / resolution, 0, 0),
        east=(float(bounds.west), float(bounds.east)),
        north=(float(bounds.south), float(bounds.north)),
        radius=radius,
        rate_per_nano=resolution / (NANO * (PROJECTION * radius + ROOT_TWO * resolution)),
        clamped=form.clamp,
    )


def _axis(low: Fraction, high: Fraction, cells_per_degree: Fraction) -> Axis:
    return Axis(cells_per_degree, ceil(low * cells_per_degree), high * cells_per_degree // 1)


def projects(span_degrees: Fraction) -> bool:
    """Return whether plane distances in a box of this span are at most 1.005 times those on the sphere.

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
