"""Compositions compared with sums by hand, the worked example of the paper, and closed forms."""

from math import exp

import pytest

from stream_app.accounting.composed import (
    CompositionError,
    over_series,
    over_steps,
    over_window,
)
from stream_app.accounting.laws import LAWS, OVER_SERIES, OVER_STEPS
from stream_app.accounting.temporal import CorrelatedLoss, SpentSteps, steps_of
from stream_app.audit.books.guarantee import SeriesLoss
from stream_app.loss.correlation import correlation_of
from tests.accounting.worked import BACKWARD, MATRIX, TENTH, TOTAL, curve_of

STANDINGS = [
    SeriesLoss("a", 100, landmark_nano=30, peak_nano=20, closed_nano=5),  # 55
    SeriesLoss("b", 100, landmark_nano=0, peak_nano=60, closed_nano=0),  # 60
    SeriesLoss("c", 100, landmark_nano=7, peak_nano=0, closed_nano=1),  # 8
]
PRINTED = 0.5e-4
"""Half a unit of the last digit that the paper prints."""


@pytest.fixture
def steps() -> SpentSteps:
    """Return ten steps of 0.1 each."""
    found = steps_of(curve_of(TENTH))
    assert isinstance(found, SpentSteps)
    return found


@pytest.fixture
def correlated(steps: SpentSteps) -> CorrelatedLoss:
    """Return the losses of these steps under the paper's matrix, in both directions."""
    adversary = correlation_of({"backward": MATRIX, "forward": MATRIX}).adversary()
    return CorrelatedLoss.of(steps, adversary, "worked")


def test_the_worked_example(correlated: CorrelatedLoss) -> None:
    """The backward, forward and total losses of a ledger are the printed ones.

    Without landmarks, the estimate is the total loss.
    """
    assert correlated.loss.backward == pytest.approx(BACKWARD, abs=PRINTED)
    assert correlated.loss.forward == pytest.approx(BACKWARD[::-1], abs=PRINTED)
    assert correlated.loss.total == pytest.approx(TOTAL + TOTAL[::-1], abs=PRINTED)
    assert correlated.landmark == pytest.approx(TOTAL + TOTAL[::-1], abs=PRINTED)
    assert correlated.worst in (4, 5)


@pytest.mark.parametrize(
    ("window", "together"),
    [
        (1, TOTAL[4]),
        (2, BACKWARD[4] + BACKWARD[4]),  # the middle: backward loss of the fifth, forward loss of the sixth
        (10, 0.1 + 0.1 + 8 * 0.1),
        (99, 1.0),  # there are no more
    ],
)
def test_the_worst_window(correlated: CorrelatedLoss, window: int, together: float) -> None:
    """The loss is that of one step, two, or all ten, which is their sum."""
    found = over_window(correlated, window)
    assert found.epsilon == pytest.approx(together, abs=2 * PRINTED)
    assert found.asked == f"{min(window, 10)} steps in a row"


def test_the_worst_window_is_the_largest_of_all(correlated: CorrelatedLoss) -> None:
    """No other window of the same length loses more, by the sum in the theorem."""
    loss, epsilons = correlated.loss, correlated.steps.epsilons
    for window in range(3, 11):
        sums = [
            loss.backward[first] + loss.forward[first + window - 1] + sum(epsilons[first + 1 : first + window - 1])
            for first in range(11 - window)
        ]
        assert over_window(correlated, window).epsilon == pytest.approx(max(sums), rel=1e-12)


def test_over_series() -> None:
    """Series compose to a sum, a maximum, or the largest sum of a member."""
    members = {"a": "ann", "b": "bob", "c": "ann"}
    found = {name: over_series(name, STANDINGS, members) for name in OVER_SERIES}
    assert {name: composed.epsilon for name, composed in found.items()} == pytest.approx(
        {"sequential": 123e-9, "parallel-series": 60e-9, "parallel-members": 63e-9}
    )
    assert {name: composed.largest for name, composed in found.items()} == {
        "sequential": None,
        "parallel-series": "b",
        "parallel-members": "ann",
    }
    with pytest.raises(CompositionError, match="'c'"):
        over_series("parallel-members", STANDINGS, {"a": "ann", "b": "bob"})


def test_over_steps(steps: SpentSteps) -> None:
    """Steps compose to a plain sum, a geometric series, or 1 + 1/2 + .. + 1/10."""
    ratio = exp(-0.5)
    assert over_steps("sequential-steps", steps, 0.5).epsilon == pytest.approx(1.0, rel=1e-12)
    geometric = 0.1 * (1 - ratio**10) / (1 - ratio)
    assert over_steps("discounted-exponential", steps, 0.5).epsilon == pytest.approx(geometric, rel=1e-12)
    assert over_steps("discounted-hyperbolic", steps, 1.0).epsilon == pytest.approx(0.1 * 7381 / 2520, rel=1e-12)


def test_every_law_says_what_it_is(correlated: CorrelatedLoss, steps: SpentSteps) -> None:
    """Each law has a function, a theorem with its source, and a domain; only discounts are estimates."""
    for name in OVER_SERIES:
        assert over_series(name, STANDINGS, dict.fromkeys("abc", "ann")).law is LAWS[name]
    for name in OVER_STEPS:
        found = over_window(correlated, 2) if name == "correlated" else over_steps(name, steps, 0.5)
        assert found.law is LAWS[name]
    assert {name for name, law in LAWS.items() if law.kind == "estimate"} == {
        "discounted-exponential",
        "discounted-hyperbolic",
    }
