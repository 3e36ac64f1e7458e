"""Clopper and Pearson's bounds compared with the quantiles of scipy's beta distribution, which equal them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom

from stream_app.verify.event import at_least, at_most
from tests.suite.speeds import scaled

DOUBTS = (0.5, 0.025, 5e-7, 1e-9)


@settings(max_examples=scaled(50))
@given(st.integers(1, 200_000), st.floats(0, 1), st.sampled_from(DOUBTS))
def test_bounds_are_beta_quantiles(runs: int, share: float, doubt: float) -> None:
    """They agree to nine digits, for any count of any number of runs."""
    hits = round(share * runs)
    low, high = at_least(hits, runs, doubt), at_most(hits, runs, doubt)
    assert low == pytest.approx(beta.ppf(doubt, hits, runs - hits + 1) if hits else 0.0, rel=1e-7, abs=1e-300)
    wanted = beta.isf(doubt, hits + 1, runs - hits) if hits < runs else 1.0
    assert high == pytest.approx(wanted, rel=1e-7)
    assert 0.0 <= low <= hits / runs <= high <= 1.0


def test_bounds_cover() -> None:
    """Summed over all counts of 40 runs, the chance of missing the truth is at most the doubt."""
    for chance in (0.01, 0.1, 0.3, 0.5, 0.9):
        missed = sum(
            binom.pmf(hits, 40, chance)
            for hits in range(41)
            if not at_least(hits, 40, 0.025) <= chance <= at_most(hits, 40, 0.025)
        )
        assert missed <= 0.05


@pytest.mark.parametrize("doubt", DOUBTS)
def test_no_hit_and_no_miss(doubt: float) -> None:
    """The ends have closed forms."""
    assert at_least(0, 100, doubt) == 0.0
    assert at_most(100, 100, doubt) == 1.0
    assert at_most(0, 100, doubt) == pytest.approx(1 - doubt ** (1 / 100), rel=1e-9)
    assert at_least(100, 100, doubt) == pytest.approx(doubt ** (1 / 100), rel=1e-9)
