"""One axis of a grid: which integer cell a number belongs to."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import floor

from stream_app.privacy.rational import exact

HALF = Fraction(1, 2)
LARGEST_CELL = 2**50
"""Within it every cell has a double of its own, which reads back as it; measurements beyond it saturate there."""
TOLERANCE = 2.0**-48
"""Relative error of reading a decimal as a double, of the factor and of the product, 8 times over."""


def saturated(cell: int) -> int:
    """Return ``cell``, or the end of the cells that have doubles of their own: free post-processing of noise."""
    return cell if -LARGEST_CELL <= cell <= LARGEST_CELL else max(-LARGEST_CELL, min(cell, LARGEST_CELL))


@dataclass(frozen=True, slots=True)
class Axis:
    """Cells ``low .. high``; cell k stands for ``k / cells_per_unit`` in the unit of the numbers given."""

    cells_per_unit: Fraction
    low: int
    high: int
    _factor: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Round the factor once."""
        object.__setattr__(self, "_factor", float(self.cells_per_unit))

    def nearest(self, number: float) -> int:
        """Return ``floor(number * cells_per_unit + 1/2)`` exactly, for the decimal that a finite double stands for."""
        scaled = number * self._factor + 0.5
        margin = (abs(scaled) + 1.0) * TOLERANCE
        if margin < 0.25:  # beyond it, or at a boundary, doubles cannot tell the cell
            cell = floor(scaled)
            if margin < scaled - cell < 1.0 - margin:
                return cell
        return floor(exact(number) * self.cells_per_unit + HALF)

    def clamp(self, cell: int) -> int:
        """Return the nearest cell of ``low .. high``."""
        return self.low if cell < self.low else min(cell, self.high)

    def double(self, cell: int) -> float:
        """Return what ``cell`` stands for, rounded once."""
        return cell * self.cells_per_unit.denominator / self.cells_per_unit.numerator
