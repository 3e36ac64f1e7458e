"""Expected errors compared with the mechanisms themselves and with oracles that we did not write."""

from math import exp, hypot, sqrt
from statistics import fmean, stdev

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import dlaplace

from stream_app.outlook.error import expected_error
from stream_app.privacy.kinds import Category, Counts, Location, Number, Vector
from stream_app.privacy.noise.draws import noise_stream
from stream_app.privacy.noise.law import mean_magnitude, mean_sum
from stream_app.privacy.noise.moments import FINE, mean_norm
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.values import NANO, Raw, RawCells
from tests.run import CATEGORY, COUNTS, KINDS, LOCATION, NUMBER, SAMPLES, UNIFORM

SECRET = bytes(range(32))


def compiled(value: dict[str, object], **members: object) -> Policy:
    """Return a policy over a kind."""
    plain = {"epsilon": 1.0, "protection": {"level": "event"}, "scheme": UNIFORM, "value": value}
    return policy_of(plain | members, 1)


def error_of(policy: Policy, cells: RawCells, spend_nano: int, number: int) -> float:
    """Return the error of one measurement by the real mechanism, in the unit of `expected_error`."""
    kind = policy.kind
    noise = noise_stream(SECRET, 0, policy, "series", number, spend_nano, cells)
    measured = list(kind.perturb(noise, cells, spend_nano))
    apart = [abs(new - old) for new, old in zip(measured, cells, strict=True)]
    match kind:
        case Number():
            return apart[0] * 0.001
        case Counts():
            return apart[0]
        case Category():
            return float(apart[0] > 0)
        case Location():
            return hypot(*apart) / float(kind.plane.cells_per_unit)
        case Vector():
            return apart[0] / 30 / 2 + apart[1] / 190 / 2
        case _:
            raise AssertionError(f"compute the error of {type(kind).__name__} here, independently of the kind")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_expected_error_is_the_mean_of_the_mechanism(kind: str, epsilon: float, draws: int) -> None:
    """It is within five standard errors of the mean over keyed draws; 20 % more or less is not."""
    policy = compiled(KINDS[kind])
    cells, spend_nano = policy.kind.quantise(Raw(SAMPLES[kind].values[0])), int(epsilon * NANO)
    assert cells is not None
    errors = [error_of(policy, cells, spend_nano, number) for number in range(draws // 4)]
    apart = 5 * stdev(errors) / sqrt(len(errors))
    expected = expected_error(policy, spend_nano)
    assert abs(fmean(errors) - expected) <= apart
    if apart < 0.1 * expected or epsilon < 8:  # what is wrong once in a thousand times needs more draws to be told
        assert abs(fmean(errors) - 1.2 * expected) > apart
        assert abs(fmean(errors) - 0.8 * expected) > apart


@pytest.mark.parametrize("rate", [1e-6, 0.001, 0.3, 1.0, 5.0, 40.0])
def test_discrete_laplace_against_scipy(rate: float) -> None:
    """The mean of |k| equals the sum over scipy's distribution."""
    reach = int(60 / rate) + 1
    if reach <= 100_000:
        magnitudes = np.arange(1, reach)
        summed = 2 * float(magnitudes @ dlaplace.pmf(magnitudes, rate))
        assert mean_magnitude(rate) == pytest.approx(summed, rel=1e-9)
    else:
        assert mean_magnitude(rate) == pytest.approx(1 / rate, rel=1e-9)


@pytest.mark.parametrize("rates", [(0.05, 0.05), (0.05, 0.7), (2.0, 0.1), (3.0, 3.0)])
def test_noise_upon_noise_against_a_convolution(rates: tuple[float, float]) -> None:
    """For pan-private counters, the mean of two summed draws is that of scipy's distributions convolved."""
    reach = int(60 / min(rates)) + 1
    around = np.arange(-reach, reach + 1)
    both = np.convolve(dlaplace.pmf(around, rates[0]), dlaplace.pmf(around, rates[1]))
    assert mean_sum(*rates) == pytest.approx(float(both @ np.abs(np.arange(-2 * reach, 2 * reach + 1))), rel=1e-9)
    assert mean_sum(*rates) == pytest.approx(mean_sum(*rates[::-1]), rel=1e-12)


def test_collected_counts_may_start_with_noise() -> None:
    """With ``intrusion_nano`` the error is that of both noises, under the sensitivity of the neighbours."""
    value: dict[str, object] = {"kind": "counts", "keys": ["walk"]}
    collect = {"neighbours": "replace", "open_steps": 2}
    bare = compiled(value, collect=collect)
    noisy = compiled(value, collect={**collect, "intrusion_nano": NANO // 2})
    assert expected_error(bare, NANO) == mean_magnitude(1 / 2)
    assert expected_error(noisy, NANO) == mean_sum(1 / 4, 1 / 2)


@pytest.mark.parametrize(("rates", "times"), [((0.5, 0.1), 3), ((1.0, 0.02), 40)])
def test_noise_times_noise_against_a_sum(rates: tuple[float, float], times: int) -> None:
    """For a mean of a hidden number, the result is the mean of |times * j + k|, term by term."""
    around = np.arange(-800, 801)
    chances = np.outer(dlaplace.pmf(around, rates[0]), dlaplace.pmf(around, rates[1]))
    apart = np.abs(times * around[:, None] + around[None, :])
    assert mean_sum(*rates, times) == pytest.approx(float((chances * apart).sum()), rel=1e-5)


@pytest.mark.parametrize("rate", [FINE, 0.5, 1.0, 4.0, 30.0])
def test_lattice_against_a_literal_sum(rate: float) -> None:
    """All four quadrants, every point."""
    reach = min(int(40 / rate) + 1, 400)
    points = [hypot(x, y) for x in range(-reach, reach + 1) for y in range(-reach, reach + 1)]
    weights = [exp(-rate * norm) for norm in points]
    mean = sum(norm * weight for norm, weight in zip(points, weights, strict=True)) / sum(weights)
    assert mean_norm(rate) == pytest.approx(mean, rel=1e-9)


def test_below_the_lattice_it_is_the_plane() -> None:
    """The radius of the plane has density r exp(-rate r), and the two formulas nearly agree where they meet."""
    rate = 0.01
    above, _ = quad(lambda r: r * r * exp(-rate * r), 0, 60 / rate)
    below, _ = quad(lambda r: r * exp(-rate * r), 0, 60 / rate)
    assert mean_norm(rate) == pytest.approx(above / below, rel=1e-9)
    assert mean_norm(FINE) == pytest.approx(2 / FINE, rel=6e-5)


def test_sensitivities() -> None:
    """They are the distances between neighbours, in the unit of the error."""
    found = {kind: compiled(value).kind.largest_change for kind, value in KINDS.items()}
    vector = {"oxygen": pytest.approx(0.3), "pulse": 190.0}
    assert found == {"number": 10.0, "location": 500.0, "counts": 2, "category": None, "vector": vector}
    number: dict[str, object] = {"kind": "number", "lower": -3, "upper": 7, "resolution": 0.5}
    collected = {
        (statistic, neighbours): compiled(number, collect=collect | {"open_steps": 1}).kind.largest_change
        for statistic in ("sum", "mean")
        for neighbours in ("replace", "add-remove")
        for collect in ({"statistic": statistic, "neighbours": neighbours},)
    }
    assert collected == {
        ("sum", "replace"): 10.0,
        ("sum", "add-remove"): 7.0,
        ("mean", "replace"): 10.0,
        ("mean", "add-remove"): {"sum": 5.0, "count": 1},
    }


def test_kinds_have_their_units() -> None:
    """The units are a cell for counts, the value's unit, metres, and a probability."""
    spend = NANO // 10
    assert expected_error(compiled(NUMBER), spend) == pytest.approx(10 / 0.1, rel=1e-3)
    assert expected_error(compiled(COUNTS), spend) == pytest.approx(2 / 0.1, rel=1e-3)
    assert expected_error(compiled(LOCATION), spend) == pytest.approx(2 * (1.005 * 500 + 10 * sqrt(2)) / 0.1, rel=1e-3)
    assert expected_error(compiled(CATEGORY), spend) == pytest.approx(1 - exp(0.1) / (exp(0.1) + 3), rel=1e-9)
