"""States of values, and transition matrices of states: counted by hand, and recovered from a known chain."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from stream_app.loss.correlation import (
    EARTH_RADIUS_METRES,
    CorrelationError,
    by_cells,
    by_grid,
    by_quantiles,
    by_values,
    counted,
    estimated,
)
from stream_app.loss.matrix import MOST_STATES

CHAIN = np.array([[0.7, 0.2, 0.1], [0.05, 0.9, 0.05], [0.3, 0.3, 0.4]])


def test_quantiles_hold_as_many_values_each() -> None:
    """States grow with the values; equal values share one, so ties give fewer states."""
    values = np.random.default_rng(1).lognormal(size=10_000)
    states = by_quantiles(values, 8)
    assert sorted(Counter(states.tolist()).values()) == [1250] * 8
    assert (np.diff(states[np.argsort(values)]) >= 0).all()
    assert by_quantiles(np.array([0.0] * 9 + [1.0]), 4).tolist() == [0] * 9 + [1]
    for zeros in range(3, 7):
        assert by_quantiles(np.array([0.0] * zeros + [1.0] * (9 - zeros)), 2).tolist() == [0] * zeros + [1] * (
            9 - zeros
        )
    assert by_quantiles(np.array([3.0] * 5), 4).tolist() == [0] * 5


def test_grid_is_even_and_has_no_gaps() -> None:
    """Widths are equal between the least and the largest value; widths without a value are not states."""
    assert by_grid(np.array([0.0, 0.9, 1.0, 2.9, 3.0, 4.0]), 4).tolist() == [0, 0, 1, 2, 3, 3]
    assert by_grid(np.array([0.0, 10.0, 0.1]), 10).tolist() == [0, 1, 0]
    assert by_grid(np.array([5.0, 5.0]), 10).tolist() == [0, 0]
    assert by_grid(np.array([1e308, -1e308, 0.0]), 3).tolist() == [2, 0, 1]


def test_cells_have_the_side_that_was_asked_for() -> None:
    """Positions further apart than a cell's diagonal are in different cells; very close ones rarely are."""
    generator = np.random.default_rng(2)
    north, east = -10.9 + 0.1 * generator.random(300), -37.1 + 0.1 * generator.random(300)
    cells = by_cells(north, east, 500.0)
    for first in range(300):
        for second in range(first):
            apart = _haversine_metres(north[first], east[first], north[second], east[second])
            if cells[first] == cells[second]:
                assert apart <= 500 * math.sqrt(2) * 1.005
    near = by_cells(np.concatenate([north, north + 1e-7]), np.concatenate([east, east]), 500.0)
    assert np.count_nonzero(near[:300] == near[300:]) > 295


def test_values_are_states_in_the_order_of_appearance() -> None:
    """A boolean differs from a text that looks the same."""
    assert by_values(["ill", "well", "ill", True, "True"]).tolist() == [0, 1, 0, 2, 3]


@pytest.mark.parametrize("step_ms", [None, 10])
def test_counts_are_those_of_a_plain_loop(step_ms: int | None) -> None:
    """This covers several series, gaps, several values at one timestamp (the first counts), any input order."""
    generator = np.random.default_rng(3)
    size = 3_000
    series, states = generator.integers(0, 5, size), generator.integers(0, 4, size)
    timestamps = generator.integers(0, 20_000, size)
    first: dict[int, dict[int, int]] = {}
    for one, at, state in zip(series.tolist(), timestamps.tolist(), states.tolist(), strict=True):
        steps = first.setdefault(one, {})
        steps.setdefault(at if step_ms is None else at // step_ms, state)
    wanted = Counter(
        (steps[here], steps[there])
        for steps in first.values()
        for here, there in zip(sorted(steps), sorted(steps)[1:], strict=False)
        if step_ms is None or there == here + 1
    )
    found = counted(series, timestamps, states.astype(np.intp), step_ms)
    assert found.sum() > 500
    assert {(i, j): n for i, row in enumerate(found.tolist()) for j, n in enumerate(row) if n} == dict(wanted)


def test_matrices_are_shares_of_the_counts() -> None:
    """They count what came after (forward) or before (backward), smoothed as in Cao et al. 2017, equation 25."""
    counts = np.array([[6, 2], [1, 3]])
    found = estimated(counts, 0.0)
    assert found.forward is not None
    assert found.backward is not None
    assert found.forward.rows.tolist() == [[6 / 8, 2 / 8], [1 / 4, 3 / 4]]
    assert found.backward.rows == pytest.approx(np.array([[6 / 7, 1 / 7], [2 / 5, 3 / 5]]))
    smoothing = Fraction(1, 8)
    wanted = [[(p + smoothing) / (1 + 2 * smoothing) for p in row] for row in ([Fraction(3, 4), Fraction(1, 4)],) * 1]
    smoothed = estimated(counts, 0.125).forward
    assert smoothed is not None
    assert smoothed.rows[0].tolist() == pytest.approx([float(p) for p in wanted[0]])


def test_a_state_that_was_never_left_has_the_shares_of_all() -> None:
    """Nothing is known about it, so it gets neither certainty nor a row that does not sum to 1."""
    found = estimated(np.array([[2, 1, 1], [1, 2, 0], [0, 0, 0]]), 0.0)
    assert found.forward is not None
    assert found.forward.rows[2] == pytest.approx([3 / 7, 3 / 7, 1 / 7])


def test_a_known_chain_is_found_again() -> None:
    """Forward it is the chain's own matrix, backward that of Bayes' rule under its stationary distribution."""
    generator = np.random.default_rng(4)
    states, length = [0], 200_000
    for uniform in generator.random(length):
        states.append(int(np.searchsorted(CHAIN[states[-1]].cumsum(), uniform)))
    where = np.zeros(length + 1, dtype=np.int64)
    found = estimated(counted(where, np.arange(length + 1), np.array(states, dtype=np.intp), 1), 0.0)
    values, vectors = np.linalg.eig(CHAIN.T)
    stationary = np.real(vectors[:, np.argmax(np.real(values))])
    stationary /= stationary.sum()
    backward = (CHAIN * stationary[:, None]).T / stationary[:, None]
    assert found.forward is not None
    assert found.backward is not None
    # Rows of at least 25,000 visits: four standard errors are below 0.013.
    assert np.abs(found.forward.rows - CHAIN).max() < 0.013
    assert np.abs(found.backward.rows - backward).max() < 0.013


@pytest.mark.parametrize("step_ms", [None, 1000])
def test_no_transition_is_refused(step_ms: int | None) -> None:
    """There is one value per series, or only values that are steps apart."""
    series = np.array([0, 1] if step_ms is None else [0, 0])
    with pytest.raises(CorrelationError, match="transitions: found none"):
        counted(series, np.array([0, 5000]), np.array([0, 1]), step_ms)


def test_too_many_states_and_bad_smoothing_are_refused() -> None:
    """Before any matrix is made."""
    many = np.arange(MOST_STATES + 1)
    with pytest.raises(CorrelationError, match=f"found {MOST_STATES + 1}"):
        counted(np.zeros_like(many), many, many, None)
    for smoothing in (-0.1, math.nan, math.inf):
        with pytest.raises(CorrelationError, match="smoothing: found"):
            estimated(np.array([[1, 1], [1, 1]]), smoothing)


def _haversine_metres(south: float, west: float, north: float, east: float) -> float:
    """Return the distance on the sphere (Sinnott 1984)."""
    half = [math.radians(north - south) / 2, math.radians(east - west) / 2]
    chord = (
        math.sin(half[0]) ** 2 + math.cos(math.radians(south)) * math.cos(math.radians(north)) * math.sin(half[1]) ** 2
    )
    return 2 * EARTH_RADIUS_METRES * math.asin(math.sqrt(chord))
