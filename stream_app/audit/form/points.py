"""The values that a policy allows: its grid points, and the estimate for an unfiltered measurement.

An estimate that is off the grid, or that does not follow from its measurement, could carry information that cost no
budget. Points are compared by their JSON text, because in Python 1, 1.0 and true are equal and objects have no order.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, Final, assert_never

from stream_app.audit.form.entry import MAX_SEQUENCE
from stream_app.audit.form.lattice import cells_per_degree, decimal_of, grid_of

_HALF: Final = Fraction(1, 2)
_DEGREES: Final = ("latitude", "longitude")
_DECIMALS: Final = 10**7  # degrees are published with 7 decimals, rounded half up
_FURTHEST: Final = 2.0**51  # measurements are limited to 2^50 cells; a hostile larger number has no cell


@dataclass(frozen=True, slots=True)
class Line:
    """Points ``cell / per_unit`` on one axis; an estimate lies in the cells ``low .. high``."""

    per_unit: Fraction
    low: int
    high: int
    decimals: int | None = None  # points are published in 1/`decimals`; None: rounded once to a double

    def cell(self, published: float) -> int | None:
        """Return the cell of a published number, or None if the number is not on the line."""
        scaled = published * float(self.per_unit)
        if not abs(scaled) <= _FURTHEST:
            return None
        # Doubles may miss the cell at a boundary, but fractions do not.
        for cell in (floor(scaled + 0.5), floor(decimal_of(published) * self.per_unit + _HALF)):
            if self.point(cell) == published:
                return cell
        return None

    def point(self, cell: int) -> float:
        """Return the number that represents a cell in a release."""
        units, unit = self.per_unit.numerator, self.per_unit.denominator
        if self.decimals is None:
            return cell * unit / units
        return (2 * cell * unit * self.decimals + units) // (2 * units) / self.decimals

    def clamped(self, cell: int) -> int:
        """Return the cell nearest to `cell` that an estimate may have."""
        return max(self.low, min(cell, self.high))


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers on a grid."""

    line: Line


@dataclass(frozen=True, slots=True)
class Counts:
    """A whole number for each key, in the order of the keys."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Positions:
    """Positions on a lattice, in degrees."""

    lines: tuple[Line, Line]  # latitude, longitude


@dataclass(frozen=True, slots=True)
class Categories:
    """One of the listed texts or flags."""

    categories: tuple[str | bool, ...]


@dataclass(frozen=True, slots=True)
class Parts:
    """Several numbers in the order of their names, each on its own grid."""

    lines: Mapping[str, Line]


@dataclass(frozen=True, slots=True)
class Means:
    """Means over a public number of items: sums on a grid, divided by that number."""

    line: Line

    def of(self, count: int) -> Line:
        """Return the line of means of `count` items; 0 items have the same line as 1 item."""
        items = max(1, count)
        return Line(self.line.per_unit * items, self.line.low * items, self.line.high * items)


@dataclass(frozen=True, slots=True)
class Quotients:
    """Means over a noisy number of items: the mean offset of the items from the grid point `centre`."""

    line: Line
    centre: int


@dataclass(frozen=True, slots=True)
class UnitShares:
    """Shares of a public number of units."""

    @staticmethod
    def of(count: int) -> Line:
        """Return the line of shares of `count` units."""
        return Line(Fraction(max(1, count)), 0, max(1, count))


@dataclass(frozen=True, slots=True)
class Bars:
    """A whole number for each of `bins` bins, in order."""

    bins: int


@dataclass(frozen=True, slots=True)
class Profile:
    """A sum or a mean for each bin of local time that has a unit."""

    each: Numbers | Means


Space = Numbers | Counts | Positions | Categories | Parts | Means | Quotients | UnitShares | Bars | Profile
Count = int | dict[str, int] | None  # public count of items or units; by bin


@dataclass(frozen=True, slots=True)
class Points:
    """The values of one policy: their space, whether estimates are clamped, and whether they are filtered."""

    space: Space
    clamped: bool
    filtered: bool

    def faults(self, value: object, measurement: object, count: Count) -> list[str]:
        """Return the faults found in the value and the measurement of a perturbed release.

        `count` is the number of items that a mean covers.
        """
        due = self._estimate(measurement, count)
        if due is None:
            return ["`measurement` is not on this policy's value grid"]
        if not self.filtered:
            return [] if repr(value) == repr(due) else ["`value` is not the measurement clamped as the policy requires"]
        least = self._estimate(value, count)
        return (
            []
            if least is not None and repr(least) == repr(value)
            else ["`value` is not a valid estimate under this policy"]
        )

    def _estimate(self, published: object, count: Count) -> object:
        """Return the estimate for an unfiltered value, or None if the policy does not allow the value."""
        space = self.space
        match space:
            case UnitShares() | Bars() | Profile():
                return self._of_units(space, published, count)
            case Numbers(line):
                return self._moved(line, published)
            case Counts(keys):
                if not isinstance(published, dict) or tuple(published) != keys:
                    return None
                counts = self._bars(len(keys), list(published.values()))
                return None if counts is None else dict(zip(keys, counts, strict=True))
            case Positions(lines):
                return self._all_moved(dict(zip(_DEGREES, lines, strict=True)), published)
            case Parts(lines):
                return self._all_moved(lines, published)
            case Means():
                return self._moved(space.of(count), published) if isinstance(count, int) else None
            case Quotients():
                return self._quotient(space, published)
            case Categories(categories):
                return published if isinstance(published, str | bool) and published in categories else None
            case _:
                assert_never(space)

    def _of_units(self, space: UnitShares | Bars | Profile, published: object, count: Count) -> object:
        match space:
            case UnitShares():
                return self._moved(space.of(count), published) if isinstance(count, int) else None
            case Bars(bins):
                return self._bars(bins, published)
            case Profile(each):
                parts = count if isinstance(count, dict) else {}
                lines = {name: each.line if isinstance(each, Numbers) else each.of(parts[name]) for name in parts}
                return self._all_moved(lines, published)

    def _bars(self, bins: int, published: object) -> list[int] | None:
        if not isinstance(published, list) or len(published) != bins:
            return None
        if not all(type(bar) is int and abs(bar) <= MAX_SEQUENCE for bar in published):
            return None
        return [max(0, bar) for bar in published] if self.clamped else published

    def _all_moved(self, lines: Mapping[str, Line], published: object) -> dict[str, float] | None:
        if not isinstance(published, dict) or tuple(published) != tuple(lines):
            return None
        moved = {name: self._moved(line, published[name]) for name, line in lines.items()}
        return {name: part for name, part in moved.items() if part is not None} if None not in moved.values() else None

    def _quotient(self, space: Quotients, published: object) -> float | None:
        if not isinstance(published, dict) or tuple(published) != ("sum", "count"):
            return None
        total, count = published["sum"], published["count"]
        cell = space.line.cell(total) if type(total) is float else None
        if cell is None or type(count) is not int or abs(count) > MAX_SEQUENCE:
            return None
        mean = space.centre + Fraction(cell, max(1, count))
        if self.clamped:
            mean = max(Fraction(space.line.low), min(mean, Fraction(space.line.high)))
        found = mean / space.line.per_unit
        return found.numerator / found.denominator  # rounded once

    def _moved(self, line: Line, published: object) -> float | None:
        cell = line.cell(published) if type(published) is float else None
        return None if cell is None else line.point(line.clamped(cell) if self.clamped else cell)


def points_of_units(value: Mapping[str, Any], *, filtered: bool) -> Points:
    """Return the points of a unit statistic, given the checked `value` of its policy."""
    clamped, space = value.get("clamp", True), _space_of_units(value)
    if isinstance(space, Numbers) or (isinstance(space, Profile) and isinstance(space.each, Numbers)):
        clamped = False  # the range applies to a unit
    return Points(space, clamped, filtered)


def _space_of_units(value: Mapping[str, Any]) -> Space:
    match value["statistic"]:
        case "share":
            return UnitShares()
        case "histogram" if value["kind"] == "category":
            names = (str(each).lower() if isinstance(each, bool) else each for each in value["categories"])
            return Counts(tuple(names))
        case "histogram":
            return Bars(len(value["edges"]) + 1)
        case statistic:
            each = Numbers(_line(value)) if statistic == "sum" else Means(_line(value))
            return each if value.get("by") is None else Profile(each)


def points_of(value: Mapping[str, Any], *, filtered: bool, statistic: str = "", neighbours: str = "") -> Points:
    """Return the points of a policy's `value`, whose domain was checked.

    `statistic` and `neighbours` describe collected data; they are "" if nothing is collected.
    """
    space: Space
    clamped = value.get("clamp", True)
    match value["kind"]:
        case "number":
            line = _line(value)
            space = Numbers(line)
            if statistic == "sum":  # the range applies to an item
                clamped = False
            elif statistic == "mean" and neighbours == "replace":
                space = Means(line)
            elif statistic == "mean":
                space = Quotients(line, (line.low + line.high) // 2)
        case "vector":
            space = Parts({name: _line(value["parts"][name]) for name in sorted(value["parts"])})
        case "choice":
            space = Categories(tuple(value["items"]))
        case "counts":
            space = Counts(tuple(value["keys"]))
        case "location":
            bounds = {name: decimal_of(edge) for name, edge in value["bounds"].items()}
            north, east = cells_per_degree(value)
            space = Positions(
                (
                    Line(north, ceil(bounds["south"] * north), floor(bounds["north"] * north), _DECIMALS),
                    Line(east, ceil(bounds["west"] * east), floor(bounds["east"] * east), _DECIMALS),
                )
            )
        case "category":
            space = Categories(tuple(value["categories"]))
        case other:
            raise AssertionError(f"kind {other} has no points here")
    return Points(space, clamped, filtered)


def _line(value: Mapping[str, Any]) -> Line:
    return Line(1 / decimal_of(value["resolution"]), *grid_of(value))
