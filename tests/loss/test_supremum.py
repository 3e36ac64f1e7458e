"""Suprema under a constant epsilon, compared with iteration to convergence."""

import math

import pytest

from stream_app.loss.envelope import INDEPENDENT, Envelope
from stream_app.loss.matrix import TransitionMatrix
from stream_app.loss.planning import supremum
from tests.loss.matrices import SORTS, matrices

CAO = Envelope.of(TransitionMatrix.dense([[0.8, 0.2], [0, 1]]))
OTHER = Envelope.of(TransitionMatrix.dense([[0.8, 0.2], [0.1, 0.9]]))
STEPS = 4_000


def test_worked_examples() -> None:
    """They are the figures of design section 7, to the printed digits; if there is none, there is none here."""
    assert round(supremum(CAO, 0.1) or 0, 5) == 0.64591
    assert round(supremum(CAO, 0.15) or 0, 5) == 1.19224
    assert supremum(CAO, 0.22314) is not None
    assert supremum(CAO, 0.22315) is None
    assert round(supremum(OTHER, 0.23) or 0, 5) == 0.79234


def test_agrees_with_iteration() -> None:
    """The recurrence reaches the supremum and no more; without a supremum it keeps growing."""
    converged = unbounded = 0
    for sort, rows in matrices(180, 8, seed=11):
        envelope = Envelope.of(TransitionMatrix.of(rows))
        for epsilon in (1e-6, 0.01, 0.3, 2.0, 50.0):
            found = supremum(envelope, epsilon)
            reached = envelope.accumulated([epsilon] * STEPS)
            if found is None:
                assert reached[-1] > reached[-2] > reached[STEPS // 2], (sort, epsilon)
                unbounded += 1
                continue
            assert reached[-1] <= found * (1 + 1e-13), (sort, epsilon)
            assert envelope.carried(found) + epsilon == pytest.approx(found, rel=1e-12), (sort, epsilon)
            if reached[-1] == reached[-1000]:
                assert reached[-1] == pytest.approx(found, rel=1e-11), (sort, epsilon)
                converged += 1
    assert converged > 300
    assert unbounded > 100


@pytest.mark.parametrize("epsilon", [1e-12, 0.5, 700.0, 701.0, 1e5])
def test_known_in_closed_form(epsilon: float) -> None:
    """Independent timestamps have epsilon itself, full knowledge has none, and large epsilons reach a limit."""
    assert supremum(INDEPENDENT, epsilon) == epsilon
    assert supremum(Envelope.of(TransitionMatrix.dense([[1, 0], [0, 1]])), epsilon) is None
    if epsilon > 100:
        assert supremum(OTHER, epsilon) == pytest.approx(epsilon + math.log(8), rel=1e-14)


def test_nothing_spent_is_nothing_lost() -> None:
    """This holds even if every epsilon above 0 would lose without bound."""
    for sort, rows in matrices(len(SORTS), 6, seed=12):
        assert supremum(Envelope.of(TransitionMatrix.of(rows)), 0.0) == 0.0, sort


def test_nought_has_no_sign() -> None:
    """Whoever writes -0.0 spends nothing."""
    for envelope in (INDEPENDENT, CAO):
        assert str(supremum(envelope, -0.0)) == "0.0"
