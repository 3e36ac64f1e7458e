"""The stated noise law is that of the mechanisms, by exact sums, scipy and real draws."""

import itertools
from fractions import Fraction
from math import exp, hypot, sqrt
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from stream_app.analysis.release import Release, parts_of
from stream_app.privacy.kinds import Counts, Kind
from stream_app.privacy.noise.moments import Noise, half_width, laplace, planar
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.values import RawCells, ReleasedCells

DRAWS = 4_000
RATES = (0.003, 0.1, 0.7, 2.0, 9.0)
RANGE = {"lower": -3, "upper": 7, "resolution": 0.5}
NUMBER = {"kind": "number", **RANGE}
KINDS: dict[str, dict[str, object]] = {
    "number": {"value": NUMBER},
    "counts": {"value": {"kind": "counts", "keys": ["a", "b"], "sensitivity": 2}},
    "vector": {"value": {"kind": "vector", "parts": {"x": {**RANGE, "upper": 1}, "y": RANGE}}},
    "location": {
        "value": {
            "kind": "location",
            "radius": 200,
            "resolution": 50,
            "bounds": {"south": 48.8, "west": 2.2, "north": 48.9, "east": 2.4},
        }
    },
    "sum": {"collect": {"neighbours": "replace", "open_steps": 1, "statistic": "sum"}, "value": NUMBER},
    "mean": {"collect": {"neighbours": "replace", "open_steps": 1, "statistic": "mean"}, "value": NUMBER},
    "hidden": {"collect": {"neighbours": "add-remove", "open_steps": 1, "statistic": "mean"}, "value": NUMBER},
}


def policy(name: str) -> Policy:
    """Return a policy at event level for a kind."""
    common = {"epsilon": 1.0, "protection": {"level": "event"}, "scheme": {"name": "uniform"}}
    return policy_of(common | KINDS[name], 1)


def stream(number: int) -> BitStream:
    """Return separate bits for each number."""
    return BitStream(b"k" * 32, b"test", number.to_bytes(8))


@pytest.mark.parametrize("rate", RATES)
def test_discrete_laplace_by_exact_sums(rate: float) -> None:
    """Variance, fourth cumulant and the 95 % half width are those of the law, summed term by term in fractions."""
    q = Fraction(exp(-rate))
    most = int(60 / rate) + 2
    weights = [q**k for k in range(most)] if most < 200 else [Fraction(exp(-rate * k)) for k in range(most)]
    whole = weights[0] + 2 * sum(weights[1:])
    second = float(2 * sum(k**2 * weight for k, weight in enumerate(weights)) / whole)
    fourth = float(2 * sum(k**4 * weight for k, weight in enumerate(weights)) / whole)
    found = laplace(rate)
    assert found.variance == pytest.approx(second, rel=1e-9)
    assert found.fourth == pytest.approx(fourth - 3 * second**2, rel=1e-6)
    within = [float((weights[0] + 2 * sum(weights[1 : m + 1])) / whole) for m in (int(found.half) - 1, int(found.half))]
    assert within[1] >= 0.95
    assert found.half == 0 or within[0] < 0.95


@pytest.mark.parametrize("rate", RATES)
def test_discrete_laplace_by_scipy(rate: float) -> None:
    """Scipy's dlaplace has the same variance and quantile."""
    found = laplace(rate)
    assert found.variance == pytest.approx(stats.dlaplace(rate).var(), rel=1e-9)
    assert stats.dlaplace(rate).sf(found.half) * 2 <= 0.05 < stats.dlaplace(rate).sf(found.half - 1) * 2


@pytest.mark.parametrize("kind", ["number", "counts", "sum", "hidden"])
def test_a_scale_alone_tells_no_noise(kind: str) -> None:
    """A scale states neither the grid nor the counters' start noise: the policy has to be known."""
    numbers: dict[str, object] = {"counts": {"a": 3, "b": 4}, "hidden": {"sum": 3.0, "count": 4}}
    scales: dict[str, object] = {"hidden": {"sum": 9.0, "count": 2.0}}
    found = Release("s", 0, "perturbed", 1, None, numbers.get(kind, 1.5), scales.get(kind, 2.0), 10**9)
    assert found.quantities() == {}
    assert found.quantities(policy(kind)).keys() == policy(kind).kind.noises(10**9).keys()


@pytest.mark.parametrize("rate", [0.0999, 0.1001, 0.5, 3.0])
def test_planar_laplace_by_sums(rate: float) -> None:
    """The second and fourth moments of an axis are those of the lattice's weights."""
    reach = int(45 / rate)
    axis = np.arange(-reach, reach + 1)
    weights = np.exp(-rate * np.hypot(axis[:, None], axis[None, :])).sum(axis=1)
    second, fourth = (float((axis**power * weights).sum() / weights.sum()) for power in (2, 4))
    found = planar(rate)
    assert found.variance == pytest.approx(second, rel=1e-3)
    assert found.fourth == pytest.approx(fourth - 3 * second**2, rel=1e-3)
    assert weights[abs(axis) <= found.half + 1].sum() / weights.sum() >= 0.95
    assert weights[abs(axis) < found.half - 1].sum() / weights.sum() < 0.95


def test_planar_laplace_of_the_plane_by_quadrature() -> None:
    """A twentieth of the plane's density ``exp(-norm) / 2 pi`` is beyond the half width of an axis."""
    half = planar(0.01).half * 0.01

    def density(x: float) -> float:
        return float(quad(lambda y: exp(-hypot(x, y)) / np.pi, 0, np.inf)[0])

    assert 2 * quad(density, half, 60)[0] == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize("scales", [*((1.0,) * n for n in (2, 3, 5, 8, 20)), (1.0, 5.0), (1.0,) * 24 + (7.0,)])
def test_half_width_of_sums_by_quadrature(scales: tuple[float, ...]) -> None:
    """It covers 95 of 100 sums, and hardly more, by Gil-Pelaez's inversion of their characteristic function."""
    half = half_width(sum(2 * scale**2 for scale in scales), sum(12 * scale**4 for scale in scales))

    def integrand(t: float) -> float:
        return float(np.prod([1 / (1 + (scale * t) ** 2) for scale in scales])) * np.sinc(half * t / np.pi) * half

    within = 2 / np.pi * quad(integrand, 0, 200 / max(scales), limit=2000)[0]
    assert 0.95 <= within < 0.97


@pytest.mark.parametrize("spread", [1e-300, 1e-170, 1e-6, 1e-3, 0.1])
def test_half_width_of_noise_that_is_mostly_zero(spread: float) -> None:
    """If nearly all noise is 0 the expansion would diverge: Chebyshev's bound limits it."""
    noise = laplace(-np.log(spread))
    assert half_width(noise.variance, noise.fourth) <= 4.48 * sqrt(noise.variance)
    assert half_width(0.0, 0.0) == 0


def drawn(name: str, spend_nano: int) -> dict[str, list[float]]:
    """Return how far the mechanism's own measurements are from the truth, by part."""
    kind = policy(name).kind
    truth = RawCells({"hidden": (4, 10), "mean": (-20, 4)}.get(name, (1,) * kind.width))
    errors: dict[str, list[float]] = {}
    right = parts_of(published(kind, ReleasedCells(truth)))
    for number in range(DRAWS):
        found = parts_of(published(kind, kind.perturb(stream(number), truth, spend_nano)))
        for part, value in found.items():
            errors.setdefault(part, []).append(value - right[part])
    return errors


def published(kind: Kind, cells: ReleasedCells) -> object:
    """Return a measurement as it appears in its release."""
    return kind.measured(cells)


@pytest.mark.parametrize("name", KINDS)
def test_draws_have_this_noise(name: str) -> None:
    """Real draws of every kind have the stated variance, and 95 of 100 are within the half width."""
    for spend_nano in (400_000_000, 3_000_000_000):
        kind: Any = policy(name).kind
        noises = kind.noises(spend_nano, 4)
        errors = drawn(name, spend_nano)
        assert noises.keys() == errors.keys()
        for part, noise in noises.items():
            slack = 6 * sqrt((noise.fourth / noise.variance**2 + 2) / DRAWS)  # six deviations of a sample variance
            assert np.mean(np.square(errors[part])) == pytest.approx(noise.variance, rel=slack)
            within = np.mean(np.abs(errors[part]) <= noise.half * (1 + 1e-6))
            assert within > 0.95 - 6 * sqrt(0.05 * 0.95 / DRAWS)


def test_start_noise_of_collected_data_counts() -> None:
    """Pan-private counters carry two draws: variances add up, and 95 of 100 sums are within the half width."""
    alone = policy("counts").kind.noises(10**9)["a"]
    both = Counts(("a",), 2).noises(10**9, 1, 5 * 10**8)["a"]
    assert both.variance == pytest.approx(alone.variance + laplace(0.25).variance)
    law = {j: stats.dlaplace(0.5).pmf(j) for j in range(-80, 81)}
    within = sum(
        one * stats.dlaplace(0.25).pmf(k)
        for (j, one), k in itertools.product(law.items(), range(-160, 161))
        if abs(j + k) <= both.half
    )
    assert 0.95 <= within < 0.97


def test_categories_are_unbiased_shares() -> None:
    """Over the whole law of an answer the expectation is the truth, and the variance is at most the stated one."""
    known = policy_of(
        {
            "epsilon": 1.0,
            "protection": {"level": "event"},
            "scheme": {"name": "uniform"},
            "value": {"kind": "category", "categories": ["a", "b", "c"]},
        },
        1,
    )
    t = exp(0.7) / (exp(0.7) + 2)
    law = {"a": t, "b": (1 - t) / 2, "c": (1 - t) / 2}
    of = {
        answer: Release("s", 0, "perturbed", 1, answer, answer, 1 / 0.7, 700_000_000).quantities(known)
        for answer in law
    }
    for category, truth in (("a", 1.0), ("b", 0.0), ("c", 0.0)):
        expected = sum(chance * of[answer][category].number for answer, chance in law.items())
        square = sum(chance * of[answer][category].number ** 2 for answer, chance in law.items())
        assert expected == pytest.approx(truth)
        assert square - expected**2 <= of["a"][category].noise.variance * (1 + 1e-12)


def test_noise_is_in_the_unit() -> None:
    """Noise times a factor has the moments of the multiplied noise."""
    assert Noise(2.0, 3.0, 1.0).times(2) == Noise(8.0, 48.0, 2.0)
