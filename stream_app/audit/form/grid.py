"""The grid of a number: its points, and whether it has any.

All computations use exact fractions; each number is taken to be exactly the decimal that is printed.
"""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from typing import Any, Final

Members = Mapping[str, Any]  # an object parsed from JSON

MOST_CELLS: Final = 2**50  # beyond it, neighbouring cells share doubles


@lru_cache(maxsize=1024)  # most policies use the same few numbers
def decimal_of(found: float) -> Fraction:
    """Return the decimal that a JSON number was written as; whole numbers are first read as doubles."""
    return Fraction(Decimal(repr(float(found))))


def grid_of(value: Members) -> tuple[int, int]:
    """Return the first and last grid points in a number's range, in multiples of the resolution."""
    resolution = decimal_of(value["resolution"])
    return ceil(decimal_of(value["lower"]) / resolution), floor(decimal_of(value["upper"]) / resolution)


def grid_fault(value: Members) -> str:
    """Return a sentence that says why a number's range does not form a grid, or "" if it does."""
    low, high = grid_of(value)
    if high <= low:
        return "the range from value.lower to value.upper contains fewer than two grid points"
    if max(high - low, -low, high) > MOST_CELLS:
        return "the range from value.lower to value.upper contains more than 2^50 grid points"
    return ""
