"""Transition matrices from data: counts of pairs of states at neighbouring timestamps, made into probabilities.

A matrix learned from private data tells of them: who publishes it publishes statistics without any noise.
"""

import numpy as np
from numpy.typing import NDArray

from stream_app.loss.correlation import Correlation, CorrelationError
from stream_app.loss.matrix import MOST_STATES, TransitionMatrix
from stream_app.loss.states import States

Integers = NDArray[np.int64]
Counts = NDArray[np.int64]
"""Shape (states, states): how often the column's state came after the row's."""


def counted(series: Integers, timestamps_ms: Integers, states: States, step_ms: int | None) -> Counts:
    """Return how often each state came after each; arguments hold one entry for each value, in any order.

    With ``step_ms`` timestamps are steps, and only pairs of neighbouring steps count; without, any two timestamps of a
    series that follow each other. Of several values at one timestamp the first counts, as in the worker.

    Raises:
        CorrelationError: for more states than a matrix may have, or when no timestamp follows another.
    """
    most = int(states.max(initial=-1)) + 1
    if most > MOST_STATES:
        remedy = f"take coarser ones, at most {MOST_STATES}"
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
            "transitions: found none; give values at neighbouring timestamps (with --step: of neighbouring steps)"
        )
    pairs = states[:-1][follows] * most + states[1:][follows]
    return np.bincount(pairs, minlength=most * most).reshape(most, most).astype(np.int64)


def estimated(counts: Counts, smoothing: float) -> Correlation:
    """Return the matrices of counts: shares of each row, smoothed by ``(p + s) / sum(p + s)``.

    The smoothing is Laplacian, as in Cao et al. 2017, equation 25: 0 leaves the shares as they are. A state that was
    never left (forward) or never reached (backward) gets the shares of all states: nothing is known of it.

    Raises:
        CorrelationError: for a smoothing that is not finite or below 0.
    """
    if not 0 <= smoothing < float("inf"):
        raise CorrelationError(f"smoothing: found {smoothing}; use a finite number of at least 0")
    return Correlation(backward=_smoothed(counts.T, smoothing), forward=_smoothed(counts, smoothing))


def _smoothed(counts: Counts, smoothing: float) -> TransitionMatrix:
    totals = counts.sum(axis=1, keepdims=True)
    overall = counts.sum(axis=0) / counts.sum()
    shares = np.where(totals > 0, counts / np.maximum(totals, 1), overall)
    return TransitionMatrix.of((shares + smoothing) / (1 + len(counts) * smoothing))
