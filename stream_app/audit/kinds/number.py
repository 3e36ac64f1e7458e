"""Numbers on a grid: a single reading, or the sum or mean of contributors' items."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from sys import float_info
from typing import ClassVar, Self, final

from stream_app.audit.form.domains import COORDINATE, DOUBLE, OF_UNITS, Domain, needed, number, or_null, positive
from stream_app.audit.form.entry import MAX_SEQUENCE
from stream_app.audit.form.grid import Members, decimal_of, grid_fault, grid_of
from stream_app.audit.kinds.kind import COMMON, ValueKind
from stream_app.audit.kinds.space import Count, Line, Measured, RateError, Space, line_of

RANGE: Mapping[str, Domain] = {
    "lower": needed(COORDINATE),
    "upper": needed(COORDINATE),
    "resolution": needed(number(1e-100, 1e100)),
}
"""The members of a number's grid, or of one part of a vector."""


def cells_of(value: Members) -> int:
    """Return the distance between neighbouring numbers, in grid points."""
    if value.get("sensitivity") is None:
        return width_of(value)
    return min(width_of(value), ceil(decimal_of(value["sensitivity"]) / decimal_of(value["resolution"])))


def width_of(value: Members) -> int:
    """Return the width of a number's range, in grid points."""
    low, high = grid_of(value)
    return high - low


@dataclass(frozen=True, slots=True)
class Numbers(Space):
    """Numbers on a grid."""

    line: Line

    def estimate(self, published: object, _count: Count, *, clamps: bool) -> float | None:
        """Return the number, clamped if required."""
        return self.line.moved(published, clamps=clamps)

    def still(self, former: Measured, latter: Measured, scale: Fraction) -> bool:
        """Return whether the scale exceeds the distance of two numbers."""
        return scale > self.line.cells_between(former[0], latter[0]) / self.line.per_unit


@dataclass(frozen=True, slots=True)
class Means(Space):
    """Means over a public number of items: sums on a grid, divided by that number."""

    line: Line

    def of(self, count: int) -> Line:
        """Return the line of means of `count` items; 0 items have the same line as 1 item."""
        items = max(1, count)
        return Line(self.line.per_unit * items, self.line.low * items, self.line.high * items)

    def estimate(self, published: object, count: Count, *, clamps: bool) -> float | None:
        """Return the mean, clamped if required."""
        return self.of(count).moved(published, clamps=clamps) if isinstance(count, int) else None

    def still(self, former: Measured, latter: Measured, scale: Fraction) -> bool:
        """Return whether the scale exceeds the distance of two means, whose items may differ in number."""
        (before, once), (now, items) = former, latter
        return scale > abs(self.of(items).place(now) - self.of(once).place(before))


@dataclass(frozen=True, slots=True)
class Quotients(Space):
    """Means over a noisy number of items: the mean offset of the items from the grid point `centre`."""

    line: Line
    centre: int

    def estimate(self, published: object, _count: Count, *, clamps: bool) -> float | None:
        """Return the quotient of the noisy sum and the noisy number, clamped if required."""
        if not isinstance(published, dict) or tuple(published) != ("sum", "count"):
            return None
        total, count = published["sum"], published["count"]
        cell = self.line.cell(total) if type(total) is float else None
        if cell is None or type(count) is not int or abs(count) > MAX_SEQUENCE:
            return None
        mean = self.centre + Fraction(cell, max(1, count))
        if clamps:
            mean = max(Fraction(self.line.low), min(mean, Fraction(self.line.high)))
        found = mean / self.line.per_unit
        return found.numerator / found.denominator  # rounded once

    def still(self, _former: Measured, _latter: Measured, _scale: Fraction) -> bool:
        """Raise `RateError`."""
        raise RateError("a mean with two measurements has no publishing rate")


@final
class Number(ValueKind):
    """The kind number."""

    __slots__ = ()

    members: ClassVar = {**RANGE, "sensitivity": or_null(positive(float_info.max)), **COMMON, **OF_UNITS}
    has_filter: ClassVar = True

    def fault(self) -> str:
        """Return why the range does not form a grid."""
        return grid_fault(self.value)

    def holds(self, found: object) -> bool:
        """Return whether this is a finite number."""
        return DOUBLE.fits(found)

    @property
    def are_all_neighbours(self) -> bool:
        """Whether the sensitivity is at least the width of the range."""
        return cells_of(self.value) >= width_of(self.value)

    def narrower(self, former: Self) -> list[str]:
        """Return a phrase if some numbers are no longer neighbours."""
        if self.are_all_neighbours:
            return []
        old, new = former.value, self.value
        same = all(decimal_of(old[name]) == decimal_of(new[name]) for name in RANGE)
        return [] if same and cells_of(new) >= cells_of(old) else ["fewer numbers are neighbours"]

    @property
    def scale(self) -> Fraction:
        """The largest change between neighbours, in the unit of the values."""
        return self._reach * decimal_of(self.value["resolution"])

    @property
    def _reach(self) -> int:
        """How far a number or a summand may move between neighbours, in grid points."""
        if not self.collect:
            return cells_of(self.value)
        low, high = grid_of(self.value)
        centre = (low + high) // 2
        if self.collect.get("intrusion_nano"):  # moving an item past a look changes the rest of two parts
            return 2 * max(high - centre, centre - low)
        if self.collect["neighbours"] == "replace":
            return high - low
        return max(abs(low), abs(high)) if self.collect["statistic"] == "sum" else max(high - centre, centre - low)

    @property
    def space(self) -> Space:
        """Numbers, or the means of collected items."""
        line = line_of(self.value)
        if self.collect.get("statistic") != "mean":
            return Numbers(line)
        return Means(line) if self.collect["neighbours"] == "replace" else Quotients(line, (line.low + line.high) // 2)

    @property
    def is_clamped(self) -> bool:
        """Whether estimates are clamped; not those of a sum, because the range applies to an item."""
        return bool(self.value.get("clamp", True)) and self.collect.get("statistic") != "sum"

    def effect(self, scale: float, _spend_nano: int) -> str:
        """Return the average error, or, if it depends on what was collected, the scale."""
        counted = self.collect.get("statistic") == "mean" and self.collect["neighbours"] == "replace"
        if counted or self.collect.get("intrusion_nano"):
            return f"The scale of the noise is {scale:.4g}, in the unit of the values."
        return f"The noisy value has an average error of {scale:.4g}, in the unit of the values."
