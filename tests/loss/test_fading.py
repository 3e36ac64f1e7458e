"""The remainder of a loss after timestamps that spend nothing: the loss function, applied repeatedly."""

import math

import numpy as np
import pytest

from stream_app.loss.envelope import INDEPENDENT, Envelope, faded
from stream_app.loss.matrix import TransitionMatrix
from tests.loss.matrices import matrices

ALPHAS = (1e-12, 1e-3, 0.3, 2.0, 30.0, 690.0, 5000.0)


def test_is_the_loss_function_over_and_over() -> None:
    """This holds for every sort of matrix, small and huge losses, up to a thousand steps one by one."""
    compared = 0
    for sort, rows in matrices(150, 9, seed=71):
        envelope = Envelope.of(TransitionMatrix.of(rows))
        for alpha in ALPHAS:
            left, before = alpha, 0
            for steps in (0, 1, 2, 3, 7, 50, 1000):
                for _ in range(steps - before):
                    left = envelope.carried(left)
                before = steps
                assert faded(envelope, alpha, steps) == pytest.approx(left, rel=1e-9, abs=1e-290), (sort, alpha, steps)
                compared += left > 1e-290
    assert compared > 2_000


def test_gaps_add_up() -> None:
    """Two gaps equal one of their sum, even if too long to go step by step; loss never grows and never fails."""
    generator = np.random.default_rng(72)
    for sort, rows in matrices(150, 9, seed=73):
        envelope = Envelope.of(TransitionMatrix.of(rows))
        for alpha in ALPHAS:
            first, second = (int(10 ** (generator.random() * 9)) for _ in range(2))
            one = faded(envelope, alpha, first + second)
            assert 0 <= one <= faded(envelope, alpha, first) <= alpha, sort
            two = faded(envelope, faded(envelope, alpha, first), second)
            assert two == pytest.approx(one, rel=1e-9, abs=1e-290), (sort, alpha, first, second)


def test_extremes() -> None:
    """Certainty keeps everything, independence nothing; a state that is left only by chance fades slowly."""
    identity = Envelope.of(TransitionMatrix.of(np.eye(4)))
    assert [faded(identity, alpha, 10**15) for alpha in ALPHAS] == list(ALPHAS)
    assert faded(INDEPENDENT, 3.0, 1) == faded(INDEPENDENT, 3.0, 10**15) == 0
    assert faded(INDEPENDENT, 3.0, 0) == 3.0
    absorbing = Envelope.of(TransitionMatrix.dense([[1 - 1e-9, 1e-9], [0, 1]]))
    # One pair with D = 0, S = 1 - 1e-9: x falls by S a step.
    wanted = math.log1p(math.expm1(1.0) * math.exp(10**9 * math.log1p(-1e-9)))
    assert faded(absorbing, 1.0, 10**9) == pytest.approx(wanted, rel=1e-6)
