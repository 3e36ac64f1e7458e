"""Amounts: one number or a column of numbers, so that one rule handles one step or many.

Rules use the operators ``+ - * / //``, comparisons, ``&`` and ``|`` of flags, and the functions below; they never check
whether an amount is a number or a column. Both arms of `where` are computed. Model: Apache DataFusion's
``ColumnarValue``.
"""

from bisect import bisect_right
from collections.abc import Sequence
from math import floor, isfinite, log, sqrt
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

_Column: Final = np.ndarray
EXACT_INTEGER: Final = 2**53
"""Integers up to this value are exact as doubles."""
Ints = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Flag = bool | Flags

Whole = TypeVar("Whole", int, Ints)
"""One integer, or one for each of many series; sums and products of columns must stay below 2^63."""
Real = TypeVar("Real", float, Doubles)
"""One double, or one for each of many series."""
_T = TypeVar("_T")
Amount = TypeVar("Amount", int, float, Ints, Doubles)


def where(condition: Flag, then: Amount, otherwise: Amount | int) -> Amount:
    """Return ``then`` where the condition holds, and ``otherwise`` elsewhere."""
    if type(condition) is _Column:  # here and below, half the cost of isinstance
        return np.where(condition, then, otherwise)  # type: ignore[return-value]  # a column follows its condition
    return then if condition else otherwise  # type: ignore[return-value]


def finite(number: Real) -> Flag:
    """Return whether a number is neither infinite nor NaN."""
    if isinstance(number, _Column):
        return np.isfinite(number)
    return isfinite(number)


def some(condition: Flag) -> bool:
    """Return whether a condition holds anywhere."""
    return bool(condition.any()) if type(condition) is _Column else condition  # type: ignore[return-value]  # no column


def every(condition: Flag) -> bool:
    """Return whether a condition holds everywhere."""
    return bool(condition.all()) if type(condition) is _Column else condition  # type: ignore[return-value]  # no column


def chosen(condition: Flag, then: _T, otherwise: _T) -> _T:
    """Return the same as `where`, for any type; columns in tuples of equal length are chosen element by element."""
    if type(condition) is not _Column:
        return then if condition else otherwise
    if isinstance(then, tuple) and isinstance(otherwise, tuple):
        return tuple([chosen(condition, *pair) for pair in zip(then, otherwise, strict=True)])  # type: ignore[return-value]  # of the same type
    return np.where(condition, then, otherwise)  # type: ignore[call-overload, no-any-return]  # of columns


def least(one: Amount, other: Amount | float) -> Amount:
    """Return the smaller of two amounts of the same type."""
    if type(one) is _Column:
        return np.minimum(one, other)
    return other if other < one else one  # type: ignore[return-value]  # noqa: FURB136 - `min` takes twice as long


def most(one: Amount, other: Amount | float) -> Amount:
    """Return the larger of two amounts of the same type."""
    if type(one) is _Column:
        return np.maximum(one, other)
    return other if other > one else one  # type: ignore[return-value]  # noqa: FURB136 - `max` takes twice as long


def between(number: Amount, low: float, high: float) -> Amount:
    """Return the amount in ``low .. high`` nearest to ``number``; all are of the same type."""
    if type(number) is _Column:
        return np.minimum(np.maximum(number, low), high)
    raised = low if number < low else number  # noqa: FURB136 - as above
    return high if raised > high else raised  # type: ignore[return-value]  # noqa: FURB136


def cheapest(costs: Sequence[Real], amounts: Sequence[Real]) -> Real:
    """Return the amount with the lowest cost, or the first one if several are equal."""
    if isinstance(costs[0], _Column):
        found: Doubles = np.choose(np.argmin(costs, axis=0), amounts)
        return found
    return amounts[costs.index(min(costs))]


def root(square: Real) -> Real:
    """Return the square root, correctly rounded."""
    if isinstance(square, _Column):
        return np.sqrt(square)
    return sqrt(square)


def logarithm(positive: Real) -> Real:
    """Return the natural logarithm, with an error of at most 4 units in the last place."""
    if isinstance(positive, _Column):
        return np.log(positive)
    return log(positive)


def whole_part(number: Real) -> Real:
    """Return the largest integer not above a finite number, as a double."""
    if isinstance(number, _Column):
        return np.floor(number)
    return float(floor(number))


def floored(number: float | Doubles) -> int | Ints:
    """Return the largest integer not above a number; the number is less than 2^62."""
    if isinstance(number, _Column):
        return np.floor(number).astype(np.int64)
    return floor(number)


def ratio(one: int | Ints, by: int, other: int | Ints, times: int) -> float | Doubles:
    """Return ``one * by / (other * times)``, rounded once to a double; ``other * times`` is not 0."""
    if type(one) is int and type(other) is int:
        return one * by / (other * times)
    if _greatest(one) * by <= EXACT_INTEGER and _greatest(other) * times <= EXACT_INTEGER:  # both fit a double
        return one * by / (other * times)
    pairs = np.broadcast(one, other)
    return np.array([int(above) * by / (int(below) * times) for above, below in pairs], np.float64)


def _greatest(number: int | Ints) -> int:
    """Return the largest absolute value."""
    return int(np.abs(number).max(initial=0))


def count_up_to(ascending: Sequence[int], number: Whole) -> Whole:
    """Return how many elements of ``ascending`` are at most ``number``."""
    if isinstance(number, _Column):
        return np.searchsorted(np.array(ascending, np.int64), number, side="right")
    return bisect_right(ascending, number)


def taken(table: Sequence[int], place: Whole) -> Whole:
    """Return the entry of a table at index ``place``."""
    if isinstance(place, _Column):
        found: Ints = np.array(table, np.int64)[place]
        return found
    return table[place]
