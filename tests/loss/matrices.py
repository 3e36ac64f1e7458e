"""Random transition matrices of every awkward sort, from a seed."""

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from stream_app.loss.envelope import Envelope
from stream_app.loss.matrix import TransitionMatrix
from stream_app.loss.temporal import Adversary

Rows = NDArray[np.float64]
SORTS = ("dense", "zeros", "identity", "permutation", "near-uniform", "near-identity", "tiny", "equal-rows", "lazy")


def matrices(count: int, most_states: int, seed: int) -> Iterator[tuple[str, Rows]]:
    """Yield ``count`` (sort, rows) of 2 to ``most_states`` states, small ones more often."""
    generator = np.random.default_rng(seed)
    for number in range(count):
        states = int(generator.integers(2, most_states + 1, 3).min())
        sort = SORTS[number % len(SORTS)]
        yield sort, normalised(_rows(sort, states, generator))


def every_matrix(count: int, most_states: int, seed: int) -> Iterator[tuple[str, Rows]]:
    """Yield ``count`` pairs (sort, rows): first each sort in each size, then as `matrices` does."""
    classes = list(product(SORTS, range(2, most_states + 1)))
    assert count >= len(classes)
    generator = np.random.default_rng(seed)
    for sort, states in classes:
        yield sort, normalised(_rows(sort, states, generator))
    yield from matrices(count - len(classes), most_states, seed)


def normalised(rows: Rows) -> Rows:
    """Return rows that sum to 1."""
    found: Rows = rows / rows.sum(axis=1, keepdims=True)
    return found


def adversaries(count: int, most_states: int, seed: int) -> Iterator[tuple[str, Adversary]]:
    """Yield adversaries who know one sort of matrix backward and another forward."""
    backward, forward = matrices(count, most_states, seed), list(matrices(count, most_states, seed + 1))
    for (sort, one), (other_sort, other) in zip(backward, forward[1:] + forward[:1], strict=True):
        envelopes = (Envelope.of(TransitionMatrix.of(rows)) for rows in (one, other))
        yield f"{sort}, {other_sort}", Adversary(*envelopes)


def rounded(rows: Rows, units: int) -> Rows:
    """Return rows of whole ``units`` that sum to 1; each row's rounding remainder goes to its largest entry."""
    whole = np.floor(rows * units)
    whole[np.arange(len(rows)), rows.argmax(axis=1)] += units - whole.sum(axis=1)
    found: Rows = whole / units
    return found


def _rows(sort: str, states: int, generator: np.random.Generator) -> Rows:
    dense = generator.dirichlet(np.full(states, generator.choice([0.2, 1.0, 5.0])), size=states) + 1e-9
    match sort:
        case "zeros":
            kept = np.where(generator.random((states, states)) < 0.4, 0, dense)
            kept[np.arange(states), generator.integers(0, states, states)] += 0.1
            return kept
        case "identity":
            return np.eye(states)
        case "permutation":
            return np.eye(states)[generator.permutation(states)]
        case "near-uniform":
            return 1 / states + generator.random((states, states)) * 10.0 ** generator.integers(-14, -2)
        case "near-identity":
            return np.eye(states) + dense * 10.0 ** generator.integers(-12, -1)
        case "tiny":
            return dense * 10.0 ** generator.integers(-30, 1, (states, states))
        case "equal-rows":
            return np.tile(dense[0], (states, 1)) if generator.random() < 0.5 else dense[[0, *range(states - 1)]]
        case "lazy":
            strength = generator.random()
            return strength * np.eye(states) + (1 - strength) / states
        case _:
            return dense
