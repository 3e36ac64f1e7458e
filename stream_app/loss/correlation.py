"""Correlations (knowledge about the step between two timestamps), their strength and their estimation.

For estimation, each ``by_`` function returns the state of every value, counted from 0 without gaps. No bounds, cells or
names are kept, because temporal loss depends only on which values coincide. A matrix learned from private data reveals
something about that data: anyone who publishes the matrix publishes statistics without any noise.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import log, log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_app.loss.envelope import Envelope
from stream_app.loss.matrix import MOST_STATES, MatrixError, TransitionMatrix, checked_size, matrix_of
from stream_app.loss.temporal import Adversary


class CorrelationError(ValueError):
    """Two matrices that do not belong together, or parameters for which there is no matrix."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """Transition matrices of one kind of series; None means no knowledge in that direction."""

    backward: TransitionMatrix | None
    forward: TransitionMatrix | None

    def __post_init__(self) -> None:
        if self.backward is not None and self.forward is not None and self.backward.states != self.forward.states:
            found = f"backward has {self.backward.states} states, but forward has {self.forward.states}"
            raise CorrelationError(f"{found}; both must have the same states")

    @classmethod
    def of_strength(cls, states: int, strength: float) -> "Correlation":
        """Return the correlation in which a value stays with probability ``strength`` and is otherwise uniform.

        This is Cao et al.'s Laplacian smoothing (2017, equation 25) of the strongest correlation, the identity, with
        ``s = (1 - strength) / (states strength)``. A strength of 0 means independence, and 1 means full knowledge.
        Raises `CorrelationError`, and `MatrixError` for too many states.
        """
        if states < 2:
            raise CorrelationError(f"states: found {states}; a correlation needs at least 2")
        checked_size(states)
        if not 0 <= strength <= 1:
            raise CorrelationError(
                f"strength: found {strength}; use 0 (independent) to 1 (determined by the previous value)"
            )
        matrix = TransitionMatrix.of(strength * np.eye(states) + (1 - strength) / states)
        return cls(matrix, matrix)  # symmetric: the same in both directions

    def adversary(self) -> Adversary:
        """Return the adversary who knows this correlation."""
        return Adversary(Envelope.of(self.backward), Envelope.of(self.forward))


def correlation_of(document: object) -> Correlation:
    """Parse a correlation from ``backward`` and ``forward``, null meaning none; raises `CorrelationError`."""
    if not isinstance(document, Mapping) or not document.keys() >= {"backward", "forward"}:
        raise CorrelationError('must be an object with "backward" and "forward", each a matrix or null')
    found: dict[str, TransitionMatrix | None] = {}
    for direction in ("backward", "forward"):
        try:
            found[direction] = None if document[direction] is None else matrix_of(document[direction])
        except MatrixError as error:
            raise CorrelationError(f"{direction}: {error}") from error
    return Correlation(found["backward"], found["forward"])


class Strength(NamedTuple):
    """The strength of the correlation in one direction."""

    distance: float
    """Largest total variation distance between the distributions of two states.

    0 means independence; 1 means that two distributions are disjoint.
    """
    most_carried: float | None
    """The limit of the loss function, the most that one step carries over from any loss, or None if unlimited."""
    unbounded_from: float | None
    """The constant epsilon from which the loss grows forever (0: any epsilon above 0), or None if it never does."""
    carried_of_one: float  # carried on by one step of a loss of 1

    @classmethod
    def of(cls, envelope: Envelope) -> "Strength":
        """Return the strength of an envelope's matrix."""
        if not envelope.vertices:
            return cls(0.0, 0.0, None, 0.0)
        base, gain = envelope.vertices[-1]
        distance, of_one = envelope.vertices[0].gain, envelope.carried(1.0)
        if base == 0:
            return cls(distance, None, max(0.0, -log(gain)), of_one)
        return cls(distance, log1p(gain / base), None, of_one)


EARTH_RADIUS_METRES = 6_371_008.8  # mean radius R1 of the Earth (IUGG)

Floats = NDArray[np.float64]
States = NDArray[np.intp]


def by_quantiles(values: Floats, states: int) -> States:
    """Return states that each have about the same number of values.

    Equal values share a state, so there may be fewer states.
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    twice_middle = 2 * counts.cumsum() - counts  # of the ranks of equal values: ties keep neighbours together
    return _numbered((twice_middle * states // (2 * len(values)))[place])


def by_grid(values: Floats, states: int) -> States:
    """Return states of equal width from the smallest to the largest value; empty states are dropped."""
    halves = values / 2  # so that no width exceeds the largest double
    inner = np.linspace(halves.min(), halves.max(), states + 1)[1:-1]
    return _numbered(np.searchsorted(inner, halves, side="right"))


def by_cells(latitudes: Floats, longitudes: Floats, metres: float) -> States:
    """Return the square cells (sides of ``metres``) of positions given in degrees, as in kind `location`."""
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
    """Return the index of each value (or column) of ``found`` among the distinct ones."""
    states: States = np.unique(found, axis=found.ndim - 1, return_inverse=True)[1].reshape(-1).astype(np.intp)
    return states


Counts = NDArray[np.int64]  # shape (states, states): how often the column's state followed the row's


def counted(series: NDArray[np.int64], timestamps_ms: NDArray[np.int64], states: States, step_ms: int | None) -> Counts:
    """Return how often each state followed each state; the arguments have one entry per value, in any order.

    With ``step_ms``, timestamps become steps, and only pairs of consecutive steps count. Without it, any two
    consecutive timestamps of a series count. If one timestamp has several values, the first counts, as in the worker.
    Raises `CorrelationError` for more states than a matrix may have, or if no timestamp follows another.
    """
    most = int(states.max(initial=-1)) + 1
    if most > MOST_STATES:
        remedy = f"use coarser states, at most {MOST_STATES}"
        raise CorrelationError(f"states: found {most}; {remedy}")
    steps = timestamps_ms if step_ms is None else timestamps_ms // step_ms
    order = np.lexsort((np.arange(len(steps)), steps, series))
    series, steps, states = series[order], steps[order], states[order]
    same, apart = series[1:] == series[:-1], np.diff(steps)
    first = np.concatenate([[True], ~(same & (apart == 0))])[: len(steps)]
    series, steps, states = series[first], steps[first], states[first]
    follows = series[1:] == series[:-1]
    if step_ms is not None:
        follows &= np.diff(steps) == 1
    if not follows.any():
        raise CorrelationError(
            "transitions: found none; use values at neighbouring timestamps (with --step: in neighbouring steps)"
        )
    pairs = states[:-1][follows] * most + states[1:][follows]
    return np.bincount(pairs, minlength=most * most).reshape(most, most).astype(np.int64)


def estimated(counts: Counts, smoothing: float) -> Correlation:
    """Estimate the matrices from counts: the shares of each row, smoothed by ``(p + s) / sum(p + s)``.

    The smoothing is Laplacian, as in Cao et al. 2017, equation 25; 0 leaves the shares unchanged. A state that was
    never left (forward) or never reached (backward) gets the shares of all states, because nothing is known about it.
    Raises `CorrelationError` if the smoothing is not finite or is below 0.
    """
    if not 0 <= smoothing < float("inf"):
        raise CorrelationError(f"smoothing: found {smoothing}; use a finite number of at least 0")
    return Correlation(backward=_smoothed(counts.T, smoothing), forward=_smoothed(counts, smoothing))


def _smoothed(counts: Counts, smoothing: float) -> TransitionMatrix:
    totals = counts.sum(axis=1, keepdims=True)
    overall = counts.sum(axis=0) / counts.sum()
    shares = np.where(totals > 0, counts / np.maximum(totals, 1), overall)
    return TransitionMatrix.of((shares + smoothing) / (1 + len(counts) * smoothing))
