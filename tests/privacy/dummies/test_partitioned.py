"""Histograms of landmarks: width, filling, and drawing steps by density."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations
from math import floor

import numpy as np
import pytest
from scipy.stats import iqr

from stream_app.privacy.dummies.partitioned import MOST_BINS, Histogram, bin_width, histogram_of, sampled
from tests.privacy.dummies import literal
from tests.privacy.noise.bits import stream
from tests.privacy.noise.fit import SURE, fit


def test_width_is_that_of_freedman_and_diaconis() -> None:
    """It is two interquartile ranges by scipy over the cube root of the number, rounded down to whole steps."""
    of = np.random.default_rng(1)
    compared = 0
    for _ in range(1000):
        steps = int(of.integers(50, 3000))
        landmarks = sorted(int(step) for step in of.choice(steps, int(of.integers(2, 50)), replace=False))
        width = 2 * iqr(landmarks) / len(landmarks) ** (1 / 3)
        # Double precision decides nothing where the width is all but whole.
        if abs(width - round(width)) > 1e-9 and width >= -(-steps // MOST_BINS):
            assert bin_width(steps, landmarks) == min(steps, max(1, floor(width)))
            compared += 1
    assert compared > 500


@pytest.mark.parametrize(
    ("landmarks", "width"),
    [([], 100), ([7], 100), ([0, 8], 6), ([0, 0, 0, 27, 27, 27, 27, 27], 27), ([0, 1, 2, 97, 98, 99], 100)],
)
def test_width_at_the_edges(landmarks: list[int], width: int) -> None:
    """A missing spread or too large a width makes one bin; a whole width, 2 * 27 / 8^(1/3), stays."""
    assert bin_width(100, landmarks) == width


def test_bins_are_at_most_256() -> None:
    """Landmarks in one corner of a long range make no more bins than a draw may examine."""
    found = histogram_of(16_384, range(100, 140))
    assert len(found.counts) == MOST_BINS
    assert sum(found.counts) == 40


def test_filling_is_greedy_in_euclidean_distance() -> None:
    """Filling level by level equals repeatedly adding to the nearest histogram; the last bin may be short."""
    of = np.random.default_rng(2)
    for _ in range(300):
        steps, width = int(of.integers(1, 16)), int(of.integers(1, 6))
        landmarks = literal.subset(of, steps)
        counts = np.bincount(np.array(landmarks, dtype=int) // width, minlength=-(-steps // width))
        histogram = Histogram(steps, width, tuple(int(count) for count in counts))
        order = histogram.order()
        assert order == literal.filling(histogram.counts, histogram.widths)
        assert len(order) == steps - len(landmarks)
        assert list(histogram.grown(order).counts) == histogram.widths


def literal_chances(histogram: Histogram, landmarks: tuple[int, ...], number: int) -> dict[tuple[int, ...], Fraction]:
    """Return the exact chance of every set of steps, summed over the orders in which they may be drawn."""
    density = [
        Fraction(histogram.counts[step // histogram.width], histogram.widths[step // histogram.width])
        for step in range(histogram.steps)
    ]
    chances: dict[tuple[int, ...], Fraction] = {}
    free = [step for step in range(histogram.steps) if step not in landmarks]
    for order in permutations(free, number):
        chance, left = Fraction(1), sum((density[step] for step in free), Fraction(0))
        for step in order:
            chance, left = chance * density[step] / left if left else Fraction(0), left - density[step]
        chances[tuple(sorted(order))] = chances.get(tuple(sorted(order)), Fraction(0)) + chance
    assert sum(chances.values()) == 1
    return chances


def test_steps_are_drawn_without_replacement_by_density() -> None:
    """Sets of steps fit their exact chances; sets drawn by another histogram do not."""
    landmarks, number = (1, 2), 2
    histogram = Histogram(8, 3, (2, 1, 1))
    chances = {each: float(chance) for each, chance in literal_chances(histogram, landmarks, number).items()}
    bits = stream(1, b"landmark-steps")

    def drawn(by: Histogram) -> Iterator[tuple[int, ...]]:
        for _ in range(20_000):
            yield tuple(sorted(sampled(bits, by, landmarks, number)))

    assert fit(drawn(histogram), chances) > SURE
    assert fit(drawn(Histogram(8, 8, (2,))), chances) < SURE
    assert fit(drawn(Histogram(8, 3, (2, 1, 2))), chances) < SURE


def test_no_step_is_drawn_twice_and_none_of_an_empty_bin() -> None:
    """This holds down to the last step with density, whatever the landmarks."""
    of = np.random.default_rng(3)
    for nth in range(300):
        steps = int(of.integers(2, 40))
        landmarks = literal.subset(of, steps)
        histogram = histogram_of(steps, landmarks)
        order = histogram.order()
        number = int(of.integers(0, len(order) + 1))
        grown = histogram.grown(order[:number])
        drawn = sampled(stream(nth), grown, landmarks, number)
        assert len({*drawn, *landmarks}) == number + len(landmarks)
        assert all(grown.counts[step // grown.width] for step in drawn)
