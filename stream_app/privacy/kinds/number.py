"""Bounded numbers, one or several at a time, under the discrete Laplace mechanism.

Source: Ghosh et al., STOC 2009. Neighbours may differ in all parts of a vector. Each of the d parts is published with
loss e/d, so the whole vector with loss e (sequential composition: Dwork and Roth 2014, theorem 3.16).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isfinite, nan
from typing import Any, ClassVar

import numpy as np

from stream_app.privacy.amounts import Doubles, Flag, Ints, where
from stream_app.privacy.kinds.axis import Axis, saturated
from stream_app.privacy.noise.mechanisms import discrete_laplace
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


@dataclass(frozen=True, slots=True)
class Vector:
    """Numbers by name, in the order of the names; cells, noise and published values follow that order.

    Each of d parts is a number whose sensitivity is d times its range, so it gets the noise of e/d if the vector costs
    e.
    """

    names: tuple[str, ...]
    parts: tuple[Number, ...]
    clamped: bool = True
    substitute: RawCells | None = None

    def quantise(self, raw: Raw) -> RawCells | None:
        """Return the cells of all parts, each clamped to its range; the substitute or None if invalid."""
        table = isinstance(raw, dict) and len(raw) == len(self.names)
        found = raw if isinstance(raw, dict) and table else {}
        # PRIVACY: all parts are read, whatever the first ones contained, and a value that is not a number takes as long
        # as a number.
        read = [part.quantise(Raw(found.get(name))) for name, part in zip(self.names, self.parts, strict=True)]
        fit = sum([cell is not None for cell in read])
        cells = RawCells(tuple([0 if cell is None else cell[0] for cell in read]))
        return cells if fit == len(read) else self.substitute

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return every part plus discrete Laplace noise of rate ``e / (d * D)``; loss at most ``spend_nano``."""
        # PRIVACY: neighbours differ by at most D cells in each of d parts. Each part is published with loss at most
        # e/d, with its own noise from the shared stream, so all parts together lose at most e.
        noisy = [part.perturb(stream, RawCells((cell,)), spend_nano) for part, cell in self._each(cells)]
        return ReleasedCells(tuple(cell for (cell,) in noisy))

    def scale(self, spend_nano: int) -> dict[str, float]:
        """Return the noise scale of each part, ``d * D * resolution / e`` in its unit."""
        return {name: part.scale(spend_nano) for name, part in zip(self.names, self.parts, strict=True)}

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether ``d * d / e`` exceeds the sum of the parts' distances, each divided by its range."""
        changes = zip(self.parts, previous, current, strict=True)
        change = sum((Fraction(abs(new - old), part.sensitivity) for part, old, new in changes), Fraction(0))
        return change * spend_nano < len(self.parts) * NANO  # both divided by d: a sensitivity is d ranges

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return an estimate with each part within its range (unless ``clamp`` is false)."""
        return ReleasedCells(tuple(part.clamp(ReleasedCells((cell,)))[0] for part, cell in self._each(cells)))

    def publish(self, cells: ReleasedCells) -> dict[str, float]:
        """Return the numbers by name."""
        return {name: part.axis.double(cell) for name, (part, cell) in zip(self.names, self._each(cells), strict=True)}

    def read(self, published: object) -> ReleasedCells:
        """Return the cells of a vector from a release."""
        if not isinstance(published, Mapping):
            raise TypeError(f"a vector release must contain an object, but found {type(published).__name__}")
        parts = zip(self.names, self.parts, strict=True)
        return ReleasedCells(tuple(part.read(published[name])[0] for name, part in parts))

    def _each(self, cells: tuple[int, ...]) -> list[tuple[Number, int]]:
        return list(zip(self.parts, cells, strict=True))

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        parts = zip(self.names, self.parts, strict=True)
        return ("vector", str(len(self.parts)), *(text for name, part in parts for text in (name, *part.identity)))

    @property
    def width(self) -> int:
        """Return the number of cells of a value."""
        return len(self.parts)


@lru_cache(maxsize=1024)
def number_axis(lower: Fraction, upper: Fraction, resolution: Fraction) -> Axis:
    """Return the axis of the grid points within ``lower .. upper``, shared by all policies with this grid."""
    return Axis(1 / resolution, -((-lower) // resolution), upper // resolution)
