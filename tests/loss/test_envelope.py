"""The loss function against full enumeration, exact fractions and linear programs; its properties."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.loss.envelope import LARGE, Envelope
from stream_app.loss.matrix import LEAST_PROBABILITY, TransitionMatrix
from tests.loss.enumeration import by_linear_programs, enumerated, exact_ratio, sums
from tests.loss.matrices import SORTS, every_matrix, matrices, normalised, rounded

MOST_STATES = 12
ALPHAS = (1e-12, 1e-3, 0.1, 1.0, 5.0, 20.0, 100.0, 700.0)
LINEAR_ALPHAS = (0.01, 0.1, 1.0, 4.0, 8.0)
"""For larger alphas, exp(-alpha) comes too close to what the solver takes for 0."""
MILLION = 10**6
TOLERANCE = 1e-9
ROUNDED = 1e-15
"""Rows of doubles sum to 1 except for this; the program sees it, while the closed form assumes a sum of 1."""


def envelope_of(rows: Sequence[object]) -> Envelope:
    """Return the envelope of a dense matrix."""
    return Envelope.of(TransitionMatrix.dense(rows))


def test_agrees_with_full_enumeration(matrices: int) -> None:
    """This covers matrices of all sorts and sizes, alphas from 1e-12 to 700, and all column sets of each pair."""
    seen = set()
    for sort, rows in every_matrix(matrices, MOST_STATES, seed=5):
        matrix = TransitionMatrix.dense(rows.tolist())
        envelope = Envelope.of(matrix)
        base, gain = sums(matrix.rows)
        seen.add((sort, matrix.states))
        for alpha in ALPHAS:
            wanted = enumerated(base, gain, alpha)
            assert envelope.carried(alpha) == pytest.approx(wanted, rel=TOLERANCE, abs=0), (sort, alpha)
    assert seen == set(product(SORTS, range(2, MOST_STATES + 1)))


def test_agrees_with_linear_programs(matrices: int) -> None:
    """For as many others, the solver's optimum agrees within its tolerance, its chosen column sets within 1e-9.

    The matrices are in whole millionths: HiGHS drops coefficients below 1e-9, and enumeration covers those. HiGHS meets
    its constraints only to a tolerance, but ends in a corner of the polytope. A corner is a set of columns, whose loss
    can be summed as exactly as ours.
    """
    seen, ways = set(), set()
    for number, (sort, rows) in enumerate(every_matrix(matrices, MOST_STATES, seed=6)):
        matrix = TransitionMatrix.dense(rounded(rows, MILLION).tolist())
        alpha = LINEAR_ALPHAS[number % len(LINEAR_ALPHAS)]
        seen.add((sort, matrix.states))
        ways.add((sort, alpha))
        found = Envelope.of(matrix).carried(alpha)
        optimum, chosen = by_linear_programs(matrix.rows, alpha)
        assert found == pytest.approx(math.log1p(optimum), rel=1e-5, abs=ROUNDED), (sort, alpha)
        corners = 0.0
        for q, d, columns in chosen:
            of_q, of_d = matrix.rows[q, columns], matrix.rows[d, columns]
            x = math.expm1(alpha)
            corners = max(corners, math.log1p(math.fsum(of_q - of_d) * x / (math.fsum(of_d) * x + 1)))
        assert found == pytest.approx(corners, rel=TOLERANCE, abs=ROUNDED), (sort, alpha)
    assert seen == set(product(SORTS, range(2, MOST_STATES + 1)))
    assert ways == set(product(SORTS, LINEAR_ALPHAS))


def test_agrees_with_exact_fractions() -> None:
    """Nothing is rounded there except the result."""
    for sort, rows in matrices(60, 5, seed=7):
        matrix = TransitionMatrix.dense(rows.tolist())
        envelope = Envelope.of(matrix)
        for x in (Fraction(1, 1000), Fraction(1), Fraction(10**6)):
            wanted = math.log1p(exact_ratio(matrix.rows, x))
            assert envelope.carried(math.log1p(x)) == pytest.approx(wanted, rel=1e-14, abs=0), sort


def test_negative_control() -> None:
    """The comparison distinguishes an envelope that lacks one of its vertices from a complete one."""
    found = 0
    for _, rows in matrices(200, 8, seed=8):
        matrix = TransitionMatrix.dense(rows.tolist())
        whole = Envelope.of(matrix)
        if len(whole.vertices) > 2:
            middle = len(whole.vertices) // 2
            lacking = Envelope(
                whole.vertices[:middle] + whole.vertices[middle + 1 :],
                whole.breaks[:middle] + whole.breaks[middle + 1 :],
            )
            alpha = (whole.breaks[middle - 1] + whole.breaks[middle]) / 2
            wanted = enumerated(*sums(matrix.rows), alpha)
            found += lacking.carried(alpha) != pytest.approx(wanted, rel=TOLERANCE, abs=0)
    assert found > 20


@pytest.mark.parametrize("alpha", [0.0, 1e-300, 0.5, 650.0, LARGE, LARGE + 1, 1e4, 1e6])
def test_what_is_known_in_closed_form(alpha: float) -> None:
    """Identity and permutations carry everything, equal rows nothing, a lazy two-state walk its own amount."""
    assert envelope_of([[1, 0], [0, 1]]).carried(alpha) == alpha
    assert envelope_of([[0, 1, 0], [0, 0, 1], [1, 0, 0]]).carried(alpha) == alpha
    assert envelope_of([[0.3, 0.7], [0.3, 0.7]]).carried(alpha) == 0
    assert Envelope.of(None).carried(alpha) == 0
    assert envelope_of([[1.0]]).carried(alpha) == 0
    lazy = envelope_of([[0.75, 0.25], [0.25, 0.75]]).carried(alpha)
    wanted = math.log(3) if alpha > 600 else math.log1p(0.5 * math.expm1(alpha) / (0.25 * math.expm1(alpha) + 1))
    assert lazy == pytest.approx(wanted, rel=1e-14, abs=0)


def test_large_losses_meet_the_small_ones() -> None:
    """The function is the same on both sides of the point at which the formula changes."""
    for rows in ([[0.8, 0.2], [0, 1]], [[0.8, 0.2], [0.1, 0.9]], [[1, 0], [LEAST_PROBABILITY, 1]]):
        envelope = envelope_of(rows)
        below, above = envelope.carried(LARGE), envelope.carried(math.nextafter(LARGE, math.inf))
        assert above == pytest.approx(below, rel=1e-14, abs=0)


PROBABILITIES = st.integers(2, 5).flatmap(
    lambda states: st.lists(
        st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1)), min_size=states, max_size=states).filter(any),
        min_size=states,
        max_size=states,
    )
)


def _normalised(weights: list[list[float]]) -> list[list[float]]:
    return [[float(entry) for entry in row] for row in normalised(np.array(weights))]


@given(PROBABILITIES, st.lists(st.floats(0, 800), min_size=2, max_size=8))
def test_never_falls_and_never_adds(weights: list[list[float]], alphas: list[float]) -> None:
    """0 <= L(alpha) <= alpha, and a larger loss carries on at least as much, rounding aside."""
    envelope = envelope_of(_normalised(weights))
    carried = [envelope.carried(alpha) for alpha in sorted(alphas)]
    assert all(0 <= kept <= alpha for kept, alpha in zip(carried, sorted(alphas), strict=True))
    assert all(later >= earlier * (1 - 1e-14) for earlier, later in pairwise(carried))


@given(PROBABILITIES, st.randoms(use_true_random=False), st.floats(1e-6, 50))
def test_names_of_states_do_not_matter(weights: list[list[float]], random: object, alpha: float) -> None:
    """Any order of rows and columns gives the same loss."""
    rows = _normalised(weights)
    order = list(range(len(rows)))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = [[rows[row][column] for column in reversed(order)] for row in order]
    assert envelope_of(shuffled).carried(alpha) == pytest.approx(envelope_of(rows).carried(alpha), rel=1e-12, abs=1e-18)


@given(PROBABILITIES, st.lists(st.floats(0, 60), min_size=1, max_size=20))
def test_accumulating_is_one_step_after_the_other(weights: list[list[float]], epsilons: list[float]) -> None:
    """The unrolled recurrence gives the same doubles as its definition."""
    envelope = envelope_of(_normalised(weights))
    alpha, wanted = 0.0, []
    for epsilon in epsilons:
        alpha = envelope.carried(alpha) + epsilon
        wanted.append(alpha)
    assert envelope.accumulated(epsilons) == wanted
