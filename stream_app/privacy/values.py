"""Values: raw and released ones as different types, and the numbers of JSON read exactly.

A strict type check fails where a raw value is used for a released one.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import NewType, TypeGuard, TypeVar, dataclass_transform

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True)
def frozen(made: type[_T]) -> type[_T]:
    """Make a dataclass whose fields the type checker alone keeps from being set: for values made at every event.

    ``dataclass(frozen=True)`` takes three times as long to make one, and a named tuple a tenth more of a decision.
    """
    return dataclass(slots=True, unsafe_hash=True)(made)


Raw = NewType("Raw", object)
"""A value as the event carries it, unchecked."""

RawCells = NewType("RawCells", tuple[int, ...])
"""A raw value on the grid of its kind: number (k,), location (x, y), counts and vector one a key or part,
category (index,)."""

ReleasedCells = NewType("ReleasedCells", tuple[int, ...])
"""A measurement or an estimate on the same grid: noise stands between it and every raw value."""


def is_number(found: object) -> TypeGuard[float]:
    """Return whether ``found`` is a JSON number: booleans are none, though Python counts them as integers."""
    return type(found) is float or type(found) is int


NANO = 10**9
"""Nano-epsilon in one epsilon; also the unit of sampling rates."""


def exact(number: float) -> Fraction:
    """Return the decimal a double stands for: the shortest text that reads back as it.

    ``number`` is finite. Plain double arithmetic on the binary value would misplace decimals that lie on a boundary.
    """
    return Fraction(repr(float(number)))


def nano(number: float) -> int:
    """Return ``number`` in units of 1e-9, rounded down (``floor(Decimal(repr(x)) * 10^9)``)."""
    return floor(exact(number) * NANO)
