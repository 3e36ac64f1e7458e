"""One axis of a grid: finds a number's integer cell; the time taken reveals almost nothing about the number."""

from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any, Final, NamedTuple, overload

from stream_app.privacy.amounts import Doubles, Ints, Whole, between, floored, ratio
from stream_app.privacy.noise.moments import Noise

LARGEST_CELL = 2**50
"""Every cell up to this one has its own double, which reads back exactly; measurements saturate here."""
_DIGITS: Final = 17
"""The maximum number of digits in the shortest decimal of a double."""
_EXACT: Final = Context(prec=_DIGITS)
"""Shifts the decimal point of a shortest decimal without rounding."""
_CERTAIN_DIGITS: Final = 15
"""Decimals of at most this many digits have distinct doubles and are the shortest decimals of those doubles."""
_POWERS: Final = 23
"""The number of powers of ten that are exact doubles."""
_NOTHING: Final = 1e-200
"""A number that is added to a double so that a subnormal one, which is in cell 0, becomes normal.

It changes no double of 1e-183 or more.
"""


def saturated(cell: Whole) -> Whole:
    """Return ``cell``, limited to cells that have their own doubles: free post-processing of noise."""
    return between(cell, -LARGEST_CELL, LARGEST_CELL)


class Boundaries(NamedTuple):
    """The lower ends of an axis's cells: cell n begins at ``(2n - 1) * halves / power``.

    Each lower end is a decimal of at most 15 digits. A number therefore belongs to cell n or a higher one if and only
    if its double is at least the double of that decimal: parsing decimals is monotone, and this is the shortest decimal
    that round-trips to its double (Steele and White 1990).
    """

    rate: float  # cells per unit
    halves: int  # half a cell in units of 1 / power
    power: float


@dataclass(frozen=True, slots=True)
class Axis:
    """Integer cells ``low .. high``; cell k represents ``k / cells_per_unit`` in the unit of the input."""

    cells_per_unit: Fraction
    low: int
    high: int
    boundaries: Boundaries | None = field(init=False, repr=False, compare=False)
    """The lower ends of the cells, as doubles, or None if doubles might not distinguish the decimals."""
    _units: int = field(init=False, repr=False, compare=False)  # this many cells are ``_unit`` units
    _unit: int = field(init=False, repr=False, compare=False)
    _ends: tuple[float, float] = field(init=False, repr=False, compare=False)  # the values of low and high
    _least: float = field(init=False, repr=False, compare=False)  # 10 ** -n; smaller numbers belong to cell 0
    _small: float = field(init=False, repr=False, compare=False)  # such a number with a long decimal form
    _places: int = field(init=False, repr=False, compare=False)  # decimal shift that makes larger ones integer
    _twice: int = field(init=False, repr=False, compare=False)  # an integer's cell is (twice * it + one) // two
    _one: int = field(init=False, repr=False, compare=False)
    _two: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Precompute the constants that every conversion needs."""
        object.__setattr__(self, "_units", self.cells_per_unit.numerator)
        object.__setattr__(self, "_unit", self.cells_per_unit.denominator)
        double_rate = 2 * self.cells_per_unit
        # 10 ** -small is at most half a cell. A number of that size or larger with `_DIGITS` digits ends within
        # `places`.
        small = len(str(ceil(double_rate))) if double_rate > 1 else 1 - len(str(floor(1 / double_rate)))
        places = small + _DIGITS - 1
        doubled = double_rate / Fraction(10) ** places
        for name, value in (
            ("_ends", (self.double(self.low), self.double(self.high))),
            ("_least", float(f"1e{-small}")),
            ("_small", float(f"0.71364829051736481e{-small}")),
            ("_places", places),
            ("_twice", doubled.numerator),
            ("_one", doubled.denominator),
            ("_two", 2 * doubled.denominator),
        ):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "boundaries", self._boundaries())

    def nearest(self, number: float) -> int:
        """Return ``floor(number * cells_per_unit + 1/2)``, exact for the shortest decimal of a finite double."""
        kept = number if abs(number) >= self._least else self._small
        return (self._twice * int(_EXACT.scaleb(Decimal(repr(kept)), self._places)) + self._one) // self._two

    @overload
    def within(self, number: float) -> int: ...

    @overload
    def within(self, number: Doubles) -> Ints: ...

    def within(self, number: Any) -> Any:
        """Return the cell of ``low .. high`` that is nearest to a finite raw number."""
        if self.boundaries is not None:
            # PRIVACY: each number is clamped to the range and then goes through the same operations wherever it lies. A
            # number on a boundary takes as long as others. So does a subnormal number: processors multiply those in a
            # different time, but `_NOTHING` leaves none.
            rate, halves, power = self.boundaries
            bounded = between(number, *self._ends) + _NOTHING
            # The error is less than a cell: cells have fewer than 15 digits, and products of doubles have 15 correct
            # digits.
            near = floored(bounded * rate + 0.5)
            # The doubles of the decimals at which the cell begins and ends: both parts are exact, and the quotient is
            # rounded to nearest.
            begin, end = (2 * near - 1) * halves / power, (2 * near + 1) * halves / power
            return between(near + (bounded >= end) - (bounded < begin), self.low, self.high)
        # PRIVACY: on a boundary or not, tiny or far outside the range, a number goes through the same operations on
        # integers of one size, because a number outside is clamped to the range first. docs/guarantee.md says what the
        # time still reveals about the number.
        return self.clamp(self.nearest(between(number, *self._ends)))

    @overload
    def width(self, cells: int, over: int) -> float: ...

    @overload
    def width(self, cells: int, over: Ints) -> Doubles: ...

    def width(self, cells: int, over: Any) -> Any:
        """Return the width of ``cells`` cells divided by an integer, rounded once to a double."""
        return ratio(cells, self._unit, over, self._units)

    def within_exactly(self, numerator: int, denominator: int) -> int:
        """Return the cell of ``low .. high`` that is nearest to a raw rational number."""
        rate = self.cells_per_unit
        twice = 2 * denominator * rate.denominator
        return self.clamp((2 * numerator * rate.numerator + denominator * rate.denominator) // twice)

    def _boundaries(self) -> Boundaries | None:
        half = 1 / (2 * self.cells_per_unit)
        for places in range(_POWERS):
            if 10**places % half.denominator == 0:
                halves = half.numerator * (10**places // half.denominator)
                widest = (2 * max(abs(self.low), abs(self.high)) + 3) * halves
                certain = widest < 10**_CERTAIN_DIGITS
                return Boundaries(float(self.cells_per_unit), halves, float(10**places)) if certain else None
        return None

    def clamp(self, cell: Whole) -> Whole:
        """Return the nearest cell of ``low .. high``."""
        return between(cell, self.low, self.high)

    @overload
    def double(self, cell: int) -> float: ...

    @overload
    def double(self, cell: Ints) -> Doubles: ...

    def double(self, cell: Any) -> Any:
        """Return the number that ``cell`` represents, rounded once to a double."""
        return ratio(cell, self._unit, 1, self._units)

    def noise(self, cells: Noise) -> Noise:
        """Convert noise in cells to noise in the unit of the input."""
        return cells.times(float(1 / self.cells_per_unit))
