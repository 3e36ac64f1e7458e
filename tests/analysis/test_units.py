"""Statistics of units: their noise follows the mechanism's law, and means over steps have exact intervals."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import pytest
from scipy import stats

from stream_app.analysis.means import (
    MeanDifference,
    MeasuredRelease,
    WeightedTotal,
    mean,
    of_one_unit,
    together,
    totals,
)
from stream_app.analysis.release import Release
from stream_app.outlook.error import regular_nano
from stream_app.privacy.kinds import UnitStatistic
from stream_app.privacy.noise.law import half_of_difference
from stream_app.privacy.noise.moments import CONFIDENCE
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.values import NANO, RawCells, ReleasedCells

HOUR = 3_600_000
NUMBER = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.5}
VALUES: dict[str, dict[str, Any]] = {
    "mean": {**NUMBER, "statistic": "mean"},
    "sum": {**NUMBER, "statistic": "sum"},
    "share": {**NUMBER, "statistic": "share", "from": 2, "to": 5},
    "histogram": {**NUMBER, "statistic": "histogram", "edges": [2, 5]},
    "categories": {"kind": "category", "categories": ["a", True, "c"], "statistic": "histogram"},
    "hourly": {**NUMBER, "statistic": "mean", "by": "hour"},
    "weekly": {**NUMBER, "statistic": "sum", "by": "weekday"},
}


def policy(name: str, epsilon: float = 1.0, window: int = 1, **members: Any) -> Policy:
    """Return a policy for daily statistics over units of one hour."""
    protection = {"level": "landmark", "unit": HOUR, "step": 24 * HOUR, "open_steps": 1, "window": window, **members}
    parameters = {"epsilon": epsilon, "protection": protection, "scheme": {"name": "uniform"}, "value": VALUES[name]}
    return policy_of(parameters, 1)


def kind_of(found: Policy) -> UnitStatistic:
    """Return the statistic of a policy."""
    assert isinstance(found.kind, UnitStatistic)
    return found.kind


def released(found: Policy, step: int, cells: tuple[int, ...], spend_nano: int = NANO) -> Release:
    """Return the release of true cells, as a record holds it, from the real mechanism with the step's bits."""
    kind = kind_of(found)
    stream = BitStream(b"k" * 32, b"test-units", step.to_bytes(8))
    noisy = kind.perturb(stream, RawCells(cells), spend_nano)
    count = kind.count(noisy)
    return Release(
        "s",
        step * 24 * HOUR,
        "perturbed",
        1,
        None,
        kind.publish(noisy),
        kind.stated(spend_nano, count),
        spend_nano,
        kind.statistic,
        count,
        of_units=True,
    )


CELLS: Mapping[str, tuple[int, ...]] = {
    "mean": (200, 23),
    "sum": (200, 23),
    "share": (7, 23),
    "histogram": (5, 11, 7, 23),
    "categories": (5, 11, 7, 23),
    "hourly": tuple(number for nth in range(24) for number in (10 + nth, nth % 3)),
    "weekly": tuple(number for nth in range(7) for number in (90 + nth, 4 * (nth != 2))),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("window", [1, 3])
def test_noise_is_that_of_the_mechanism(name: str, window: int, draws: int) -> None:
    """Each part's noise is on its grid and has its variance, and 95 of 100 draws lie within its half width."""
    found = policy(name, window=window)
    kind: Any = found.kind
    cells = CELLS[name]
    truth = found.kind.publish(ReleasedCells(cells))
    exact = Release("s", 0, "perturbed", 1, None, truth, None, NANO, kind.statistic, None)
    noise = kind.noises(NANO, kind.count(ReleasedCells(cells)))
    number = draws // 4
    measured = [released(found, step, cells).quantities(found) for step in range(number)]
    assert measured[0].keys() == noise.keys()
    for part, law in noise.items():
        true = _parts(exact.measurement)[part]
        apart = np.array([each[part].number - true for each in measured])
        assert np.abs(apart / law.grid - np.round(apart / law.grid)).max() < 1e-6
        assert np.mean(np.abs(apart) <= law.half * (1 + 1e-9)) >= CONFIDENCE - 5 * (0.0475 / number) ** 0.5
        assert apart.var() == pytest.approx(law.variance, rel=5 * (5 / number) ** 0.5)


def _parts(value: Any) -> dict[str, float]:
    if isinstance(value, list):
        return {str(nth): float(part) for nth, part in enumerate(value)}
    return {name: float(part) for name, part in value.items()} if isinstance(value, dict) else {"": float(value)}


@pytest.mark.parametrize("name", VALUES)
def test_error_and_what_it_takes(name: str) -> None:
    """The error is the noise's mean magnitude by scipy, and the epsilon for it is the smallest one.

    More units reduce the error.
    """
    kind = kind_of(policy(name, window=2))
    units = 48.0
    for epsilon in (0.1, 1.0, 7.0):
        rate = epsilon / kind.sensitivity
        cells = np.arange(1, int(60 / rate))
        expected = 2 * float(cells @ stats.dlaplace(rate).pmf(cells))
        of_a_cell = {"mean": 0.5 / units, "sum": 0.5, "share": 1 / units, "histogram": 1 / units}
        of_a_cell |= {"categories": 1 / units, "hourly": 0.5 * 24 / units, "weekly": 0.5}
        error = kind.expected_error(round(epsilon * NANO), units)
        assert error == pytest.approx(expected * of_a_cell[name], rel=1e-9)
        needed = kind.needed_nano(error, units)
        assert needed == pytest.approx(epsilon * NANO, rel=1e-8)
        assert kind.expected_error(needed, units) <= error * (1 + 1e-12)
        if name not in {"sum", "weekly"}:
            assert kind.needed_units(round(epsilon * NANO), error) == pytest.approx(units, rel=1e-9)
    assert kind_of(policy(name, window=2)) == kind_of(policy(name)).with_window(2)


def test_spare_landmarks_take_their_part() -> None:
    """Without spare landmarks a step gets all of epsilon, otherwise w parts of w + spare, rounded down."""
    assert regular_nano(policy("mean")) == NANO
    assert regular_nano(policy("mean", spare=2)) == NANO // 3
    assert regular_nano(policy("mean", window=5, spare=2)) == 5 * (NANO // 7)


def series(name: str, days: int, spend_nano: int = NANO) -> list[MeasuredRelease]:
    """Return releases for days with different numbers of units."""
    found = policy(name)
    return [
        MeasuredRelease(released(found, day, (8 * (10 + day % 13), 10 + day % 13), spend_nano), found)
        for day in range(days)
    ]


def test_means_over_steps_are_weighed_by_units() -> None:
    """The mean of daily means is the total noise over all units; its interval follows the exact law."""
    days = series("mean", 30)
    figure = mean(days)[""]
    counts = [10 + day % 13 for day in range(30)]
    totalled = sum(Fraction(found.release.measurement) * count for found, count in zip(days, counts, strict=True))
    assert figure.estimate == pytest.approx(float(totalled / sum(counts)), rel=1e-12)
    assert (figure.steps, figure.units) == (30, sum(counts))
    rate, q = 1 / 20, exp(-1 / 20)
    assert figure.standard_error == pytest.approx(0.5 * (30 * 2 * q / (1 - q) ** 2) ** 0.5 / sum(counts), rel=1e-9)
    single = stats.dlaplace(rate).pmf(np.arange(-1_500, 1_501))
    law = single
    for _ in range(29):
        law = np.convolve(law, single)[1_500:-1_500]
    half = round((figure.high - figure.low) / 2 * sum(counts) / 0.5)
    assert law[1_500 - half : 1_500 + half + 1].sum() >= 0.95
    assert law[1_501 - half : 1_500 + half].sum() < 0.95


def covered(hits: np.ndarray[Any, Any]) -> float:
    """Return the share of intervals that contain the truth."""
    return float(np.mean(hits))


@pytest.mark.parametrize("steps", [2, 7, 30])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 40.0])
def test_coverage_of_means_and_differences(steps: int, epsilon: float, draws: int) -> None:
    """Over many simulated data sets, at least 0.945 of the intervals contain the truth, with scipy's draws."""
    found = policy("mean", epsilon)
    rng = np.random.default_rng([steps, int(10 * epsilon)])
    counts = [20 + nth % 5 for nth in range(steps)]
    kind, spend = kind_of(found), round(epsilon * NANO)
    truths = [Release("s", nth, "perturbed", 1, None, 4.0, None, spend, "mean", n, of_units=True) for nth, n in
              enumerate(counts)]  # fmt: skip
    quantities = [truth.quantities(found)[""] for truth in truths]
    total, number = WeightedTotal.of(quantities), draws * 5
    noise = stats.dlaplace(epsilon / kind.sensitivity).rvs((number, steps), random_state=rng).sum(axis=1) * 0.5
    assert covered(np.abs(noise) / total.weight <= total.figure.high - total.mean + 1e-9) >= 0.945
    other = WeightedTotal.of(quantities[: steps // 2 + 1])
    more = stats.dlaplace(epsilon / kind.sensitivity).rvs((number, other.steps), random_state=rng).sum(axis=1) * 0.5
    difference = MeanDifference.of(total, other)
    assert covered(np.abs(more / other.weight - noise / total.weight) <= difference.half + 1e-9) >= 0.945
    rates = total.noise.rates, other.noise.rates
    factors = 0.5 / total.weight, 0.5 / other.weight
    exact = half_of_difference(rates[0], factors[0], rates[1], factors[1], CONFIDENCE)
    assert difference.half == pytest.approx(exact, rel=1e-9)
    assert difference.deviation**2 == pytest.approx(total.deviation**2 + other.deviation**2)


def test_profiles_and_bins_of_several_steps() -> None:
    """Sums become means per unit by their counts; histogram bins add up to shares with independent noise."""
    weekly, steps = policy("weekly"), range(3)
    measured = [released(weekly, step, CELLS["weekly"]) for step in steps]
    found = totals(of_one_unit(release, release.quantities(weekly)) for release in measured)
    assert list(found) == ["1", "2", "4", "5", "6", "7"]
    whole = sum(release.measurement["4"] for release in measured)
    assert found["4"].mean == pytest.approx(whole / 12)
    assert (found["4"].weight, found["4"].steps) == (12, 3)
    q = exp(-1 / 20)
    assert found["4"].deviation == pytest.approx(0.5 * (3 * 2 * q / (1 - q) ** 2) ** 0.5 / 12)
    histogram = policy("histogram")
    release = released(histogram, 5, CELLS["histogram"])
    both = together(of_one_unit(release, release.quantities(histogram)), ("1", "2"))
    assert both.number == pytest.approx(sum(release.measurement[1:]) / 23)
    assert both.weight == 23
    assert both.noise.rates == ((0.5, 2),)
    assert len(found["4"].noise.rates) == 1


def test_a_policy_of_another_scale_is_told() -> None:
    """Means by hour have one scale per bin, sums have one in all; another window changes the scale."""
    for name in VALUES:
        found = released(policy(name), 1, CELLS[name])
        found.check()
        found.check_under(policy(name))
        with pytest.raises(ValueError, match="a different kind or scale"):
            found.check_under(policy(name, window=2))
        for count in (3 if isinstance(found.count, Mapping) else {"1": 3}, 0):
            with pytest.raises(ValueError, match="a different kind or scale"):
                replace(found, count=count).check_under(policy(name))
