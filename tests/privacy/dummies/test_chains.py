"""Heuristic and Optimal compared with their literal versions."""

import statistics
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from stream_app.privacy.dummies.options import (
    Growing,
    change,
    heuristic_order,
    nearer,
    numerator,
    optimal_order,
    sums_of,
)
from tests.privacy.dummies import literal

CASES = 1000


def test_evenness_is_the_standard_deviation_of_the_distances() -> None:
    """The numerator is that of the variance over all 2n distances, as the standard library computes it."""
    of = np.random.default_rng(1)
    for _ in range(CASES):
        steps = int(of.integers(1, 40))
        marks = literal.subset(of, steps)
        found = numerator(steps, sums_of(steps, marks))
        assert found == literal.variance(steps, marks) * (2 * steps) ** 2
    assert statistics.pstdev(literal.distances(3, [1])) == pytest.approx(numerator(3, sums_of(3, [1])) ** 0.5 / 6)


def test_heuristic_scores_are_the_literal_ones_at_every_step() -> None:
    """In 1,000 random cases every candidate's incremental score is the literal one, and the same step wins."""
    of = np.random.default_rng(2)
    candidates = 0
    for _ in range(CASES):
        steps = int(of.integers(1, 9))
        landmarks = literal.subset(of, steps)
        growing = Growing(steps, landmarks)
        order = []
        for best, variances in literal.heuristic(steps, landmarks):
            evenness = growing.evenness()
            for step, variance in variances.items():
                assert int(evenness[step]) == variance * (2 * steps) ** 2
                candidates += 1
            assert growing.best() == best
            growing.join(best)
            order.append(best)
        assert heuristic_order(steps, landmarks) == order
    assert candidates > 5 * CASES


def test_heuristic_of_a_long_range_stays_in_64_bits() -> None:
    """At the largest range the incremental sums equal those computed from the whole set."""
    steps, of = 16_384, np.random.default_rng(3)
    growing, marks = Growing(steps, [5]), [5]
    for _ in range(20):
        step = int(of.choice(np.flatnonzero(growing.free)))
        expected = numerator(steps, sums_of(steps, sorted([*marks, step])))
        assert int(growing.evenness()[step]) == expected < 2**57
        growing.join(step)
        marks.append(step)


def test_optimal_equals_brute_force() -> None:
    """For every landmark set of small ranges, the chain is the first of the best of all permutations."""
    for steps in range(1, 7):
        for number in range(2**steps):
            landmarks = [step for step in range(steps) if number >> step & 1]
            assert optimal_order(steps, landmarks) == literal.optimal(steps, landmarks), (steps, landmarks)


def test_optimal_beats_heuristic_somewhere() -> None:
    """A chain of Optimal never costs more than the greedy one, and here it costs less."""
    better = []
    for landmarks in combinations(range(10), 2):
        cost = [
            sum(change(10, sorted((*landmarks, *chain[:number])), landmarks) for number in range(1, len(chain) + 1))
            for chain in (optimal_order(10, landmarks), heuristic_order(10, landmarks))
        ]
        assert cost[0] <= cost[1]
        if cost[0] < cost[1]:
            better.append(landmarks)
    assert better == [(2, 5), (2, 7), (4, 7)]


def test_nearer_root() -> None:
    """Roots are compared exactly, including ties."""
    of = np.random.default_rng(5)
    for _ in range(CASES):
        below, base, above = sorted(int(number) for number in of.integers(0, 60, 3))
        if below == base:
            continue
        up, down = (literal.root(Fraction(each)) for each in (above, below))
        middle = literal.root(Fraction(base))
        difference = literal.DIGITS.subtract(literal.DIGITS.multiply(middle, 2), literal.DIGITS.add(up, down))
        difference = difference.quantize(literal.TINY, context=literal.DIGITS)
        assert nearer(base, above, below) == (difference > 0) - (difference < 0)
    assert nearer(9, 16, 4) == 0
