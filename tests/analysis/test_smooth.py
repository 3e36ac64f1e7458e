"""The smoother is the exact posterior of its models: closer to the truth than the filter, with valid bands."""

import itertools
from math import log, pi
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from stream_app.analysis.release import Quantity, Release
from stream_app.analysis.smooth import course, moves, prior_of, smooth, smoothed, takes_smoothing
from stream_app.privacy.kinds import Number
from stream_app.privacy.kinds.default import Model
from stream_app.privacy.level import drifted, measured
from stream_app.privacy.noise.moments import Noise
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.values import LevelState, ReleasedCells

HOUR = 3_600_000
SPEND = 200_000_000
Matrix = npt.NDArray[np.float64]


def policy(value: dict[str, Any], **others: Any) -> Policy:
    """Return a policy at level event with steps of one hour."""
    common = {"epsilon": 1.0, "protection": {"level": "event", "step": HOUR}, "scheme": {"name": "balanced"}}
    return policy_of(common | {"value": value} | others, 1)


NUMBER = policy({"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001})


def dense(
    found: list[Quantity | None], moves: list[tuple[float, float]], prior: tuple[float, float] | None
) -> tuple[Matrix, Matrix, float]:
    """Return mean, variances and log evidence from the joint Gaussian of all steps, using only numpy.linalg."""
    n = len(found)
    precision, weighted = np.zeros((n, n)), np.zeros(n)
    centre = 0.0 if prior is None else prior[0]
    for nth, (factor, variance) in enumerate(moves):
        edge = np.zeros(n)
        edge[nth], edge[nth + 1] = -factor, 1
        precision += np.outer(edge, edge) / variance
    if prior is not None:
        precision[0, 0] += 1 / prior[1]
    joint = np.linalg.inv(precision) if prior is not None else precision
    for nth, quantity in enumerate(found):
        if quantity is not None:
            precision[nth, nth] += 1 / quantity.noise.variance
            weighted[nth] += (quantity.number - centre) / quantity.noise.variance
    covariance = np.linalg.inv(precision)
    evidence = 0.0
    if prior is not None:
        seen = [nth for nth, quantity in enumerate(found) if quantity is not None]
        joint = joint[np.ix_(seen, seen)]
        joint += np.diag([quantity.noise.variance for quantity in found if quantity is not None])
        miss = np.array([quantity.number for quantity in found if quantity is not None]) - prior[0]
        evidence = -(miss @ np.linalg.solve(joint, miss) + np.linalg.slogdet(joint)[1] + len(seen) * log(2 * pi)) / 2
    return centre + covariance @ weighted, np.diag(covariance), evidence


def quantities(seed: int, n: int, missing: float) -> tuple[list[Quantity | None], list[float]]:
    """Return invented measurements with unequal noise, some of them missing, and gaps of one or more steps."""
    draw = np.random.default_rng(seed)
    found = [
        None if draw.random() < missing else Quantity(draw.normal(3, 4), Noise(draw.uniform(0.1, 50), 0.0, 0.0))
        for _ in range(n)
    ]
    return found, [float(draw.integers(1, 9)) for _ in range(n - 1)]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("bounds", [(0.0, 10.0), None])
def test_course_is_the_dense_posterior(seed: int, bounds: tuple[float, float] | None) -> None:
    """One model's means, variances and evidence equal those of the joint Gaussian, even around missing steps."""
    found, gaps = quantities(seed, 40, 0.4)
    for drift in (0.0004, 0.1, 6.0):
        model = Model((drift,), bounds)
        prior = prior_of(model)
        steps = moves(prior, drift, gaps)
        means, variances, evidence = dense(found, steps, prior)
        got = course(found, steps, prior)
        assert got.means == pytest.approx(list(means), rel=1e-9, abs=1e-9)
        assert got.variances == pytest.approx(list(variances), rel=1e-9, abs=1e-9)
        assert bounds is None or got.evidence == pytest.approx(evidence, rel=1e-9)


def test_models_are_weighed_by_evidence() -> None:
    """The average over models equals that of the mixture of dense posteriors."""
    found, gaps = quantities(5, 30, 0.3)
    (model,) = NUMBER.kind.models.values()
    prior = prior_of(model)
    posteriors = [dense(found, moves(prior, drift, gaps), prior) for drift in model.drifts]
    weights = np.exp([evidence - max(each[2] for each in posteriors) for *_, evidence in posteriors])
    weights /= weights.sum()
    mean = sum(weight * each[0] for weight, each in zip(weights, posteriors, strict=True))
    square = sum(weight * (each[1] + each[0] ** 2) for weight, each in zip(weights, posteriors, strict=True))
    got = smoothed(found, gaps, model)
    assert [each.estimate for each in got] == pytest.approx(list(np.clip(mean, 0, 10)), abs=1e-9)
    assert [each.deviation**2 for each in got] == pytest.approx(list(square - mean**2), abs=1e-9)
    assert all(0 <= each.low <= each.estimate <= each.high <= 10 for each in got)


def walked(draw: np.random.Generator, steps: int, model: Model, drift: float) -> list[float]:
    """Return a course drawn from the model."""
    prior = prior_of(model)
    assert prior is not None
    centre, variance = prior
    found = [draw.normal(0, np.sqrt(variance))]
    for factor, added in moves(prior, drift, [1.0] * (steps - 1)):
        found.append(factor * found[-1] + draw.normal(0, np.sqrt(added)))
    return [centre + each for each in found]


def filtered(kind: Number, cells: list[int], spend_nano: int) -> list[float]:
    """Return what the filter publishes at each step, with one measurement per step."""
    state: LevelState = ()
    found: list[float] = []
    for nth, cell in enumerate(cells):
        state, (estimate,) = measured(kind, state, ReleasedCells((cell,)), spend_nano, min(nth, 1))
        found.append(min(10.0, max(0.0, kind.axis.double(estimate))))
    return found


@pytest.mark.parametrize("spend_nano", [10**9, 4 * 10**9, 20 * 10**9])
def test_nearer_than_the_filter_and_bands_hold(spend_nano: int) -> None:
    """On courses of the models with real noise, the smoother is more accurate than the filter, and bands hold."""
    kind = NUMBER.kind
    assert isinstance(kind, Number)
    (model,) = kind.models.values()
    draw = np.random.default_rng(spend_nano)
    smoothers, filters, held = [], [], []
    for nth in range(200):
        truth = np.clip(walked(draw, 100, model, model.drifts[nth % len(model.drifts)]), 0, 10)
        noise = draw.geometric(1 - np.exp(-spend_nano / 1e9 / kind.sensitivity), (2, len(truth)))
        cells = [kind.axis.nearest(true) + int(k) for true, k in zip(truth.tolist(), noise[0] - noise[1], strict=True)]
        releases = [
            Release("s", at * HOUR, "perturbed", 1, 0.0, cell / 1000, 1.0, spend_nano) for at, cell in enumerate(cells)
        ]
        courses = [found[""] for found in smooth(releases, NUMBER)]
        smoothers.append(np.mean((np.array([each.estimate for each in courses]) - truth) ** 2))
        filters.append(np.mean((np.array(filtered(kind, cells, spend_nano)) - truth) ** 2))
        held.append(np.mean([each.low <= true <= each.high for each, true in zip(courses, truth, strict=True)]))
    assert np.mean(smoothers) <= np.mean(filters)
    assert np.mean(held) >= 0.95 - 4 * np.std(held) / np.sqrt(len(held))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_bands_of_counts_hold(epsilon: float) -> None:
    """Bands also hold for integers under noise with heavier tails than the normal noise that the model assumes."""
    made = policy({"kind": "counts", "keys": ["walk"]})
    (model,) = made.kind.models.values()
    draw, held = np.random.default_rng(7), []
    for nth in range(150):
        drift = model.drifts[nth % len(model.drifts)]
        truth = np.round(100 + np.cumsum(draw.normal(0, np.sqrt(drift), 60)))
        noise = draw.geometric(1 - np.exp(-epsilon), (2, len(truth)))
        releases = [
            Release("s", at * HOUR, "perturbed", 1, None, {"walk": float(count)}, None, round(epsilon * 10**9))
            for at, count in enumerate(truth + noise[0] - noise[1])
        ]
        bands = [found["walk"] for found in smooth(releases, made)]
        held.append(np.mean([each.low <= true <= each.high for each, true in zip(bands, truth, strict=True)]))
    assert np.mean(held) >= 0.95


def test_steps_without_measurement_are_bridged() -> None:
    """Approximated and withheld steps are estimated from both sides, with a wider band than their neighbours."""
    known = [*range(1, 11), *range(20, 30)]
    releases = [Release("s", 0, "withheld", 1)]
    for nth in range(1, 30):
        level = 2.0 if nth < 15 else 4.0
        perturbed = Release("s", nth * HOUR, "perturbed", 1, level, level, 0.1, 10**11)
        repeated = Release("s", nth * HOUR, "approximated", 1, 2.0, source_ms=10 * HOUR)
        releases.append(perturbed if nth in known else repeated)
    found = [each[""] for each in smooth(releases, NUMBER)]
    assert found[10].estimate < found[15].estimate < found[20].estimate
    assert found[15].deviation > max(found[nth].deviation for nth in known)
    assert found[0].deviation > found[1].deviation


def test_kinds_by_part() -> None:
    """Counts, vectors and positions are smoothed part by part, with the drifts of the filter."""
    counts = policy({"kind": "counts", "keys": ["a", "b"]})
    found = smooth(
        [Release("s", n * HOUR, "perturbed", 1, {}, {"a": 5, "b": -1}, 5.0, 10**8) for n in range(50)], counts
    )
    assert found[25]["a"].estimate == pytest.approx(5)
    assert found[25]["a"].deviation < np.sqrt(counts.kind.noises(10**8)["a"].variance) / 2
    place = {"south": 48.8, "west": 2.2, "north": 48.9, "east": 2.4}
    location = policy({"kind": "location", "radius": 200, "resolution": 50, "bounds": place})
    at = {"latitude": 48.85, "longitude": 2.3}
    (first,) = smooth([Release("s", 0, "perturbed", 1, at, at, 1000.0, SPEND)], location)
    assert {name: part.estimate for name, part in first.items()} == pytest.approx(at)
    vector = policy({"kind": "vector", "parts": {"x": {"lower": 0, "upper": 1, "resolution": 0.1}}})
    assert list(vector.kind.models) == ["x"]
    assert smooth([Release("s", 0, "withheld", 1)], counts) == [{}]


def test_drifts_are_those_of_the_filter() -> None:
    """A step without a measurement widens the filter's models by the same variance."""
    kind = NUMBER.kind
    (model,) = kind.models.values()
    state = (5.0, 0.0, 0.0) * len(model.drifts)
    moved = drifted(kind, state, 1)
    assert tuple(moved[1::3]) == pytest.approx(model.drifts)
    assert prior_of(model) == (5.0, 100 / 12)


def test_categories_by_enumeration() -> None:
    """Forward and backward passes give the posterior that adding up all histories of the chain gives."""
    made = policy({"kind": "category", "categories": ["a", "b", "c"]}, scheme={"name": "uniform"})
    answers = ["a", None, "c", "c", "b"]
    releases = [
        Release("s", nth * HOUR, "withheld", 1)
        if answer is None
        else Release("s", nth * HOUR, "perturbed", 1, answer, answer, 1.0, 10**9)
        for nth, answer in enumerate(answers)
    ]
    t = np.e / (np.e + 2)
    f = (1 - t) / 2
    seen = {name: sum((t - f) * ((each == name) - f) for each in answers if each) for name in "abc"}
    raw = {name: max(0.001, (seen[name] + 2 / 3) / (4 * (t - f) ** 2 + 2)) for name in "abc"}
    shares = {name: part / sum(raw.values()) for name, part in raw.items()}
    weights: dict[tuple[str, ...], float] = {}
    for history in itertools.product("abc", repeat=5):
        weight = shares[history[0]]
        for before, after in itertools.pairwise(history):
            weight *= 0.5 * (before == after) + 0.5 * shares[after]
        for true, answer in zip(history, answers, strict=True):
            weight *= 1 if answer is None else t if true == answer else f
        weights[history] = weight
    whole = sum(weights.values())
    for nth, found in enumerate(smooth(releases, made)):
        for name in "abc":
            exact = sum(weight for history, weight in weights.items() if history[nth] == name) / whole
            assert found[name].estimate == pytest.approx(exact, abs=1e-12)


def test_statistics_have_no_model() -> None:
    """A sum over contributors has no filter and no smoother."""
    collected = policy(
        {"kind": "number", "lower": 0, "upper": 10, "resolution": 1},
        collect={"neighbours": "replace", "open_steps": 1, "statistic": "sum"},
    )
    assert not takes_smoothing(collected.kind)
    assert collected.kind.models == {}
    assert takes_smoothing(NUMBER.kind)
    assert smoothed([None], [], Model((1.0,), None)) == []
