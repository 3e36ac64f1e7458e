"""One axis of a grid: which integer cell a number belongs to, in a time that tells hardly anything of the number."""

from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Final

import numpy as np
import numpy.typing as npt

from stream_app.privacy.amounts import Ints, Whole, least, most

LARGEST_CELL = 2**50
"""Within it every cell has a double of its own, which reads back as it; measurements beyond it saturate there."""
_DIGITS: Final = 17
"""Most digits of a double's shortest decimal."""
_EXACT: Final = Context(prec=_DIGITS)
"""Moves the point of such a decimal without rounding."""
_CERTAIN_DIGITS: Final = 15
"""Decimals of so many digits are told apart by their doubles: each is the shortest one of its double."""
_POWERS: Final = 23
"""Of ten, that are doubles themselves."""
EXACT_INTEGER: Final = 2**53
"""Integers up to it are doubles."""
_NOTHING: Final = 1e-200
"""Added to a double, it changes none from 1e-183 on, and makes of a subnormal one, in cell 0, a normal one."""


def saturated(cell: Whole) -> Whole:
    """Return ``cell``, or the end of the cells that have doubles of their own: free post-processing of noise."""
    return most(least(cell, LARGEST_CELL), -LARGEST_CELL)


@dataclass(frozen=True, slots=True)
class Axis:
    """Ints ``low .. high``; cell k stands for ``k / cells_per_unit`` in the unit of the numbers given."""

    cells_per_unit: Fraction
    low: int
    high: int
    _ends: tuple[float, float] = field(init=False, repr=False, compare=False)  # what low and high stand for
    _least: float = field(init=False, repr=False, compare=False)  # 10 ** -n; what is smaller belongs to cell 0
    _small: float = field(init=False, repr=False, compare=False)  # one such number, which takes long to write
    _places: int = field(init=False, repr=False, compare=False)  # by which all other decimals become integers
    _twice: int = field(init=False, repr=False, compare=False)  # such an integer's cell: (twice * it + one) // two
    _one: int = field(init=False, repr=False, compare=False)
    _two: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute once what every number needs."""
        double_rate = 2 * self.cells_per_unit
        # 10 ** -small is at most half a cell. A decimal of `_DIGITS` digits from there on ends within `places`.
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

    def nearest(self, number: float) -> int:
        """Return ``floor(number * cells_per_unit + 1/2)`` exactly, for the decimal that a finite double stands for."""
        kept = number if abs(number) >= self._least else self._small
        return (self._twice * int(_EXACT.scaleb(Decimal(repr(kept)), self._places)) + self._one) // self._two

    def within(self, number: float) -> int:
        """Return the cell of ``low .. high`` that is nearest to a raw number, which is finite."""
        # PRIVACY: on a boundary or off it, tiny or far outside, the same operations on integers of one size are done:
        # what is outside is brought to the range first. docs/guarantee.md says what remains of a number in the time.
        low, high = self._ends
        bounded = low if number < low else min(number, high)
        return self.clamp(self.nearest(bounded))

    def within_exactly(self, numerator: int, denominator: int) -> int:
        """Return the cell of ``low .. high`` that is nearest to a raw rational."""
        rate = self.cells_per_unit
        twice = 2 * denominator * rate.denominator
        return self.clamp((2 * numerator * rate.numerator + denominator * rate.denominator) // twice)

    @property
    def boundaries(self) -> "Boundaries | None":
        """Return where its cells begin, as doubles; None where these are not certain to tell decimals apart."""
        half = 1 / (2 * self.cells_per_unit)
        for places in range(_POWERS):
            if 10**places % half.denominator == 0:
                halves = half.numerator * (10**places // half.denominator)
                widest = (2 * max(abs(self.low), abs(self.high)) + 3) * halves
                return Boundaries(self, halves, float(10**places)) if widest < 10**_CERTAIN_DIGITS else None
        return None

    def clamp(self, cell: Whole) -> Whole:
        """Return the nearest cell of ``low .. high``."""
        return most(least(cell, self.high), self.low)

    def double(self, cell: int) -> float:
        """Return the number that ``cell`` stands for, rounded once to a double."""
        return cell * self.cells_per_unit.denominator / self.cells_per_unit.numerator

    def double_each(self, cells: Ints) -> npt.NDArray[np.float64]:
        """Return `double` of many cells."""
        unit, units = self.cells_per_unit.denominator, self.cells_per_unit.numerator
        if units <= EXACT_INTEGER and (np.abs(cells) <= EXACT_INTEGER // unit).all():
            found: npt.NDArray[np.float64] = cells * unit / units  # both are doubles, the quotient is rounded once
            return found
        return np.array([self.double(cell) for cell in cells.tolist()], np.float64)


@dataclass(frozen=True, slots=True)
class Boundaries:
    """Where the cells of an axis begin: cell n at ``(2n - 1) * halves / power``, a decimal of at most 15 digits.

    So a number belongs to cell n or a higher one just if its double is at least the double of that decimal: reading
    decimals is monotone, and the decimal is the shortest one of its double (Steele and White 1990).
    """

    axis: Axis
    halves: int  # of 1 / power: half a cell
    power: float

    def within(self, numbers: npt.NDArray[np.float64]) -> Ints:
        """Return `Axis.within` of many finite numbers, exactly."""
        # PRIVACY: each number is brought to the range, and then takes the same operations, wherever it lies; nothing
        # branches. A batch takes as long with numbers on boundaries as with others, and with subnormal ones, which
        # processors multiply in a time of their own: `_NOTHING` leaves none.
        axis = self.axis
        low, high = axis._ends  # noqa: SLF001 (its own)
        bounded = np.clip(numbers, low, high) + _NOTHING
        # Off by less than a cell: cells have less than 15 digits, products of doubles are right in the first 15.
        near = np.floor(bounded * float(axis.cells_per_unit) + 0.5).astype(np.int64)
        cells = near + (bounded >= self._begin(near + 1)) - (bounded < self._begin(near))
        return axis.clamp(cells)

    def _begin(self, cells: Ints) -> npt.NDArray[np.float64]:
        """Return the double of the decimal at which each cell begins: both parts are exact, the quotient is nearest."""
        found: npt.NDArray[np.float64] = (2 * cells - 1) * self.halves / self.power
        return found
