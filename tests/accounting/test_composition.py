"""Composition: each theorem's figure, and inputs outside its domain."""

import math
from itertools import pairwise

import numpy as np
import pytest

from stream_app.accounting.composed import (
    CompositionError,
    correlated,
    discounted_exponentially,
    discounted_hyperbolically,
    parallel_members,
    parallel_series,
    sequential,
)
from stream_app.loss.temporal import EpsilonError
from tests.loss.matrices import adversaries


def test_sequential_is_the_sum() -> None:
    """Rounded once."""
    assert sequential([0.1] * 10) == 1.0
    assert sequential([]) == 0


def test_parallel_is_the_largest() -> None:
    """It is taken over series, or over members with all their series."""
    losses = {"home-7": 1.0, "car-7": 0.5, "home-8": 1.25}
    assert parallel_series(losses) == ("home-8", 1.25)
    assert parallel_series({}) == (None, 0)
    assert parallel_members(losses, {"home-7": "ada", "car-7": "ada", "home-8": "bob"}) == ("ada", 1.5)
    with pytest.raises(CompositionError, match="home-8"):
        parallel_members(losses, {"home-7": "ada", "car-7": "ada"})


def test_discounts() -> None:
    """Age is counted from the last timestamp, and a rate of 0 forgets nothing."""
    assert discounted_exponentially([1, 2, 4], math.log(2)) == pytest.approx(1 / 4 + 2 / 2 + 4)
    assert discounted_hyperbolically([1, 2, 4], 0.5) == pytest.approx(1 / 2 + 2 / 1.5 + 4)
    for discounted in (discounted_exponentially, discounted_hyperbolically):
        assert discounted([1, 2, 4], 0) == 7
        with pytest.raises(CompositionError, match="rate: found -1"):
            discounted([1], -1)


def test_correlated_agrees_with_its_cases() -> None:
    """One is the temporal loss, two are the ends' losses, and all are the sum; more timestamps never lose less."""
    generator = np.random.default_rng(41)
    for sort, adversary in adversaries(90, 6, seed=41):
        epsilons = (generator.choice([0, 0.1, 2], 9) * generator.random(9)).tolist()
        loss = adversary.temporal_loss(epsilons)
        assert correlated(loss, epsilons, 4, 1) == loss.total[4]
        assert correlated(loss, epsilons, 4, 2) == loss.backward[3] + loss.forward[4]
        assert correlated(loss, epsilons, 8, 9) == pytest.approx(sequential(epsilons), abs=1e-12), sort
        growing = [correlated(loss, epsilons, 8, count) for count in range(1, 10)]
        assert all(more >= fewer - 1e-12 for fewer, more in pairwise(growing)), sort


def test_outside_the_domain() -> None:
    """Nonexistent timestamps, the losses of another series and invalid budgets are refused."""
    _, adversary = next(adversaries(1, 3, seed=42))
    loss = adversary.temporal_loss([0.1] * 3)
    for last, count in ((3, 1), (1, 3), (1, 0), (-1, 1)):
        with pytest.raises(CompositionError, match="there are 3"):
            correlated(loss, [0.1] * 3, last, count)
    with pytest.raises(CompositionError, match="found 4 values, but losses for 3"):
        correlated(loss, [0.1] * 4, 1, 1)
    with pytest.raises(EpsilonError):
        sequential([0.1, -1])
    with pytest.raises(EpsilonError):
        parallel_series({"a": float("nan")})
