"""Landmark temporal loss compared with its definition, timestamp by timestamp."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.loss.envelope import Envelope
from stream_app.loss.landmark import LandmarkError, landmark_losses
from stream_app.loss.matrix import TransitionMatrix
from stream_app.loss.temporal import Adversary, EpsilonError
from tests.loss.matrices import adversaries

LAZY = Envelope.of(TransitionMatrix.dense([[0.75, 0.25], [0.25, 0.75]]))
CAO = Envelope.of(TransitionMatrix.dense([[0.8, 0.2], [0, 1]]))


def defined(adversary: Adversary, epsilons: list[float], landmarks: list[int]) -> list[float]:
    """Return the losses as defined: separately for every t, for each i in L u {t} over (i-, i] and [i, i+)."""
    found = []
    for at in range(len(epsilons)):
        places = sorted({*landmarks, at})
        total = 0.0
        for nth, place in enumerate(places):
            before = places[nth - 1] + 1 if nth else 0
            after = places[nth + 1] if nth + 1 < len(places) else len(epsilons)
            backward = forward = 0.0
            for index in range(before, place + 1):
                backward = adversary.backward.carried(backward) + epsilons[index]
            for index in reversed(range(place, after)):
                forward = adversary.forward.carried(forward) + epsilons[index]
            total += backward + forward - epsilons[place]
        found.append(total)
    return found


def test_agrees_with_the_definition() -> None:
    """All sorts of matrices, sparse and dense spending, small and very large epsilons, any landmarks agree."""
    generator = np.random.default_rng(31)
    for sort, adversary in adversaries(360, 9, seed=31):
        count = int(generator.integers(1, 45))
        scale = generator.choice([0, 0, 1e-9, 0.1, 1, 40, 300], count)
        epsilons = (scale * generator.random(count)).tolist()
        if generator.random() < 0.1:
            epsilons[int(generator.integers(count))] = 900.0
        landmarks = generator.choice(count, int(generator.integers(0, min(count, 6) + 1)), replace=False).tolist()
        found = landmark_losses(adversary, epsilons, landmarks)
        assert found == pytest.approx(defined(adversary, epsilons, landmarks), rel=1e-12, abs=1e-18), sort


def test_long_stretches_agree_with_the_definition() -> None:
    """They are so long that losses settle, or grow far beyond what a double's exponential holds."""
    generator = np.random.default_rng(32)
    for sort, adversary in adversaries(27, 5, seed=32):
        epsilons = (generator.choice([0.0, 0.2, 8.0], 160) * generator.random(160)).tolist()
        found = landmark_losses(adversary, epsilons, [70, 71, 150])
        assert found == pytest.approx(defined(adversary, epsilons, [70, 71, 150]), rel=1e-12), sort


def test_by_hand() -> None:
    """The middle one of three timestamps is a landmark."""
    first, middle, last = 0.3, 0.2, 0.5
    adversary = Adversary(CAO, LAZY)
    alone = LAZY.carried(last) + middle + CAO.carried(first)
    with_first = LAZY.carried(0.0) + first + (middle + LAZY.carried(last))
    with_last = (CAO.carried(first) + middle) + last
    found = landmark_losses(adversary, [first, middle, last], [1])
    assert found == pytest.approx([with_first, alone, with_last], rel=1e-15)


def test_without_landmarks_it_is_temporal_loss() -> None:
    """Event level."""
    adversary = Adversary(CAO, LAZY)
    assert landmark_losses(adversary, [0.1] * 5, []) == adversary.temporal_loss([0.1] * 5).total


def test_without_correlation_it_is_the_sum() -> None:
    """It is the guarantee's sum over L u {t}, also with any correlation if every timestamp is a landmark."""
    epsilons = [0.1, 0.2, 0.3, 0.4]
    assert landmark_losses(Adversary(), epsilons, [1, 2]) == pytest.approx([0.6, 0.5, 0.5, 0.9])
    assert landmark_losses(Adversary(CAO, CAO), epsilons, range(4)) == pytest.approx([1.0] * 4)


@given(st.lists(st.floats(0, 5), min_size=1, max_size=30), st.data())
def test_order_and_repetition_of_landmarks_do_not_matter(epsilons: list[float], data: st.DataObject) -> None:
    """Landmarks are a set; each estimate is at least the budgets of L u {t}."""
    landmarks = data.draw(st.lists(st.integers(0, len(epsilons) - 1)))
    adversary = Adversary(CAO, LAZY)
    found = landmark_losses(adversary, epsilons, landmarks)
    assert found == landmark_losses(adversary, epsilons, sorted(landmarks, reverse=True) * 2)
    for at, loss in enumerate(found):
        assert loss >= sum(epsilons[place] for place in {*landmarks, at}) * (1 - 1e-12)


def test_bad_arguments_are_refused() -> None:
    """The error names the index and the remedy."""
    with pytest.raises(LandmarkError, match=r"landmark 3: there are 3 epsilons; use indices 0 to 2"):
        landmark_losses(Adversary(), [0.1] * 3, [3])
    with pytest.raises(LandmarkError, match="landmark -1"):
        landmark_losses(Adversary(), [0.1] * 3, [-1])
    with pytest.raises(EpsilonError, match="epsilon 2"):
        landmark_losses(Adversary(), [0.1, 0.1, -1], [0])


def test_whole_epsilons_are_numbers_too() -> None:
    """Epsilons without a decimal point lose as much as those with one."""
    assert landmark_losses(Adversary(CAO, LAZY), [1, 0, 2], [1]) == landmark_losses(
        Adversary(CAO, LAZY), [1.0, 0.0, 2.0], [1]
    )
