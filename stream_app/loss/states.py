"""From values to the states of a transition matrix: each returns the state of every value, counted from 0 without gaps.

No bounds, cells or names are kept: temporal loss needs only which values fall together.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

EARTH_RADIUS_METRES = 6_371_008.8
"""Mean radius R1 of the Earth (IUGG)."""

Floats = NDArray[np.float64]
States = NDArray[np.intp]


def by_quantiles(values: Floats, states: int) -> States:
    """Return states that hold about as many values each; equal values share one, so there may be fewer states."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    twice_middle = 2 * counts.cumsum() - counts  # of the ranks of equal values, so that ties tear no neighbours apart
    return _numbered((twice_middle * states // (2 * len(values)))[place])


def by_grid(values: Floats, states: int) -> States:
    """Return states of equal width from the least to the largest value; those without a value are none."""
    halves = values / 2  # so that no width is beyond the largest double
    inner = np.linspace(halves.min(), halves.max(), states + 1)[1:-1]
    return _numbered(np.searchsorted(inner, halves, side="right"))


def by_cells(latitudes: Floats, longitudes: Floats, metres: float) -> States:
    """Return the square cells of a side that positions in degrees lie in, on the plane of kind `location`."""
    shrink = np.cos(np.radians(np.abs(latitudes).max()))
    per_degree = np.radians(EARTH_RADIUS_METRES) / metres
    north = np.floor(latitudes * per_degree)
    east = np.floor(longitudes * (per_degree * shrink))
    return _numbered(np.stack([north, east]))


def by_values(values: Sequence[Hashable]) -> States:
    """Return a state for each distinct value."""
    places: dict[Hashable, int] = {}
    return np.array([places.setdefault(value, len(places)) for value in values], dtype=np.intp)


def _numbered(found: NDArray[np.generic]) -> States:
    """Return the place of each (column of) ``found`` among the distinct ones."""
    states: States = np.unique(found, axis=found.ndim - 1, return_inverse=True)[1].reshape(-1).astype(np.intp)
    return states
