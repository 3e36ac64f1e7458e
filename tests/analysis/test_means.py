"""Means of measurements: intervals contain the truth as often as stated, and nothing else enters the means."""

from dataclasses import replace
from itertools import islice, product
from math import exp, inf, lcm, prod, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, dlaplace

from stream_app.analysis.means import Figure, MeasuredRelease, figure_of, mean, means
from stream_app.analysis.policies import Policies, registered
from stream_app.analysis.release import Quantity, Release
from stream_app.analysis.windows import by_clock, is_landmark, window
from stream_app.privacy.kinds import HiddenMean
from stream_app.privacy.noise.moments import Noise, laplace
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.values import RawCells

HOUR = 3_600_000
NUMBER = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.01}
TRIALS = 1_500
SLACK = 5 * sqrt(0.05 * 0.95 / TRIALS)


def policy(**others: Any) -> Policy:
    """Return a policy over numbers, with other members."""
    common = {
        "epsilon": 1.0,
        "protection": {"level": "landmark", "landmarks": [[2 * HOUR, 5 * HOUR]], "step": HOUR},
        "scheme": {"name": "uniform"},
        "value": NUMBER,
    }
    return policy_of(common | others, 1)


def perturbed(timestamp_ms: int, measurement: object, epsilon_nano: int = 10**9, scale: object = 1.0) -> Release:
    """Return a release with a measurement."""
    return Release("s", timestamp_ms, "perturbed", 1, 0.0, measurement, scale, epsilon_nano)


@pytest.mark.parametrize("steps", [1, 2, 30])
def test_intervals_hold_the_truth(steps: int) -> None:
    """Over real draws with unequal spends, 95 of 100 intervals contain the mean of the true values."""
    made, figure = policy(), Figure(0.0, 0.0, 0.0, 0.0, 0)
    truth, spends = [3 + 0.02 * n for n in range(steps)], [10**8 * (1 + n % 4) for n in range(steps)]
    held = 0
    for trial in range(TRIALS):
        releases = []
        for nth, (true, spend) in enumerate(zip(truth, spends, strict=True)):
            stream = BitStream(b"m" * 32, b"test", (trial * 64 + nth).to_bytes(8))
            noisy = made.kind.perturb(stream, RawCells((round(true * 100),)), spend)
            releases.append(perturbed(nth, made.kind.publish(noisy), spend))
        figure = mean(MeasuredRelease(release, made) for release in releases)[""]
        held += figure.low - 1e-9 <= sum(truth) / steps <= figure.high + 1e-9
    assert abs(held / TRIALS - 0.95) < SLACK + 0.005
    assert figure.standard_error == pytest.approx(
        sqrt(sum(made.kind.noises(spend)[""].variance for spend in spends)) / steps
    )


def test_hidden_means_are_ratios_of_sums() -> None:
    """A mean over hidden numbers first adds up sums and counts; its interval contains the truth."""
    made = policy(collect={"neighbours": "add-remove", "open_steps": 1, "statistic": "mean"})
    kind, held, figures = made.kind, 0, dict[str, Figure]()
    assert isinstance(kind, HiddenMean)
    for trial in range(TRIALS):
        releases = []
        for nth in range(5):
            stream = BitStream(b"h" * 32, b"test", (trial * 8 + nth).to_bytes(8))
            noisy = kind.perturb(stream, RawCells((40 * 150, 40)), 10**9)  # 40 people of 6.5 each, 1.5 above the middle
            releases.append(perturbed(nth, kind.measured(noisy)))
        figures = mean(MeasuredRelease(release, made) for release in releases)
        held += figures[""].low <= 6.5 <= figures[""].high
    assert abs(held / TRIALS - 0.95) < SLACK + 0.01
    assert figures.keys() == {"", "sum", "count"}


def test_a_number_lost_in_noise_has_no_end() -> None:
    """If the number of contributors may be 0, the mean may be anything, and its interval is infinite."""
    made = policy(collect={"neighbours": "add-remove", "open_steps": 1, "statistic": "mean"})
    found = mean([MeasuredRelease(perturbed(0, {"sum": 4.0, "count": 1}), made)])[""]
    assert (found.low, found.high) == (-inf, inf)
    assert mean([MeasuredRelease(perturbed(0, {"sum": 4.0, "count": -1}), made)])[""].standard_error == inf


def test_only_measurements_enter() -> None:
    """Approximated and withheld releases do not enter a mean; without any measurement there is no mean."""
    repeat = Release("s", HOUR, "approximated", 1, 7.0, source_ms=0)
    withheld = Release("s", 2 * HOUR, "withheld", 1)
    found = mean([MeasuredRelease(each, policy()) for each in (perturbed(0, 5.0), repeat, withheld)])[""]
    assert (found.estimate, found.steps) == (5.0, 1)
    assert mean([MeasuredRelease(repeat, policy()), MeasuredRelease(withheld, policy())]) == {}
    assert means([MeasuredRelease(repeat, policy())], by_clock("hour")) == {}


def test_parts_have_means_of_their_own() -> None:
    """Counts and vectors give one figure per part, each with its own noise."""
    counts = policy(value={"kind": "counts", "keys": ["a", "b"], "sensitivity": 2})
    found = mean([MeasuredRelease(perturbed(n, {"a": 1 + n, "b": 10}), counts) for n in range(2)])
    assert found["a"].estimate == 1.5
    assert found["b"].standard_error == pytest.approx(sqrt(2 * dlaplace(1 / 2.0).var()) / 2)
    parts = {name: {"lower": 0, "upper": upper, "resolution": 1} for name, upper in (("x", 1), ("y", 2))}
    vector = policy(value={"kind": "vector", "parts": parts})
    two = mean([MeasuredRelease(perturbed(0, {"x": 1.0, "y": 2.0}), vector)])
    assert two["x"].standard_error == pytest.approx(sqrt(dlaplace(1 / 2).var()))  # two parts share the epsilon
    assert two["y"].standard_error == pytest.approx(sqrt(dlaplace(1 / 4).var()))


def test_categories_need_the_policy() -> None:
    """A category alone has no unbiased estimate; with the policy, it becomes a share of each category."""
    made = policy(value={"kind": "category", "categories": [True, False]}, protection={"level": "event"})
    answers = [perturbed(n, n % 4 > 0) for n in range(400)]
    assert mean(map(MeasuredRelease, answers)) == {}
    found = mean(MeasuredRelease(answer, made) for answer in answers)
    assert found["true"].estimate + found["false"].estimate == pytest.approx(1)
    assert found["true"].estimate == pytest.approx(0.5 + 0.25 / (2 * 0.7310585786300049 - 1))


def test_windows() -> None:
    """Means are taken by hour of the day, weekday or date in a time zone, or by windows of equal length."""
    releases = [MeasuredRelease(perturbed(n * HOUR, float(n % 24)), policy()) for n in range(48)]
    by_hour = means(releases, by_clock("hour", "Asia/Kolkata"))  # 5 h 30 ahead
    assert by_hour[5][""].estimate == 0.0
    assert {figures[""].steps for figures in by_hour.values()} == {2}
    assert [str(key) for key in means(releases, by_clock("day"))] == ["1970-01-01", "1970-01-02"]
    assert list(means(releases, by_clock("weekday"))) == [4, 5]
    assert list(means(releases, window(12 * HOUR, 0))) == [n * 12 * HOUR for n in range(4)]
    assert list(means(releases, window(24 * HOUR, 30 * HOUR))) == [(24 * n - 18) * HOUR for n in range(3)]


def test_landmarks_by_the_policy() -> None:
    """Flags follow from the public policy and later registrations; landmarks hidden by dummies have no flag."""
    made = policy()
    flags = [is_landmark(perturbed(n * HOUR, 1.0), registered(made, [[6 * HOUR + 1, 7 * HOUR - 1]])) for n in range(8)]
    assert flags == [False, False, True, True, True, False, True, False]
    drawn = policy(dummies={"method": "padding", "probability": 0.5, "start": 0, "end": 9 * HOUR})
    assert is_landmark(perturbed(0, 1.0), drawn) is None
    user = policy(protection={"level": "user", "length": 9, "step": HOUR})
    assert is_landmark(perturbed(0, 1.0), user) is True
    assert is_landmark(perturbed(0, 1.0), policy(protection={"level": "event"})) is False


def test_looks_by_the_ledger() -> None:
    """A look counts for the steps that it exposed in its series and version; another version starts from zero."""
    collected = policy(
        protection={"level": "event", "step": HOUR},
        collect={"neighbours": "replace", "open_steps": 2, "statistic": "sum", "intrusion_nano": 10**9},
    )
    ledger, told = Policies(), {"series": "s", "policy": 1}
    ledger.entry(told | {"entry": "policy", "parameters": collected.parameters})
    ledger.entry(told | {"entry": "policy", "policy": 2, "parameters": collected.parameters})
    for exposed in ([[0, 2 * HOUR]], [[HOUR, 3 * HOUR]], [[HOUR, 3 * HOUR]]):
        ledger.entry(told | {"entry": "intrusion", "exposed": exposed})
    ledger.entry({"entry": "intrusion", "series": "t", "policy": 1, "exposed": [[0, HOUR]]})
    assert [ledger.of(perturbed(n * HOUR, 1.0)).release.looks for n in range(4)] == [1, 3, 2, 0]
    assert ledger.of(replace(perturbed(0, 1.0), policy=2)).release.looks == 0
    assert ledger.of(replace(perturbed(0, 1.0), series="t")) == MeasuredRelease(replace(perturbed(0, 1.0), series="t"))
    with pytest.raises(TypeError):
        ledger.entry(told | {"entry": "intrusion", "exposed": [["0", "1"]]})


def test_best_constant_is_the_median() -> None:
    """No constant on a fine grid has a smaller mean error."""
    truth = [0.3, 0.4, 9.0, 2.2, 0.1]
    best = policy().kind.item.best_constant(truth)
    assert isinstance(best, float)

    def error(constant: float) -> float:
        return float(np.mean(np.abs(np.array(truth) - constant)))

    assert all(error(best) <= error(constant / 100) + 1e-12 for constant in range(1001))


def test_figures_are_plain() -> None:
    """A figure is a named tuple, which frames and JSON accept unchanged."""
    names = {"estimate", "standard_error", "low", "high", "steps", "units"}
    assert Figure(1.0, 0.1, 0.8, 1.2, 3)._asdict().keys() == names
    assert list(islice(Figure(1.0, 0.1, 0.8, 1.2, 3), 2)) == [1.0, 0.1]


COUNTS = [1, 2, 3, 7, 12, 24, 100, 168]


@pytest.mark.parametrize("steps", COUNTS)
def test_means_of_counts_hold_the_truth_exactly(steps: int) -> None:
    """Coverage follows from convolving the law of discrete Laplace noise.

    At large epsilons, a sum takes only a few integer values.
    """
    for tenths in (*range(3, 81, 3), 57, 76, 100, 150):
        epsilon = tenths / 10
        half = figure_of([Quantity(5.0, laplace(epsilon))] * steps)
        width = round((half.high - half.estimate) * steps + 1e-9, 6)
        grid = np.arange(-60, 61)
        law = np.exp(-epsilon * abs(grid))
        law /= law.sum()
        summed = law
        for _ in range(steps - 1):
            summed = np.convolve(summed, law)
        sums = abs(np.arange(len(summed)) - len(summed) // 2)
        assert summed[sums <= width].sum() > 0.935, (epsilon, width)


@pytest.mark.parametrize("steps", COUNTS)
@pytest.mark.parametrize("categories", [2, 3, 5, 20])
def test_shares_of_categories_hold_the_truth_exactly(steps: int, categories: int) -> None:
    """This follows from the law of hits at steps with and without the category; sure answers are skewed."""
    for tenths in (3, 10, 20, 37, 49, 60, 80):
        weight = exp(tenths / 10)
        t, f = weight / (weight + categories - 1), 1 / (weight + categories - 1)
        noise = Noise(max(t * (1 - t), f * (1 - f)) / (t - f) ** 2, 0.0, 1 / (t - f), chances=(t, f))
        intervals = []
        for hits in range(steps + 1):
            answers = [Quantity((nth < hits) / (t - f) - f / (t - f), noise) for nth in range(steps)]
            found = figure_of(answers)
            intervals.append((found.low - 1e-12, found.high + 1e-12))
        for true in {0, steps // 4, steps // 2, steps}:
            law = np.convolve(binom.pmf(range(true + 1), true, t), binom.pmf(range(steps - true + 1), steps - true, f))
            held = sum(
                chance for chance, (low, high) in zip(law, intervals, strict=True) if low <= true / steps <= high
            )
            assert held > 0.945, (tenths, true)


def test_shares_at_several_budgets_hold_the_truth_exactly() -> None:
    """Intervals for answers with unequal probabilities cover enough, by enumeration of all possible answers."""
    pairs = [(exp(e) / (exp(e) + 1), 1 / (exp(e) + 1)) for e in (0.5, 0.5, 1.0, 3.7, 3.7, 3.7, 3.7, 4.9)]
    noises = [Noise(t * (1 - t) / (t - f) ** 2, 0.0, 1 / (t - f), chances=(t, f)) for t, f in pairs]
    for true in range(len(pairs) + 1):
        held = 0.0
        for answers in product((False, True), repeat=len(pairs)):
            chances = (t if nth < true else f for nth, (t, f) in enumerate(pairs))
            chance = prod(p if hit else 1 - p for p, hit in zip(chances, answers, strict=True))
            quantities = [
                Quantity((hit - f) / (t - f), noise) for hit, (t, f), noise in zip(answers, pairs, noises, strict=True)
            ]
            found = figure_of(quantities)
            held += chance * (found.low <= true / len(pairs) <= found.high)
        assert held >= 0.95


def summed(rate: float, steps: int) -> dict[int, float]:
    """Return the law of a sum of discrete Laplace noise, except for a millionth of it."""
    law = dlaplace(rate).pmf(np.arange(-60, 61))
    whole = law
    for _ in range(steps - 1):
        whole = np.convolve(whole, law)
    middle = len(whole) // 2
    return {nth - middle: chance for nth, chance in enumerate(whole.tolist()) if chance > 1e-9}


@pytest.mark.parametrize(
    ("epsilon", "steps", "ayes"), [(5, 2, 1000), (8, 10, 1000), (4, 1, 625), (8, 1, 500), (6, 3, 875), (2, 1, 500)]
)
def test_means_of_hidden_numbers_hold_the_truth_exactly(epsilon: int, steps: int, ayes: int) -> None:
    """Coverage is computed over all possible sums and counts of a thousand votes.

    The noise is not normal, and it is on a grid.
    """
    votes = {"kind": "number", "lower": 0, "upper": 1, "resolution": 1}
    made = policy(value=votes, collect={"neighbours": "add-remove", "open_steps": 1, "statistic": "mean"})
    law, held = summed(epsilon / 2, steps), 0.0
    for (more, one), (others, other) in product(law.items(), law.items()):
        answers = [(ayes + more, 1000 + others), *[(ayes, 1000)] * (steps - 1)]
        releases = [
            perturbed(nth, {"sum": float(s), "count": n}, epsilon * 10**9) for nth, (s, n) in enumerate(answers)
        ]
        figure = mean(MeasuredRelease(release, made) for release in releases)[""]
        held += one * other * (figure.low - 1e-12 <= ayes / 1000 <= figure.high + 1e-12)
    assert held >= 0.95


@pytest.mark.parametrize("numbers", [(1, 2), (2, 2, 3), (5, 5, 10), (9, 10, 11, 12)])
@pytest.mark.parametrize("rate", [0.5, 1.5, 3.0, 3.5, 6.0])
def test_means_over_unequal_numbers_hold_the_truth_exactly(rate: float, numbers: tuple[int, ...]) -> None:
    """The noise of a mean of n items is a multiple of 1/n; a sum of such noise is neither on a grid nor normal."""
    found = figure_of([Quantity(0.0, laplace(rate).times(1 / number)) for number in numbers])
    whole = lcm(*numbers)
    law = {0: 1.0}
    for number in numbers:
        wider: dict[int, float] = {}
        for (at, chance), (noise, other) in product(law.items(), summed(rate, 1).items()):
            there = at + noise * whole // number
            wider[there] = wider.get(there, 0.0) + chance * other
        law = {at: chance for at, chance in wider.items() if chance > 1e-8}
    reach = found.high * len(numbers) * whole + 1e-6
    assert sum(chance for at, chance in law.items() if abs(at) <= reach) >= 0.95
