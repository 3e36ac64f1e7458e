"""Correlations: the parametric family, strength, and their form as JSON values."""

import json
import math
from typing import Any

import numpy as np
import pytest

from stream_app.loss.correlation import Correlation, CorrelationError, Strength, correlation_of
from stream_app.loss.envelope import Envelope
from stream_app.loss.matrix import MatrixError, TransitionMatrix, matrix_document, matrix_of
from stream_app.loss.planning import supremum
from tests.loss.matrices import matrices


@pytest.mark.parametrize(("states", "smoothing"), [(2, 1.0), (5, 0.05), (50, 0.005), (50, 0.0)])
def test_strength_is_laplacian_smoothing(states: int, smoothing: float) -> None:
    """It is (p + s) / sum(p + s) of the identity, as in Cao et al. 2017, equation 25."""
    strength = 1 / (1 + states * smoothing)
    found = Correlation.of_strength(states, strength)
    smoothed = np.eye(states) + smoothing
    assert found.forward is not None
    assert found.forward.rows == pytest.approx(smoothed / smoothed.sum(axis=1, keepdims=True), rel=1e-12)
    assert found.backward is found.forward


def test_strength_goes_from_nothing_to_all() -> None:
    """The carried loss grows with strength: 0 carries nothing, 1 carries everything."""
    carried = [Correlation.of_strength(4, strength / 10).adversary().backward.carried(2.0) for strength in range(11)]
    assert carried[0] == 0
    assert carried[10] == 2.0
    assert carried == sorted(set(carried))


@pytest.mark.parametrize(
    ("states", "strength", "found"),
    [(1, 0.5, "states: found 1"), (2, -0.1, "strength: found -0.1"), (2, 1.1, "1.1"), (2, math.nan, "nan")],
)
def test_parameters_outside_their_domain(states: int, strength: float, found: str) -> None:
    """The error names the parameter."""
    with pytest.raises(CorrelationError, match=found):
        Correlation.of_strength(states, strength)


def test_both_directions_have_the_same_states() -> None:
    """Two matrices of different sizes do not form a correlation."""
    two, three = TransitionMatrix.of(np.eye(2)), TransitionMatrix.of(np.eye(3))
    with pytest.raises(CorrelationError, match="backward has 2 states, but forward has 3"):
        Correlation(two, three)
    assert Correlation(None, three).adversary().backward.carried(1.0) == 0


def test_measures_of_strength() -> None:
    """The measures are right in known cases, and agree with the loss function."""
    strength = Strength.of(Envelope.of(TransitionMatrix.dense([[0.8, 0.2], [0, 1]])))
    assert strength[:3] == (0.8, None, -math.log(0.8))
    assert strength.carried_of_one == pytest.approx(math.log(0.8 * math.expm1(1) + 1))
    strength = Strength.of(Envelope.of(TransitionMatrix.dense([[0.8, 0.2], [0.1, 0.9]])))
    assert (strength.distance, strength.most_carried) == pytest.approx((0.7, math.log(8)))
    assert strength.unbounded_from is None
    assert Strength.of(Envelope.of(None)) == Strength(0, 0, None, 0)
    for sort, rows in matrices(120, 8, seed=51):
        envelope = Envelope.of(TransitionMatrix.of(rows))
        distance, most, unbounded_from, of_one = Strength.of(envelope)
        assert distance == pytest.approx(max(np.abs(one - other).sum() / 2 for one in rows for other in rows)), sort
        assert of_one == envelope.carried(1.0), sort
        if most is not None:
            assert envelope.carried(5000.0) == pytest.approx(most, rel=1e-12), sort
        if unbounded_from is not None and unbounded_from > 0:
            assert supremum(envelope, unbounded_from * 0.999) is not None, sort
            assert supremum(envelope, unbounded_from * 1.001 + 1e-15) is None, sort


def test_documents_hold_every_digit() -> None:
    """A matrix survives writing and reading, dense or sparse, through JSON text."""
    for _, rows in matrices(90, 9, seed=52):
        matrix = TransitionMatrix.of(rows)
        read = matrix_of(json.loads(json.dumps(matrix_document(matrix))))
        assert read.rows == pytest.approx(matrix.rows, rel=1e-15, abs=0)
    assert matrix_document(TransitionMatrix.of(np.eye(9))) == {
        "states": 9,
        "entries": [[state, state, 1.0] for state in range(9)],
    }


@pytest.mark.parametrize(
    ("document", "row", "found"),
    [
        (None, None, "neither"),
        ({"states": 2}, None, "neither"),
        ({"states": "2", "entries": []}, None, "states is not an integer"),
        ({"states": 2, "entries": {}}, None, "entries is not a list"),
        ({"states": 2, "entries": [[0, 0]]}, None, "entry 0"),
        ({"states": 2, "entries": [[0, 0, 1.0], [0.5, 1, 1.0]]}, None, "entry 1"),
        ({"states": 2, "entries": [[0, 0, 1.0], [1, 1, "1"]]}, 1, "is not a number"),
        ({"states": 2, "entries": [[0, 0, 1.0], [1, 1, 0.5]]}, 1, "sums to 0.5"),
        ([[1.0, 0.0]], 0, "1 rows"),
    ],
)
def test_documents_that_hold_no_matrix(document: Any, row: int | None, found: str) -> None:
    """The error names the row if there is one."""
    with pytest.raises(MatrixError, match=found) as raised:
        matrix_of(document)
    assert raised.value.row == row


def test_documents_of_correlations() -> None:
    """Either direction may be null; other members are ignored; errors name the direction."""
    half = [[0.5, 0.5], [0.5, 0.5]]
    found = correlation_of({"backward": None, "forward": half, "made": "by hand"})
    assert found.backward is None
    assert found.forward is not None
    documents: tuple[Any, ...] = (None, [], {"backward": half})
    for document in documents:
        with pytest.raises(CorrelationError, match='"backward" and "forward"'):
            correlation_of(document)
    with pytest.raises(CorrelationError, match="forward: row 1"):
        correlation_of({"backward": half, "forward": [[0.5, 0.5], [0.5, 0.4]]})
