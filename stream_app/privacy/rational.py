"""Exact reading of the doubles that JSON carries, and exact writing of doubles."""

from fractions import Fraction
from math import floor

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
