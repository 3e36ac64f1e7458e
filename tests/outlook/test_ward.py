"""The smallest ward against exact laws: what is said to be enough is, whatever the items are, and one less is not."""

from fractions import Fraction
from itertools import product
from math import exp, fsum

import numpy as np
import pytest
from scipy.stats import dlaplace

from stream_app.outlook.ward import (
    WANTED,
    contributors_of_mean,
    contributors_of_total,
    laplace_tail,
    lead_of,
    reach_of,
    sum_tail,
)


@pytest.mark.parametrize("rates", [(0.05, 0.05), (0.05, 0.7), (2.0, 0.1), (3.0, 3.0), (0.3, 0.300001), (1.0, 90.0)])
def test_the_tail_of_two_noises_against_a_convolution(rates: tuple[float, float]) -> None:
    """Of scipy's distributions, also where both rates are equal, or nearly, or one noise is none."""
    reach = int(60 / min(rates)) + 1
    around = np.arange(-reach, reach + 1)
    both = np.convolve(dlaplace.pmf(around, rates[0]), dlaplace.pmf(around, rates[1]))
    magnitudes = np.abs(np.arange(-2 * reach, 2 * reach + 1))
    for most in (0, 1, 2, 5, 30):
        expected = float(both[magnitudes > most].sum())
        assert sum_tail(*rates)(most) == pytest.approx(expected, rel=1e-8, abs=1e-12)
        assert sum_tail(*rates[::-1])(most) == sum_tail(*rates)(most)


@pytest.mark.parametrize("rate", [1e-6, 0.001, 0.3, 1.0, 5.0, 40.0])
def test_the_reach_of_one_noise_against_scipy(rate: float) -> None:
    """The least cells within which 95 of 100 draws lie."""
    reach = reach_of(laplace_tail(rate))
    assert dlaplace.cdf(reach, rate) - dlaplace.cdf(-reach - 1, rate) >= WANTED - 1e-12
    assert reach == 0 or dlaplace.cdf(reach - 1, rate) - dlaplace.cdf(-reach, rate) < WANTED


def test_a_total_needs_its_reach_over_the_error() -> None:
    """Noise of 300 cells is 5 cells each over 60 contributors, and 5.0847 over 59."""
    assert contributors_of_total(300, Fraction(5)) == 60
    assert contributors_of_total(300, Fraction(300, 59) - Fraction(1, 10**9)) == 60
    assert contributors_of_total(300, Fraction(300, 59)) == 59
    assert contributors_of_total(0, Fraction(1)) == 1


def within(number: int, total: int, rates: tuple[float, float], error: Fraction) -> float:
    """Return how likely a mean of a hidden number is within an error, term by term; clamping saves nothing here."""
    chance = 0.0
    for y in range(-150, 151):
        over = max(1, number + y)
        if number + y < 1:
            continue
        good = [x for x in range(-150, 151) if abs(Fraction(total + x, over) - Fraction(total, number)) <= error]
        both = fsum(exp(-rates[0] * abs(x)) for x in good) * exp(-rates[1] * abs(y))
        chance += both * (1 - exp(-rates[0])) / (1 + exp(-rates[0])) * (1 - exp(-rates[1])) / (1 + exp(-rates[1]))
    return chance


@pytest.mark.parametrize(
    ("rates", "farthest", "error"),
    [((0.5, 0.7), 2, Fraction(1)), ((0.3, 1.0), 3, Fraction(3, 2)), ((1.0, 0.4), 1, Fraction(1, 3))],
)
def test_a_hidden_number_against_an_exact_law(rates: tuple[float, float], farthest: int, error: Fraction) -> None:
    """So many are enough, at either end of the range and between; one less is not at an end."""
    number = contributors_of_mean(*rates, farthest, error)
    assert number is not None
    for total in {-number * farthest, -number, 0, 1, number * farthest // 2, number * farthest}:
        assert within(number, total, rates, error) >= WANTED - 1e-9
    assert within(number - 1, (number - 1) * farthest, rates, error) < WANTED


def test_a_ward_may_be_too_large_to_look_for() -> None:
    """With next to no budget the number of contributors itself is lost in noise."""
    assert contributors_of_mean(1e-9, 1e-9, 100, Fraction(1)) is None
    assert contributors_of_mean(1e-4, 1e-4, 1, Fraction(1)) is not None


@pytest.mark.parametrize(("items", "rate"), [(2, 0.5), (3, 1.0), (5, 0.25)])
def test_a_lead_is_enough_whatever_the_others_are(items: int, rate: float) -> None:
    """Over all counts of the others the leader is chosen 95 times in 100; with one less not where all are equal."""
    lead = lead_of(items, rate)
    most = 3 if items > 3 else 12
    for others in product(range(most), repeat=items - 1):
        weights = [exp(rate * (count - max(others))) for count in (max(others) + lead, *others)]
        assert weights[0] / fsum(weights) >= WANTED - 1e-12
    equal = [exp(rate * (lead - 1)), *[1.0] * (items - 1)]
    assert equal[0] / fsum(equal) < WANTED
