"""A correlation: what is known of the step between two timestamps, how strong it is, and how it is estimated.

Estimation: each ``by_`` function returns the state of every value, counted from 0 without gaps. No bounds, cells or
names are kept: temporal loss needs only which values fall together. A matrix learned from private data tells of them:
who publishes it publishes statistics without any noise.
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
    """Two matrices that do not belong together, or parameters that give none."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """Transition matrices of one kind of series; None is no knowledge in that direction."""

    backward: TransitionMatrix | None
    forward: TransitionMatrix | None

    def __post_init__(self) -> None:
        if self.backward is not None and self.forward is not None and self.backward.states != self.forward.states:
            found = f"backward has {self.backward.states} states, but forward has {self.forward.states}"
            raise CorrelationError(f"{found}; both must have the same states")

    @classmethod
    def of_strength(cls, states: int, strength: float) -> "Correlation":
        """Return the parametric family: a value stays with probability ``strength``, else it is any, all alike.

        It is Cao et al.'s Laplacian smoothing (2017, equation 25) of the strongest correlation, the identity, by
        ``s = (1 - strength) / (states strength)``: 0 is independence, 1 full knowledge. Raises `CorrelationError`, and
        `MatrixError` for too many states.
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
    """Return the correlation of a document's ``backward`` and ``forward``, null for none; raises `CorrelationError`."""
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
    """How strong the correlation of one direction is."""

    distance: float
    """Largest total variation distance between two states' distributions: 0 independent, 1 some states never meet."""
    most_carried: float | None
    """The limit of the loss function: what one step hands on of any loss; None where there is none."""
    unbounded_from: float | None
    """The constant epsilon from which on the loss grows for ever, 0: any above it; None where it never does."""
    carried_of_one: float  # what one step hands on of a loss of 1

    @classmethod
    def of(cls, envelope: Envelope) -> "Strength":
        """Return the strength of the matrix of an envelope."""
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


Counts = NDArray[np.int64]  # shape (states, states): how often the column's state came after the row's


def counted(series: NDArray[np.int64], timestamps_ms: NDArray[np.int64], states: States, step_ms: int | None) -> Counts:
    """Return how often each state came after each; arguments hold one entry for each value, in any order.

    With ``step_ms`` timestamps are steps, and only pairs of neighbouring steps count; without, any two timestamps of a
    series that follow each other. Of several values at one timestamp the first counts, as in the worker. Raises
    `CorrelationError` for more states than a matrix may have, or when no timestamp follows another.
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
    """Return the matrices of counts: shares of each row, smoothed by ``(p + s) / sum(p + s)``.

    The smoothing is Laplacian, as in Cao et al. 2017, equation 25: 0 leaves the shares as they are. A state that was
    never left (forward) or never reached (backward) gets the shares of all states: nothing is known of it. Raises
    `CorrelationError` for a smoothing that is not finite or below 0.
    """
    if not 0 <= smoothing < float("inf"):
        raise CorrelationError(f"smoothing: found {smoothing}; use a finite number of at least 0")
    return Correlation(backward=_smoothed(counts.T, smoothing), forward=_smoothed(counts, smoothing))


def _smoothed(counts: Counts, smoothing: float) -> TransitionMatrix:
    totals = counts.sum(axis=1, keepdims=True)
    overall = counts.sum(axis=0) / counts.sum()
    shares = np.where(totals > 0, counts / np.maximum(totals, 1), overall)
    return TransitionMatrix.of((shares + smoothing) / (1 + len(counts) * smoothing))
