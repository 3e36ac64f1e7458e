"""Landmarks are as many as asked, drawn by the distribution's weights, and a function of seed and series."""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from experiments.setting import DISTRIBUTIONS, Distribution, Placement

STEPS = 10


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_shares_are_exact_and_nested(distribution: Distribution) -> None:
    """Shares are rounded half up; the landmarks of a smaller share are among those of a larger."""
    before: set[int] = set()
    for share in (0, 1, 5, 20, 50, 99, 100):
        places = Placement(share, distribution).of("a", 150, 4)
        assert places == sorted(set(places))
        assert len(places) == int(150 * share / 100 + 0.5)
        assert before <= set(places) <= set(range(150))
        before = set(places)


def test_seeds_and_series_differ() -> None:
    """Nothing else matters: the same seed and series give the same landmarks."""
    drawn = [Placement(30).of(series, 100, seed) for series in ("a", "b") for seed in (0, 1)]
    assert len(set(map(tuple, drawn))) == 4
    assert drawn[0] == Placement(30).of("a", 100, 0)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_one_landmark_follows_the_weights(distribution: Distribution) -> None:
    """Frequencies of one landmark over seeds fit the density at the middle of each step, by chi-square."""
    found = Counter(Placement(10, distribution).of("a", STEPS, seed)[0] for seed in range(2_000))
    middles = (np.arange(STEPS) + 0.5) / STEPS
    normal = stats.norm(scale=1 / 10).pdf
    weights = {
        "uniform": np.ones(STEPS),
        "skewed": normal(middles - 0.75),
        "bimodal": normal(middles - 0.25) + normal(middles - 0.75),
    }[distribution]
    expected = weights / weights.sum() * 2_000
    likely = expected >= 5
    observed = np.array([found[place] for place in range(STEPS)])
    assert observed[~likely].sum() <= 20
    scaled = expected[likely] * observed[likely].sum() / expected[likely].sum()
    assert stats.chisquare(observed[likely], scaled).pvalue > 1e-3


def test_two_landmarks_are_drawn_one_after_the_other() -> None:
    """Pairs fit successive draws without replacement, whose probabilities are summed literally."""
    middles = (np.arange(STEPS) + 0.5) / STEPS
    weights = stats.norm(scale=1 / 10).pdf(middles - 0.25) + stats.norm(scale=1 / 10).pdf(middles - 0.75)
    shares = weights / weights.sum()
    chances: Counter[tuple[int, int]] = Counter()
    for first in range(STEPS):
        for second in set(range(STEPS)) - {first}:
            pair = min(first, second), max(first, second)
            chances[pair] += shares[first] * shares[second] / (1 - shares[first])
    found = Counter(tuple(Placement(20, "bimodal").of("b", STEPS, seed)) for seed in range(2_000))
    likely = [pair for pair, chance in chances.items() if chance * 2_000 >= 5]
    observed = np.array([found[pair] for pair in likely])
    expected = np.array([chances[pair] for pair in likely])
    assert stats.chisquare(observed, expected / expected.sum() * observed.sum()).pvalue > 1e-3
