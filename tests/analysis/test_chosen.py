"""Rows chosen by their noise are recognised; the oracle for the noise is scipy's discrete Laplace."""

from math import log

import numpy as np
import pytest
from scipy import stats

from stream_app.analysis.chosen import FEWEST, MOST_LIKELY, _log_beyond, _log_probability, chosen_by_noise, gaps
from stream_app.analysis.means import MeasuredRelease
from stream_app.analysis.release import Release
from stream_app.privacy.kinds import Number
from tests.run import default

POLICY = default("*", value={"kind": "number", "lower": 0, "upper": 10, "resolution": 0.5}).policy


def measured(cells: "np.ndarray[tuple[int], np.dtype[np.int64]]", scale: float, step: int = 1) -> list[MeasuredRelease]:
    """Return releases of measurements on the grid of 0.5."""
    return [
        MeasuredRelease(Release("a", step * nth, "perturbed", 1, measurement=cell / 2, scale=scale), POLICY)
        for nth, cell in enumerate(cells.tolist())
    ]


def drawn(random: np.random.Generator, count: int, scale: float) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Return true cells that rise and fall within the range, with noise; the scale is in units."""
    noise = stats.dlaplace.rvs(0.5 / scale, size=count, random_state=random)
    found: np.ndarray[tuple[int], np.dtype[np.int64]] = (
        10 + np.rint(10 * np.sin(np.arange(count) / 9)).astype(np.int64) + noise
    )
    return found


@pytest.mark.parametrize("scale", [0.05, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("count", [1, 2, 10, 500])
def test_rows_that_nobody_chose_are_taken(count: int, scale: float) -> None:
    """None of 300 draws is refused; the chance of a false refusal is 1e-9."""
    random = np.random.default_rng(count)
    assert not any(chosen_by_noise(measured(drawn(random, count, scale), scale)) for _ in range(300))


def test_few_rows_say_nothing() -> None:
    """On a fine grid, a single measurement or two equal ones would otherwise look chosen."""
    assert not chosen_by_noise(measured(np.zeros(9, np.int64), 1e6))
    assert chosen_by_noise(measured(np.zeros(10, np.int64), 1e6))


@pytest.mark.parametrize("scale", [5.0, 40.0])
def test_rows_above_a_bound_or_within_the_range_are_refused(scale: float) -> None:
    """Anyone who takes only alarms, or omits impossible values, takes a mean of the noise."""
    cells = drawn(np.random.default_rng(1), 1000, scale)
    assert chosen_by_noise(measured(cells[cells > 10], scale)) == "a"
    assert chosen_by_noise(measured(cells[cells < 10], scale)) == "a"
    assert chosen_by_noise(measured(cells[(cells >= 0) & (cells <= 20)], scale)) == "a"


def test_a_few_rows_far_outside_the_range_are_refused() -> None:
    """About 14 of 500 rows lie above twice the range; they are no sample, because their mean cannot be true."""
    cells = drawn(np.random.default_rng(1), 500, 5.0)
    for chosen in (cells[cells > 40], cells[cells < -20]):
        assert FEWEST <= len(chosen) < 30
        assert chosen_by_noise(measured(chosen, 5.0)) == "a"


def test_the_tail_is_an_upper_bound() -> None:
    """It bounds scipy's law over every true value of the range."""
    kind, scale, count = POLICY.kind, 5.0, 7
    assert isinstance(kind, Number)
    for least in (23, 30, 60):
        found = [(least / 2, scale, kind)] * count
        largest = max(stats.dlaplace.logsf(least - 1 - true, 0.5 / scale) for true in range(21))
        assert count * largest <= _log_beyond(found)


def test_the_probability_is_an_upper_bound() -> None:
    """It bounds scipy's law over every true value of the range, and is close to it."""
    span, scale, count = (3, 12), 5.0, 7
    law = stats.dlaplace(0.5 / scale)
    exact = max(law.cdf(span[1] - true) - law.cdf(span[0] - true - 1) for true in range(21))
    kind = POLICY.kind
    assert isinstance(kind, Number)
    found = _log_probability([(cell / 2, scale, kind) for cell in (*span, *[5] * (count - 2))])
    assert count * log(exact) <= found <= 0.9 * count * log(exact)
    assert found > MOST_LIKELY


def test_gaps() -> None:
    """A gap is a missing step between others; a complete sequence has none."""
    rows = measured(np.zeros(10, np.int64), 1.0, step=60)
    assert gaps(rows) == ""
    assert gaps(rows[:4] + rows[5:]) == "a"
    assert gaps(rows[:1]) == gaps([]) == ""
