"""Options and their scores: what they contain, and how much one landmark more or less changes a score."""

from fractions import Fraction
from typing import get_args

import numpy as np
import pytest

from stream_app.privacy.dummies.options import distances, options_of, scores_of
from stream_app.privacy.dummies.request import MOST_STEPS, Method, Utility, steps_fault
from tests.privacy.dummies import literal

METHODS: tuple[Method, ...] = get_args(Method)
UTILITIES: tuple[Utility, ...] = get_args(Utility)


def literal_score(steps: int, landmarks: tuple[int, ...], option: set[int], utility: Utility) -> Fraction:
    """Return the score of a set of steps by its literal definition."""
    if utility == "count":
        return Fraction(-len(option - set(landmarks)))
    far = [min((abs(step - landmark) for landmark in landmarks), default=steps) for step in option]
    return Fraction(-sum(far), steps * len(option))


@pytest.mark.parametrize("method", ["optimal", "heuristic"])
@pytest.mark.parametrize("utility", UTILITIES)
def test_scores_of_sets(method: Method, utility: Utility) -> None:
    """Every option contains the landmarks and one step more than the last; its score is the literal one."""
    of = np.random.default_rng(1)
    for _ in range(60):
        steps = int(of.integers(1, 9))
        landmarks = literal.subset(of, steps)
        options = options_of(method, steps, landmarks)
        assert options.own is None
        assert sorted({*options.order, *landmarks}) == list(range(steps))
        assert len(options.order) == steps - len(landmarks)
        sets = [{*landmarks, *options.order[:number]} for number in range(1, len(options.order) + 1)]
        literally = [literal_score(steps, landmarks, option, utility) for option in sets]
        assert scores_of(options, utility) == (literally or [Fraction(0)])


@pytest.mark.parametrize("utility", UTILITIES)
def test_scores_of_histograms(utility: Utility) -> None:
    """A histogram scores the average of its sets, with each bin's steps equally likely."""
    of = np.random.default_rng(2)
    for _ in range(60):
        steps = int(of.integers(1, 60))
        landmarks = literal.subset(of, steps)
        options = options_of("partitioned", steps, landmarks)
        assert options.own is not None
        nearest = distances(steps, landmarks)
        for number, score in enumerate(scores_of(options, utility), 1):
            grown = options.own.grown(options.order[:number])
            total = Fraction(0)
            for nth, width in enumerate(grown.widths):
                start = nth * grown.width
                free = [nearest[step] for step in range(start, start + width) if step not in landmarks]
                more = grown.counts[nth] - options.own.counts[nth]
                total += Fraction(more * sum(free), len(free)) if free else 0
            size = sum(grown.counts)
            assert score == (-len(options.order[:number]) if utility == "count" else -total / (steps * size))


@pytest.mark.parametrize("utility", UTILITIES)
def test_sensitivity_is_one(utility: Utility) -> None:
    """This holds on every small range, for every fixed option and every two landmark sets one step apart."""
    largest = Fraction(0)
    for steps in range(1, 7):
        for joined in range(1, 2**steps):
            option = {step for step in range(steps) if joined >> step & 1}
            for number in range(2**steps):
                landmarks = {step for step in range(steps) if number >> step & 1}
                if not landmarks <= option:
                    continue
                for step in option - landmarks:
                    scores = [
                        literal_score(steps, tuple(sorted(each)), option, utility)
                        for each in (landmarks, landmarks | {step})
                    ]
                    largest = max(largest, abs(scores[0] - scores[1]))
    assert largest <= 1
    assert largest == 1  # so it is no bound too wide: n = 1, an option of one step


def test_distances_to_the_nearest_landmark() -> None:
    """They equal the literal minimum, or the length of the range if there is no landmark."""
    of = np.random.default_rng(3)
    for _ in range(300):
        steps = int(of.integers(1, 30))
        landmarks = literal.subset(of, steps)
        assert distances(steps, landmarks) == [
            min((abs(step - landmark) for landmark in landmarks), default=steps) for step in range(steps)
        ]


def test_what_a_method_cannot_take_is_said_with_what_can() -> None:
    """The error names what was asked for, the limit and every method that allows that many steps."""
    assert steps_fault("optimal", 16) == ""
    found = steps_fault("optimal", 17)
    assert "optimal accepts a range of at most 16 steps, but found 17" in found
    assert all(name in found for name in ("heuristic (at most 16384)", "partitioned", "padding (at most 65536)"))
    assert "choose padding (at most 65536)" in steps_fault("heuristic", MOST_STEPS["heuristic"] + 1)
    assert "choose a shorter range or longer steps" in steps_fault("padding", 65_537)
