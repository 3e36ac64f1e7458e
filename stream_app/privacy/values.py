"""Raw and released values as different types, and exact parsing of JSON numbers.

A strict type check fails if a raw value is used as a released one.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import floor, nan
from typing import NewType, TypeGuard, TypeVar, dataclass_transform

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True)
def frozen(made: type[_T]) -> type[_T]:
    """Make a dataclass that only the type checker keeps immutable, for values created at every event.

    Creating one with ``dataclass(frozen=True)`` takes three times as long, and a named tuple makes a decision a tenth
    slower.
    """
    return dataclass(slots=True, unsafe_hash=True)(made)


Raw = NewType("Raw", object)
"""A value as the event carries it, unchecked."""

RawCells = NewType("RawCells", tuple[int, ...])
"""A raw value on the grid of its kind.

It is (k,) for a number, (x, y) for a location, (index,) for a category, and one cell per key or part for counts and
vectors.
"""

ReleasedCells = NewType("ReleasedCells", tuple[int, ...])
"""A noisy value or an estimate on the same grid; noise separates it from every raw value."""


LevelState = tuple[float, ...]
"""The state of the filter `level`: one flat tuple of doubles, empty before the first noisy value."""


def is_number(found: object) -> TypeGuard[float]:
    """Return whether ``found`` is a JSON number; unlike in Python, a boolean is not a number."""
    return type(found) is float or type(found) is int


def number_of(raw: object) -> float:
    """Return a raw value as a number, or NaN if it is not a JSON number."""
    # PRIVACY: a non-number takes as long as a number, so the time does not reveal what a substitute hides.
    return raw if is_number(raw) else nan


NANO = 10**9
"""Nano-epsilon in one epsilon; also the unit of sampling rates."""


def exact(number: float) -> Fraction:
    """Return the decimal that a double represents: the shortest text that reads back as that double.

    ``number`` is finite. Plain double arithmetic on the binary value would misplace decimals that lie on a boundary.
    """
    return Fraction(repr(float(number)))


def nano(number: float) -> int:
    """Return ``number`` in units of 1e-9, rounded down (``floor(Decimal(repr(x)) * 10^9)``)."""
    return floor(exact(number) * NANO)
