"""Backward, forward and temporal loss: worked examples, exact fractions, and general properties."""

import math
from fractions import Fraction

import numpy as np
import pytest

from stream_app.loss.envelope import Envelope
from stream_app.loss.matrix import TransitionMatrix
from stream_app.loss.temporal import Adversary, EpsilonError
from tests.loss.enumeration import exact_ratio
from tests.loss.matrices import adversaries

CAO = Envelope.of(TransitionMatrix.dense([[0.8, 0.2], [0, 1]]))
IDENTITY = Envelope.of(TransitionMatrix.dense([[1, 0], [0, 1]]))


def test_worked_example() -> None:
    """The figures are those of design section 7, to the printed digits."""
    loss = Adversary(CAO, CAO).temporal_loss([0.1] * 10)
    backward = [0.1, 0.1808, 0.2471, 0.3024, 0.3488, 0.3881, 0.4216, 0.4503, 0.4750, 0.4964]
    assert [round(value, 4) for value in loss.backward] == backward
    assert [round(value, 4) for value in loss.forward] == backward[::-1]
    assert [round(value, 4) for value in loss.total[:5]] == [0.4964, 0.5558, 0.5975, 0.6239, 0.6368]
    assert loss.total == pytest.approx(loss.total[::-1], rel=1e-15)


def test_agrees_with_exact_fractions() -> None:
    """Seven timestamps have budgets that are logarithms of fractions, under a matrix of fractions."""
    rows = np.array([[0.75, 0.25, 0], [0.125, 0.5, 0.375], [0.25, 0.25, 0.5]])
    grown = [Fraction(1, 10), Fraction(0), Fraction(3), Fraction(0), Fraction(0), Fraction(1, 7), Fraction(2)]
    epsilons = [math.log1p(x) for x in grown]
    found = Adversary(Envelope.of(TransitionMatrix.of(rows))).temporal_loss(epsilons).backward
    x, wanted = Fraction(0), []
    for own in grown:
        carried = exact_ratio(rows, x)
        x = (1 + carried) * (1 + own) - 1
        wanted.append(math.log1p(x))
    assert found == pytest.approx(wanted, rel=1e-15)


def test_bounds_of_all_adversaries() -> None:
    """Loss is between a timestamp's own epsilon and the sum of all; total is backward + forward - epsilon."""
    generator = np.random.default_rng(4)
    for sort, adversary in adversaries(300, 8, seed=4):
        epsilons = (generator.choice([0, 0, 1e-9, 0.1, 2, 900], 12) * generator.random(12)).tolist()
        loss, whole = adversary.temporal_loss(epsilons), math.fsum(epsilons)
        for at, epsilon in enumerate(epsilons):
            assert epsilon <= loss.total[at] <= whole * (1 + 1e-14), sort
            assert loss.total[at] == pytest.approx(loss.backward[at] + loss.forward[at] - epsilon, abs=1e-12 * whole)


def test_extremes() -> None:
    """Knowing nothing gains nothing from other timestamps; knowing every step gains all of them."""
    epsilons = [0.1, 0, 0.3, 0, 0.2]
    assert Adversary().temporal_loss(epsilons).total == tuple(epsilons)
    assert Adversary(IDENTITY, IDENTITY).temporal_loss(epsilons).total == pytest.approx([0.6] * 5)
    assert Adversary(IDENTITY).temporal_loss(epsilons).total == pytest.approx([0.1, 0.1, 0.4, 0.4, 0.6])
    assert Adversary(CAO, CAO).temporal_loss([]).total == ()


def test_a_step_without_release_counts() -> None:
    """It spends nothing, but what its neighbours' releases reveal about it is still a loss."""
    loss = Adversary(CAO, CAO).temporal_loss([1.0, 0.0, 0.0])
    assert loss.backward == (1.0, CAO.carried(1.0), CAO.carried(CAO.carried(1.0)))
    assert loss.total[1] == CAO.carried(1.0)


@pytest.mark.parametrize("found", [-0.1, float("nan"), float("inf")])
def test_bad_epsilons_are_refused(found: float) -> None:
    """By index."""
    with pytest.raises(EpsilonError, match=r"epsilon 1 .* finite numbers of at least 0") as raised:
        Adversary(CAO).temporal_loss([0.1, found])
    assert raised.value.index == 1
