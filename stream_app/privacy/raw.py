"""Raw and released values as different types, so that a strict type check fails when one is used for the other."""

from typing import NewType, TypeGuard

Raw = NewType("Raw", object)
"""A value as the event carries it, unchecked."""

RawCells = NewType("RawCells", tuple[int, ...])
"""A raw value on the grid of its kind: number (k,), location (x, y), counts one a key, category (index,)."""

ReleasedCells = NewType("ReleasedCells", tuple[int, ...])
"""A measurement or an estimate on the same grid: noise stands between it and every raw value."""


def is_number(found: object) -> TypeGuard[float]:
    """Return whether ``found`` is a JSON number: booleans are none, though Python counts them as integers."""
    return type(found) is float or type(found) is int
