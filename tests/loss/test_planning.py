"""Epsilons under a bound on temporal loss: within the bound, and as large as possible."""

import math

import pytest

from stream_app.loss.envelope import Envelope
from stream_app.loss.matrix import TransitionMatrix
from stream_app.loss.planning import PlanError, constant_epsilon, even_epsilon, schedule, supremum
from stream_app.loss.temporal import Adversary
from tests.loss.matrices import adversaries

IDENTITY = Envelope.of(TransitionMatrix.dense([[1, 0], [0, 1]]))
BOUNDS = (0.01, 1.0, 30.0)


def test_constant_epsilon_is_the_largest() -> None:
    """Its suprema stay within the bound; those of the next larger double do not."""
    planned = 0
    for sort, adversary in adversaries(150, 6, seed=21):
        for bound in BOUNDS:
            epsilon = constant_epsilon(adversary, bound)
            assert _lasting(adversary, epsilon) <= bound, (sort, bound)
            assert epsilon == bound or _lasting(adversary, math.nextafter(epsilon, bound)) > bound, (sort, bound)
            planned += 0 < epsilon < bound
            if epsilon:
                assert max(adversary.temporal_loss([epsilon] * 300).total) <= bound * (1 + 1e-12), (sort, bound)
    assert planned > 100


def test_schedule_keeps_to_the_bound_and_uses_it() -> None:
    """No timestamp loses more; if the constant between the ends is above 0, all lose its lasting loss."""
    for sort, adversary in adversaries(90, 6, seed=22):
        for bound in BOUNDS:
            for timestamps in (1, 2, 3, 25):
                planned = schedule(adversary, bound, timestamps)
                loss = adversary.temporal_loss(planned).total
                assert len(planned) == timestamps
                assert max(loss) <= bound, (sort, bound)
                constant = constant_epsilon(adversary, bound)
                if constant and timestamps > 1:
                    assert loss == pytest.approx([_lasting(adversary, constant)] * timestamps, rel=1e-9), (sort, bound)


def test_even_epsilon_is_the_largest_for_a_finite_series() -> None:
    """It is within the bound, a millionth more is not; it is never less than what may be spent forever."""
    for sort, adversary in adversaries(60, 6, seed=23):
        epsilon = even_epsilon(adversary, 1.0, 12)
        assert max(adversary.temporal_loss([epsilon] * 12).total) <= 1, sort
        assert epsilon == 1 or max(adversary.temporal_loss([epsilon * (1 + 1e-6)] * 12).total) > 1, sort
        assert epsilon >= constant_epsilon(adversary, 1.0) * (1 - 1e-12), sort


def test_extremes() -> None:
    """If nobody knows the step, it is always the whole bound; if everybody does, all timestamps share it."""
    assert constant_epsilon(Adversary(), 0.7) == 0.7
    assert schedule(Adversary(), 0.7, 3) == (0.7, 0.7, 0.7)
    assert constant_epsilon(Adversary(IDENTITY, IDENTITY), 0.7) == 0
    assert schedule(Adversary(IDENTITY, IDENTITY), 0.8, 3) == (0.4, 0, 0.4)
    assert even_epsilon(Adversary(IDENTITY, IDENTITY), 0.8, 4) == pytest.approx(0.2, rel=1e-15)


@pytest.mark.parametrize(("bound", "timestamps"), [(0, 3), (-1, 3), (math.nan, 3), (math.inf, 3), (1, 0)])
def test_nothing_to_plan(bound: float, timestamps: int) -> None:
    """The error names the parameter and its allowed values."""
    for plan in (schedule, even_epsilon):
        with pytest.raises(PlanError, match=r"bound: found .* above 0|timestamps: found 0"):
            plan(Adversary(), bound, timestamps)


def _lasting(adversary: Adversary, epsilon: float) -> float:
    backward, forward = supremum(adversary.backward, epsilon), supremum(adversary.forward, epsilon)
    return math.inf if backward is None or forward is None else backward + forward - epsilon
