"""Intervals against scipy's, and Fieller's intervals against their definition."""

import numpy as np
import pytest
from scipy import stats

from experiments.spread import Ratio, SeedMean, student_quantile


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 10, 29, 30, 99, 200])
def test_quantiles_of_student(freedom: int) -> None:
    """As scipy has them."""
    assert student_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-12)


def test_intervals_of_means() -> None:
    """Intervals equal scipy's t interval; a single value has none."""
    values = np.random.default_rng(2).normal(3, 2, 30)
    found = SeedMean.of(values.tolist())
    assert (found.low, found.high) == pytest.approx(stats.ttest_1samp(values, 0).confidence_interval(0.95), rel=1e-12)
    assert SeedMean.of([4.0]) == (4.0, None, None)


def test_bounds_of_ratios() -> None:
    """At a bound r, a paired t test of upper against r lower has p = 0.05; inside it has more."""
    generator = np.random.default_rng(3)
    lower = generator.normal(5, 1, 30)
    upper = 3 * lower + generator.normal(0, 2, 30)
    ratio, low, high = Ratio.of(upper.tolist(), lower.tolist())
    assert ratio is not None
    assert ratio == pytest.approx(upper.mean() / lower.mean())
    assert low is not None
    assert high is not None
    for bound in (low, high):
        assert stats.ttest_rel(upper, bound * lower).pvalue == pytest.approx(0.05, rel=1e-9)
    assert stats.ttest_rel(upper, ratio * lower).pvalue > 0.99


def test_no_bound_of_a_ratio_is_negative() -> None:
    """Errors are not negative: a Fieller set that reaches below 0 is cut at 0; its upper end stays."""
    upper, lower = [0.5, 3.0, 0.4], [2.0, 2.5, 2.2]
    ratio, low, high = Ratio.of(upper, lower)
    assert ratio == pytest.approx(np.mean(upper) / np.mean(lower))
    assert stats.ttest_rel(upper, np.zeros(3)).pvalue > 0.05, "a ratio of 0 cannot be excluded"
    assert low == 0
    assert high is not None
    assert stats.ttest_rel(upper, high * np.array(lower)).pvalue == pytest.approx(0.05, rel=1e-9)


@pytest.mark.parametrize("seeds", [2, 3, 4, 5])
def test_bounds_hold_the_ratio_or_there_are_none(seeds: int) -> None:
    """For errors of every spread: 0 <= low <= ratio <= high, or no bounds at all."""
    generator = np.random.default_rng(seeds)
    bounded = 0
    for _ in range(500):
        upper, lower = generator.lognormal(0, generator.uniform(0.01, 2), (2, seeds)).tolist()
        ratio, low, high = Ratio.of(upper, lower)
        if low is None:
            assert high is None
            continue
        assert ratio is not None
        assert high is not None
        bounded += 1
        assert 0 <= low <= ratio <= high
    assert 0 < bounded < 500


def test_ratios_without_bounds() -> None:
    """There are no bounds if the lower mean may be 0 or there is one seed; nothing is divided by 0."""
    assert Ratio.of([1.0, 2.0, 3.0], [-1.0, 0.0, 1.5])[1:] == (None, None)
    assert Ratio.of([6.0], [3.0]) == (2.0, None, None)
    assert Ratio.of([6.0, 5.0], [0.0, 0.0]) == (None, None, None)
