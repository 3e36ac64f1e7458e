"""Transition matrices: what is refused, naming row and remedy."""

from math import log
from typing import Any

import numpy as np
import pytest

from stream_app.loss.correlation import Strength
from stream_app.loss.envelope import Envelope
from stream_app.loss.matrix import LEAST_PROBABILITY, MOST_STATES, MatrixError, TransitionMatrix

NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("rows", "row", "found", "remedy"),
    [
        ([], None, "no states", "one row for each state"),
        ([[0.5, 0.5]], 0, "2 entries, but the matrix has 1 rows", "square"),
        ([[1.0, 0.0], [1.0]], 1, "1 entries", "square"),
        ([[0.5, 0.5], [0.5, 0.4]], 1, "sums to 0.9", "divide"),
        ([[0.5, 0.5], [0.5, 0.500001]], 1, "sums to 1.00000", "divide"),
        ([[1.5, -0.5], [0.5, 0.5]], 0, "contains -0.5, which is below 0", "probabilities"),
        ([[0.5, 0.5], [NAN, 1.0]], 1, "not finite", "probabilities"),
        ([[INFINITE, 0.5], [0.5, 0.5]], 0, "not finite", "probabilities"),
        ([[0.5, 0.5], [None, 1]], 1, "is not a number", "probabilities"),
        ([[0.5, 0.5], ["0.5", 0.5]], 1, "is not a number", "probabilities"),
        ([[1.0, 0.0], [5e-324, 1.0]], 1, "between 0 and 2.23e-308", "use 0"),
        ([[True, False], [0.5, 0.5]], 0, "is not a number", "probabilities"),
        ([[0.5, 0.5], 1.0], 1, "no list", "list"),
        ([[0.5, 0.5], "ab"], 1, "no list", "list"),
        ([[]] * (MOST_STATES + 1), None, f"has {MOST_STATES + 1} states", "coarser"),
    ],
)
def test_bad_rows_are_refused(rows: Any, row: int | None, found: str, remedy: str) -> None:
    """The error names the row, its fault, and the remedy."""
    with pytest.raises(MatrixError) as raised:
        TransitionMatrix.dense(rows)
    assert raised.value.row == row
    assert found in raised.value.found
    assert remedy in raised.value.remedy
    assert row is None or f"row {row}" in str(raised.value)


@pytest.mark.parametrize(
    ("entries", "row", "found"),
    [
        ([(0, 0, 1.0), (1, 0, 0.5)], 1, "sums to 0.5"),
        ([(0, 0, 1.0)], 1, "sums to 0"),
        ([(0, 0, 1.0), (1, 2, 1.0)], 1, "column 2"),
        ([(0, 0, 1.0), (2, 1, 1.0)], 2, "outside"),
        ([(0, -1, 1.0), (1, 1, 1.0)], 0, "column -1"),
        ([(0, 0, 0.5), (0, 0, 0.5), (1, 1, 1.0)], 0, "two entries"),
        ([(0, 0, NAN), (1, 1, 1.0)], 0, "not finite"),
    ],
)
def test_bad_entries_are_refused(entries: list[tuple[int, int, float]], row: int, found: str) -> None:
    """The sparse form is checked like the dense one."""
    with pytest.raises(MatrixError) as raised:
        TransitionMatrix.sparse(2, entries)
    assert raised.value.row == row
    assert found in raised.value.found


def test_both_forms_are_one_matrix() -> None:
    """Entries that are not given are 0."""
    dense = TransitionMatrix.dense([[0, 1, 0], [0.25, 0, 0.75], [1, 0, 0]])
    sparse = TransitionMatrix.sparse(3, [(0, 1, 1.0), (1, 0, 0.25), (1, 2, 0.75), (2, 0, 1)])
    assert np.array_equal(dense.rows, sparse.rows)
    assert dense.states == 3


def test_written_digits_are_enough() -> None:
    """A third in twelve digits sums closely enough, and the rows sum to 1 afterwards."""
    matrix = TransitionMatrix.dense([[0.333333333333] * 3] * 3)
    assert np.abs(matrix.rows.sum(axis=1) - 1).max() < 1e-15


def test_cannot_be_changed() -> None:
    """A matrix is a value."""
    matrix = TransitionMatrix.dense([[1.0]])
    with pytest.raises(ValueError, match="read-only"):
        matrix.rows[0, 0] = 0.5


@pytest.mark.filterwarnings("error")
def test_the_least_probability_is_far_enough_from_nought() -> None:
    """Its ratios to others are still numbers: the carried loss has the limit log(1 / D)."""
    envelope = Envelope.of(TransitionMatrix.dense([[1.0, LEAST_PROBABILITY], [LEAST_PROBABILITY, 1.0]]))
    assert Strength.of(envelope).most_carried == pytest.approx(-log(LEAST_PROBABILITY), rel=1e-15)
    assert envelope.carried(1e6) == pytest.approx(-log(LEAST_PROBABILITY), rel=1e-15)
