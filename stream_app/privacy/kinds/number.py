"""Bounded numbers under the discrete Laplace mechanism (Ghosh et al., STOC 2009)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isfinite, nan
from statistics import median
from typing import Any, ClassVar

import numpy as np

from stream_app.privacy.amounts import Doubles, Flag, Ints, where
from stream_app.privacy.kinds.axis import Axis, saturated
from stream_app.privacy.noise.law import mean_noise
from stream_app.privacy.noise.mechanisms import discrete_laplace
from stream_app.privacy.noise.moments import Noise, noise_of
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import NANO, Raw, RawCells, ReleasedCells, is_number


@dataclass(frozen=True, slots=True)
class Number:
    """Numbers on a grid of ``resolution`` within ``lower .. upper``; ``sensitivity`` D in cells.

    If D is less than the whole range, only values at most D cells apart are neighbours: a narrower guarantee.
    """

    axis: Axis
    sensitivity: int
    lower: float
    upper: float
    clamped: bool = True
    substitute: RawCells | None = None
    width: ClassVar[int] = 1
    error_unit: ClassVar[str] = "in the value's unit"

    def quantise(self, raw: Raw) -> RawCells | None:
        """Return the cell of a finite raw number, clamped to the range; otherwise the substitute or None."""
        number = float(raw) if is_number(raw) else nan
        valid = isfinite(number)
        cell = self.cell(number if valid else self.upper, valid=valid)
        return RawCells((cell,)) if valid or self.substitute is not None else None

    def quantise_each(self, numbers: Doubles) -> Ints:
        """Return `quantise` of many raw values, with NaN for non-numbers, which only a substitute may replace."""
        valid = np.isfinite(numbers)
        cells: Ints = self.cell(np.where(valid, numbers, self.upper), valid=valid)
        return cells

    def cell(self, number: Any, *, valid: Flag) -> Any:
        """Return the cell of a raw number, clamped to the range, or the substitute if it is not ``valid``."""
        # PRIVACY: a value that is not a number goes through the operations of one, so the time does not reveal what a
        # substitute hides.
        cell = self.axis.within(number)
        return cell if self.substitute is None else where(valid, cell, self.substitute[0])

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the cell plus discrete Laplace noise of rate ``e / D``; loss at most ``spend_nano``."""
        # PRIVACY: the raw cell leaves only with noise of rate e/D per cell. Any two cells are at most D apart, or they
        # are not neighbours, if a sensitivity was given. So no output is more than exp(e) times likelier under one than
        # under the other.
        return ReleasedCells((saturated(cells[0] + discrete_laplace(stream, spend_nano, self.sensitivity * NANO)),))

    def scale(self, spend_nano: int) -> float:
        """Return the noise scale ``D * resolution / e`` in the value's unit."""
        return self.axis.width(self.sensitivity * NANO, spend_nano)

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether the noise scale exceeds the distance between two measurements."""
        # Tests distance * spend < D * 10^9, in integers that fit into columns; spends are above 0.
        return abs(current[0] - previous[0]) <= (self.sensitivity * NANO - 1) // spend_nano

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return an estimate within the declared range (unless ``clamp`` is false)."""
        return ReleasedCells((self.axis.clamp(cells[0]),)) if self.clamped else cells

    def publish(self, cells: ReleasedCells) -> float:
        """Return the number that a cell represents."""
        return self.axis.double(cells[0])

    def read(self, published: object) -> ReleasedCells:
        """Return the cell of a number from a release."""
        if not isinstance(published, float | int):
            raise TypeError(f"a number release must contain a number, but found {type(published).__name__}")
        return ReleasedCells((self.axis.nearest(float(published)),))

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        axis = self.axis
        return ("number", str(axis.cells_per_unit), str(axis.low), str(axis.high), str(self.sensitivity))

    @property
    def largest_change(self) -> float:
        """Return the largest distance between neighbours, in the value's unit."""
        return self.axis.double(self.sensitivity)

    @property
    def guess(self) -> float:
        """Return the value to assume for suppressed steps, from the policy alone: the middle of the range."""
        return (self.axis.double(self.axis.low) + self.axis.double(self.axis.high)) / 2

    def best_constant(self, raws: Sequence[Any]) -> float:
        """Return the number with the smallest mean error over ``raws``, known only in hindsight: their median."""
        return median(map(float, raws))

    def error(self, raw: Any, published: Any) -> float:
        """Return the absolute difference between a raw value and a published one."""
        return abs(float(raw) - float(published))

    def expected_error(self, spend_nano: int, *_: int | None) -> float:
        """Return the mean absolute error of a noisy value, in the value's unit."""
        return mean_noise(self.sensitivity, spend_nano) / float(self.axis.cells_per_unit)

    def noises(self, spend_nano: int, *_: int | None) -> dict[str, Noise]:
        """Return the law of the noise; its part is ""."""
        return {"": self.axis.noise(noise_of(self.sensitivity, spend_nano))}


@lru_cache(maxsize=1024)
def number_axis(lower: Fraction, upper: Fraction, resolution: Fraction) -> Axis:
    """Return the axis of the grid points within ``lower .. upper``, shared by all policies with this grid."""
    return Axis(1 / resolution, -((-lower) // resolution), upper // resolution)
