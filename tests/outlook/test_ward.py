"""The smallest ward against exact laws: the stated size is enough whatever the items; one less is not."""

from fractions import Fraction
from itertools import product
from math import exp, fsum, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import dlaplace

from stream_app.outlook.ward import (
    WANTED,
    contributors,
    contributors_of_mean,
    contributors_of_total,
    laplace_tail,
    lead_of,
    reach_of,
    sum_tail,
)
from stream_app.privacy.kinds import HiddenMean, Mean, Sum
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.values import NANO, ReleasedCells
from tests.privacy.noise.bits import stream


@pytest.mark.parametrize("rates", [(0.05, 0.05), (0.05, 0.7), (2.0, 0.1), (3.0, 3.0), (0.3, 0.300001), (1.0, 90.0)])
def test_the_tail_of_two_noises_against_a_convolution(rates: tuple[float, float]) -> None:
    """It agrees with scipy's distributions, also if both rates are (nearly) equal, or one noise is absent."""
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
    """The reach is the fewest cells within which 95 of 100 draws lie."""
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
    """Return how likely a mean of a hidden number is within an error, term by term; clamping has no effect."""
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
    """That many are enough at either end of the range and between; one less is not enough at an end."""
    number = contributors_of_mean(*rates, farthest, error)
    assert number is not None
    for total in {-number * farthest, -number, 0, 1, number * farthest // 2, number * farthest}:
        assert within(number, total, rates, error) >= WANTED - 1e-9
    assert within(number - 1, (number - 1) * farthest, rates, error) < WANTED


def test_a_ward_may_be_too_large_to_look_for() -> None:
    """With almost no budget, the number of contributors itself is lost in noise."""
    assert contributors_of_mean(1e-9, 1e-9, 100, Fraction(1)) is None
    assert contributors_of_mean(1e-4, 1e-4, 1, Fraction(1)) is not None


@pytest.mark.parametrize(("items", "rate"), [(2, 0.5), (3, 1.0), (5, 0.25)])
def test_a_lead_is_enough_whatever_the_others_are(items: int, rate: float) -> None:
    """Whatever the others' counts, the leader wins 95 times in 100; one less fails if the others are all equal."""
    lead = lead_of(items, rate)
    most = 3 if items > 3 else 12
    for others in product(range(most), repeat=items - 1):
        weights = [exp(rate * (count - max(others))) for count in (max(others) + lead, *others)]
        assert weights[0] / fsum(weights) >= WANTED - 1e-12
    equal = [exp(rate * (lead - 1)), *[1.0] * (items - 1)]
    assert equal[0] / fsum(equal) < WANTED


def collecting(statistic: str | None, neighbours: str, **more: object) -> Policy:
    """Return a policy over numbers from contributors, or over their counts."""
    parameters: dict[str, Any] = {"epsilon": 1.0, "protection": {"level": "event"}, "scheme": {"name": "uniform"}}
    value = {"kind": "number", "lower": -2, "upper": 6, "resolution": 0.5, "clamp": False}
    if statistic is None:
        value = {"kind": "counts", "keys": ["a"]}
    collect = {"neighbours": neighbours, "open_steps": 1, **more} | ({"statistic": statistic} if statistic else {})
    return policy_of({**parameters, "value": value, "collect": collect}, 1)


@pytest.mark.parametrize("statistic", ["sum", "mean"])
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_real_releases_are_within_the_error(statistic: str, neighbours: str, draws: int) -> None:
    """They are as often as stated with so many contributors at the range's end, but not with three quarters."""
    policy, error, number_of = collecting(statistic, neighbours), 0.4, draws // 4
    kind = policy.kind
    assert isinstance(kind, Sum | Mean | HiddenMean)
    enough = contributors(policy, NANO, Fraction("0.4"))
    assert enough is not None
    shares = []
    for number in (enough, enough * 3 // 4):
        cells = kind.gathered(number * (12 - kind.centre), number)
        truth = kind.publish(ReleasedCells(tuple(cells))) if statistic == "mean" else 6.0
        over = 1 if statistic == "mean" else number
        shown = [kind.publish(kind.perturb(stream(draw), cells, NANO)) / over for draw in range(number_of)]
        shares.append(sum(abs(one - truth) <= error + 1e-9 for one in shown) / number_of)
    apart = 5 * sqrt(WANTED * (1 - WANTED) / number_of)
    assert shares[0] > WANTED - apart
    assert shares[1] < WANTED - apart / 5


def test_counts_are_within_a_share_of_the_contributors() -> None:
    """Noise of one cell, with that of pan-private counters, is divided by the requested share."""
    bare = collecting(None, "add-remove")
    assert contributors(bare, NANO, Fraction("0.05")) == 20 * reach_of(laplace_tail(1.0))
    noisy = collecting(None, "replace", intrusion_nano=NANO // 4)
    assert contributors(noisy, NANO, Fraction("0.05")) == 20 * reach_of(sum_tail(1 / 8, 1 / 2))
    hidden = collecting("mean", "replace", intrusion_nano=NANO // 4)
    assert contributors(hidden, NANO, Fraction("0.5")) == reach_of(sum_tail(1 / 64, 1 / 16))


def test_what_is_not_collected_has_no_ward() -> None:
    """A series of one person has no contributors, and half a nano-epsilon does not exist either."""
    plain = {"epsilon": 1.0, "protection": {"level": "event"}, "scheme": {"name": "uniform"}}
    number = policy_of({**plain, "value": {"kind": "number", "lower": 0, "upper": 1, "resolution": 1}}, 1)
    assert contributors(number, NANO, Fraction(1)) is None
    assert contributors(collecting("mean", "add-remove"), 1, Fraction(1)) is None
