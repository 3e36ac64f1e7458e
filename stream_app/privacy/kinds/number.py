"""A bounded number under the discrete Laplace mechanism (Ghosh et al., STOC 2009)."""

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, nan
from typing import Any, overload

import numpy as np

from stream_app.privacy.amounts import Doubles, Flag, Ints, where
from stream_app.privacy.kinds.axis import Axis, saturated
from stream_app.privacy.noise.mechanisms import discrete_laplace
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import NANO, Raw, RawCells, ReleasedCells, is_number


@dataclass(frozen=True, slots=True)
class Number:
    """Numbers on a grid of ``resolution`` within ``lower .. upper``; ``sensitivity`` D in cells.

    With D below the whole range only values at most D cells apart are neighbours: a narrower promise.
    """

    axis: Axis
    sensitivity: int
    lower: float
    upper: float
    clamped: bool = True
    substitute: RawCells | None = None

    def quantise(self, raw: Raw) -> RawCells | None:
        """Return the cell of a raw number, clamped to the range; the substitute or None when it is no finite number."""
        number = float(raw) if is_number(raw) else nan
        valid = isfinite(number)
        cell = self.cell(number if valid else self.upper, valid=valid)
        return RawCells((cell,)) if valid or self.substitute is not None else None

    def quantise_each(self, numbers: Doubles) -> Ints:
        """Return `quantise` of many raw values, NaN for what is no number; only a substitute may stand for these."""
        valid = np.isfinite(numbers)
        cells: Ints = self.cell(np.where(valid, numbers, self.upper), valid=valid)
        return cells

    def cell(self, number: Any, *, valid: Flag) -> Any:
        """Return the cell of a raw number, clamped to the range, or the substitute where it is not ``valid``."""
        # PRIVACY: what is no number takes the operations of one: the time does not tell what a substitute hides.
        cell = self.axis.within(number)
        return cell if self.substitute is None else where(valid, cell, self.substitute[0])

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the cell plus discrete Laplace noise of rate ``e / D``; loss at most ``spend_nano``."""
        # PRIVACY: the raw cell leaves with noise of rate e/D per cell; any two cells are at most D apart (or are no
        # neighbours, when a sensitivity was given), so no output is more than exp(e) times likelier under either.
        return ReleasedCells((saturated(cells[0] + discrete_laplace(stream, spend_nano, self.sensitivity * NANO)),))

    @overload
    def scale(self, spend_nano: int) -> float: ...

    @overload
    def scale(self, spend_nano: Ints) -> Doubles: ...

    def scale(self, spend_nano: Any) -> Any:
        """Return the noise scale ``D * resolution / e`` in the value's unit."""
        return self.axis.width(self.sensitivity * NANO, spend_nano)

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether the noise scale exceeds the distance of two measurements."""
        # distance * spend < D * 10^9, in integers that fit into columns; spends are above 0.
        return abs(current[0] - previous[0]) <= (self.sensitivity * NANO - 1) // spend_nano

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return an estimate within the declared range (unless ``clamp`` is false)."""
        return ReleasedCells((self.axis.clamp(cells[0]),)) if self.clamped else cells

    def publish(self, cells: ReleasedCells) -> float:
        """Return the number of a cell."""
        return self.axis.double(cells[0])

    def read(self, published: object) -> ReleasedCells:
        """Return the cell of a number from a release."""
        if not isinstance(published, float | int):
            raise TypeError(f"a number release holds a number, found {type(published).__name__}")
        return ReleasedCells((self.axis.nearest(float(published)),))

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        axis = self.axis
        return ("number", str(axis.cells_per_unit), str(axis.low), str(axis.high), str(self.sensitivity))

    @property
    def width(self) -> int:
        """Return the number of cells of a value."""
        return 1


def number_axis(lower: Fraction, upper: Fraction, resolution: Fraction) -> Axis:
    """Return the axis of the grid points within ``lower .. upper``."""
    return Axis(1 / resolution, -((-lower) // resolution), upper // resolution)
