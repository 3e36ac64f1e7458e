"""Sums of discrete Laplace draws have the law given by convolution, scipy and sampling."""

from collections import Counter
from collections.abc import Iterable
from math import exp

import numpy as np
import pytest
from scipy import stats

from stream_app.privacy.noise.law import DETAILED, Rates, half_of_difference, is_exact, joined, law_of

SUMS = [(0.5,), (0.5,) * 7, (0.05, 0.7, 3.0), (0.02,) * 30, (9.0,), (0.004, 0.004), (40.0, 40.0)]


def rates_of(rates: Iterable[float]) -> Rates:
    """Return the rates of some draws in the form that laws take."""
    return tuple(sorted(Counter(rates).items()))


def convolved(rates: tuple[float, ...]) -> np.ndarray:
    """Return the probabilities of a sum by convolution, draw by draw, of -n .. n."""
    found = np.ones(1)
    for rate in rates:
        cells = np.arange(-int(45 / rate) - 2, int(45 / rate) + 3)
        q = exp(-rate)
        found = np.convolve(found, (1 - q) / (1 + q) * q ** np.abs(cells))
    return found


@pytest.mark.parametrize("rates", SUMS)
def test_probabilities_by_convolution(rates: tuple[float, ...]) -> None:
    """Each probability, the mean magnitude and the half width are those of the convolved draws."""
    law, found = law_of(rates_of(rates)), convolved(rates)
    middle, reach = len(found) // 2, min(len(found) // 2, law.reach)
    assert law.step == 1
    mine = law.probabilities[law.reach - reach : law.reach + reach + 1]
    assert np.abs(mine - found[middle - reach : middle + reach + 1]).max() < 1e-13
    assert law.mean_magnitude == pytest.approx(float(np.abs(np.arange(-middle, middle + 1)) @ found), rel=1e-9)
    half = law.half(0.95)
    assert found[middle - half : middle + half + 1].sum() >= 0.95 - 1e-12
    assert half == 0 or found[middle - half + 1 : middle + half].sum() < 0.95


@pytest.mark.parametrize("rate", [0.003, 0.1, 2.0])
def test_one_draw_by_scipy(rate: float) -> None:
    """One draw is scipy's dlaplace."""
    law = law_of(((rate, 1),))
    reach = min(law.reach, 500)
    expected = stats.dlaplace(rate).pmf(np.arange(-reach, reach + 1))
    assert law.probabilities[law.reach - reach : law.reach + reach + 1] == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize(("rate", "draws"), [(1e-5, 1), (1e-6, 12), (1e-9, 365)])
def test_a_joined_grid_holds_as_much(rate: float, draws: int) -> None:
    """If cells are joined, the half width is at least that of the plane's Laplace noise, and hardly more."""
    law = law_of(((rate, draws),))
    assert law.step > 1
    coarse = law_of(((rate * law.step / 4, draws),))  # four times as fine
    exact = coarse.half(0.95) * law.step / 4
    assert exact <= law.half(0.95) <= exact * (1 + 3 / DETAILED * 2)
    assert law.mean_magnitude == pytest.approx(coarse.mean_magnitude * law.step / 4, rel=1e-5)


def test_many_draws_are_hardly_other_than_normal() -> None:
    """A thousand draws have the half width of the normal curve, to within one part in a thousand."""
    law = law_of(((0.01, 1_000),))
    q = exp(-0.01)
    assert law.half(0.95) == pytest.approx(stats.norm.ppf(0.975) * (1_000 * 2 * q / (1 - q) ** 2) ** 0.5, rel=1e-3)


@pytest.mark.parametrize(
    ("one", "a", "other", "b"),
    [
        ((0.5,), 1.0, (0.5,), 1.0),
        ((0.3,) * 4, 1 / 7, (0.3,) * 5, 1 / 6),
        ((0.05, 0.9), 1 / 288, (0.2,) * 3, 1 / 144),
        ((8.0,), 1.0, (0.4,), 3.0),
    ],
)
def test_differences_by_all_pairs(one: tuple[float, ...], a: float, other: tuple[float, ...], b: float) -> None:
    """The half width of a difference covers 95 % of all pairs of sums, and slightly less does not."""
    half = half_of_difference(rates_of(one), a, rates_of(other), b, 0.95)
    first, second = convolved(one), convolved(other)
    x, y = (np.arange(len(found)) - len(found) // 2 for found in (first, second))
    distances = np.abs(a * x[:, None] - b * y[None, :])
    chances = first[:, None] * second[None, :]
    assert chances[distances <= half * (1 + 1e-9)].sum() >= 0.95 - 1e-12
    assert chances[distances <= half * (1 - 1e-6)].sum() < 0.95


def test_joined_draws_and_what_is_too_much() -> None:
    """Draws of several sums count together; no draws, and too many, have no exact law."""
    assert joined([rates_of([0.5, 0.5]), rates_of([0.1, 0.5])]) == ((0.1, 1), (0.5, 3))
    assert is_exact(((0.1, 3),))
    assert not is_exact(())
    assert not is_exact(rates_of(0.1 + nth / 1000 for nth in range(3_000)))
