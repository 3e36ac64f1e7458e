"""The values that a policy allows: points, estimates, and distances that are compared with the noise.

An estimate that is off the grid, or that does not follow from its measurement, could carry information on which no
budget was spent. Points are compared by their JSON text, because in Python 1, 1.0 and true are equal and objects have
no order.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any, Final

from stream_app.audit.form.entry import MAX_SEQUENCE
from stream_app.audit.form.grid import Members, decimal_of, grid_of

Count = int | dict[str, int] | None
"""The public number of items or units, or of units by bin; None if there is none."""
Measured = tuple[object, int]
"""A noisy value and the number of its items."""

_HALF: Final = Fraction(1, 2)
_FURTHEST: Final = 2.0**51  # measurements are limited to 2^50 cells; a hostile larger number has no cell


class RateError(ValueError):
    """Raised for a noisy value that is outside the policy's grid or determines no rate."""


class Space(ABC):
    """The values that releases of a policy may contain."""

    __slots__ = ()

    @abstractmethod
    def estimate(self, published: object, count: Count, *, clamps: bool) -> object:
        """Return the estimate for an unfiltered value, or None if the policy does not allow the value."""

    @abstractmethod
    def still(self, former: Measured, latter: Measured, scale: Fraction, /) -> bool:
        """Return whether the noise scale exceeds the distance between two noisy values; raise `RateError`.

        `scale` is the scale of the later noise, for one item or unit, divided by the number of items.
        """


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

    def moved(self, published: object, *, clamps: bool) -> float | None:
        """Return the estimate for a number, or None if it is not on the line."""
        cell = self.cell(published) if type(published) is float else None
        if cell is None:
            return None
        return self.point(max(self.low, min(cell, self.high)) if clamps else cell)

    def cells_between(self, before: object, now: object) -> int:
        """Return the distance between two published numbers in cells; raise `RateError` if one is not on the line."""
        return abs(self._cell(now) - self._cell(before))

    def place(self, published: object) -> Fraction:
        """Return the exact place of a published number; raise `RateError` if it is not on the line."""
        return self._cell(published) / self.per_unit

    def _cell(self, published: object) -> int:
        cell = self.cell(published) if type(published) is float else None
        if cell is None:
            raise RateError("a measurement is not on this policy's value grid")
        return cell


def line_of(number: Members) -> Line:
    """Return the line of a number, or of a part of a vector, that was checked."""
    return Line(1 / decimal_of(number["resolution"]), *grid_of(number))


def all_moved(lines: Mapping[str, Line], published: object, *, clamps: bool) -> dict[str, float] | None:
    """Return the estimates for several numbers, or None if one is missing, unknown or not on its line."""
    if not isinstance(published, dict) or tuple(published) != tuple(lines):
        return None
    moved = {name: line.moved(published[name], clamps=clamps) for name, line in lines.items()}
    return {name: part for name, part in moved.items() if part is not None} if None not in moved.values() else None


def counts_moved(number: int, published: object, *, clamps: bool) -> list[int] | None:
    """Return the estimates for a list of `number` noisy counts, or None if it is no such list."""
    if not isinstance(published, list) or len(published) != number:
        return None
    if not all(type(count) is int and abs(count) <= MAX_SEQUENCE for count in published):
        return None
    return [max(0, count) for count in published] if clamps else published


def part_of(published: object, name: str) -> Any:
    """Return a part of a noisy value; raise `RateError` if it has no such part."""
    if not isinstance(published, dict) or name not in published:
        raise RateError("a measurement is not on this policy's value grid")
    return published[name]


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
        due = self.space.estimate(measurement, count, clamps=self.clamped)
        if due is None:
            return ["`measurement` is not on this policy's value grid"]
        if not self.filtered:
            return [] if repr(value) == repr(due) else ["`value` is not the measurement clamped as the policy requires"]
        least = self.space.estimate(value, count, clamps=self.clamped)
        return (
            []
            if least is not None and repr(least) == repr(value)
            else ["`value` is not a valid estimate under this policy"]
        )
