"""Every bound checked against all possible inputs: changes within its domain lose no more, others may.

There are three series of three steps, with one bit each, published by randomised response. The loss between two inputs
is the largest ratio over all outcomes, by enumeration. Each domain is written here a second time, as a predicate on two
inputs.
"""

from collections.abc import Callable, Iterable
from itertools import product

import numpy as np
import pytest

from stream_app.accounting.composed import over_series, over_steps, over_window
from stream_app.accounting.laws import LAWS
from stream_app.accounting.temporal import CorrelatedLoss, SpentSteps, steps_of
from stream_app.audit import Auditor
from stream_app.loss.correlation import correlation_of
from tests.accounting.worked import curve_of
from tests.audit.written import write

EVENT = """
policy 1 {"epsilon": 0.5, "scheme": {"name": "uniform"}, "level": "event"}
 0 perturbed . 500000000 | 0 0 500000000
 1 perturbed . 500000000 | 0 0 500000000
 2 perturbed . 500000000 | 0 0 500000000
"""
LANDMARK = """
policy 1 {"epsilon": 1.0, "scheme": {"name": "uniform"}, "landmarks": [1000]}
 0 perturbed . 500000000 |         0 1 500000000
 1 perturbed L 500000000 | 500000000 0 500000000
 2 perturbed . 500000000 | 500000000 0 500000000
"""
EPSILON = 0.5
"""Of every step."""
MEMBERS = {"event": "ann", "landmark": "ann", "other": "bob"}
PLACES = [(series, step) for series in MEMBERS for step in range(3)]
BITS = np.array(list(product((0, 1), repeat=len(PLACES))))
"""All inputs, and all outcomes."""
STAYS = EPSILON - np.log1p(np.exp(EPSILON))
CHANCE = np.where(BITS[:, None, :] == BITS[None, :, :], STAYS, STAYS - EPSILON).sum(axis=2)
"""The logarithm of each outcome's (column) probability under each input (row)."""

Changed = frozenset[tuple[str, int]]


def others(changed: Changed) -> list[str]:
    """Return the series of every changed step that is not a landmark."""
    return [series for series, step in changed if (series, step) != ("landmark", 1)]


def once(changed: Changed) -> bool:
    """Return whether no series has changed in two steps that are not landmarks."""
    return len(set(others(changed))) == len(others(changed))


def among(changed: Changed) -> set[str]:
    """Return the series that have changed."""
    return {series for series, _ in changed}


ONCE = "only the landmarks and at most one other step of {} change, to neighbouring values"
DOMAINS: dict[str, Callable[[Changed], bool]] = {
    ONCE.format("each series"): once,
    ONCE.format("one series"): lambda changed: once(changed) and len(among(changed)) == 1,
    ONCE.format("each series of one person"): (
        lambda changed: once(changed) and (among(changed) <= {"event", "landmark"} or among(changed) == {"other"})
    ),
    "any steps of this series change to neighbouring values, correlated in any way, and no other series changes": (
        lambda changed: among(changed) <= {"landmark"}
    ),
}


def loss_of(inputs: Iterable[Changed]) -> float:
    """Return the largest loss, over all outcomes, between an input with any of these changes and one without."""
    nought = CHANCE[0]
    rows = [sum(2 ** (len(PLACES) - 1 - PLACES.index(place)) for place in changed) for changed in inputs]
    return max(float(np.abs(nought - CHANCE[row]).max()) for row in rows)


def changes() -> list[Changed]:
    """Return every non-empty set of changed steps; by symmetry, the other input can be all zeros."""
    return [frozenset(place for place, bit in zip(PLACES, bits, strict=True) if bit) for bits in BITS[1:].tolist()]


def figure_of(name: str) -> float:
    """Return the figure from the audit of these ledgers; over steps, the figure of the ledger with landmarks."""
    if name == "sequential-steps":
        steps = steps_of(curve_of(LANDMARK, "landmark"))
        assert isinstance(steps, SpentSteps)
        return over_steps(name, steps, 0.0).epsilon
    auditor = Auditor()
    for series in MEMBERS:
        auditor.entries(write(LANDMARK if series == "landmark" else EVENT, series).lines())
    assert auditor.finish().holds
    return over_series(name, auditor.losses(), MEMBERS).epsilon


@pytest.mark.parametrize("name", ["sequential", "parallel-series", "parallel-members", "sequential-steps"])
def test_a_bound_holds_in_its_domain_and_is_reached(name: str) -> None:
    """The largest loss within the stated domain equals the figure, and some changes outside it lose more."""
    assert LAWS[name].kind == "bound"
    inside = DOMAINS[LAWS[name].domain]
    figure = figure_of(name)
    assert loss_of(filter(inside, changes())) == pytest.approx(figure, rel=1e-12)
    beyond = [changed for changed in changes() if not inside(changed) and loss_of([changed]) > figure * (1 + 1e-12)]
    assert beyond


def test_a_constant_value_loses_all_steps() -> None:
    """A series whose value never changes loses the sum over its steps.

    This is more than any composition of whole series says.
    """
    constant = frozenset(place for place in PLACES if place[0] == "landmark")
    lost = loss_of([constant])
    assert lost == pytest.approx(figure_of("sequential-steps"), rel=1e-12) == 1.5
    assert lost > figure_of("parallel-series") == 1.0
    every = loss_of([frozenset(PLACES)])
    assert every == pytest.approx(4.5, rel=1e-12)
    assert every > figure_of("sequential") == 2.0
    ann = loss_of([frozenset(place for place in PLACES if place[0] != "other")])
    assert ann == pytest.approx(3.0, rel=1e-12)
    assert ann > figure_of("parallel-members") == 1.5


def test_a_correlation_hands_on_changes_that_an_epsilon_is_not_for() -> None:
    """With numbers 0 to 2 and neighbours one apart, a correlation spreads changes beyond neighbours.

    Here 0 comes after 0, but 1 after 2 and 2 after 1. Clamped geometric noise loses epsilon per unit of change. The
    output (0, 0, 0) distinguishes 0 from 1 at the last step by 1 + 2 + 1 units. If any two values are neighbours, a
    step loses one epsilon whatever the change.
    """
    steps = steps_of(curve_of(EVENT))
    assert isinstance(steps, SpentSteps)
    before = [[1, 0, 0], [0, 0, 1], [0, 1, 0]]
    adversary = correlation_of({"backward": before, "forward": None}).adversary()
    figure = over_window(CorrelatedLoss.of(steps, adversary, "deterministic"), 1).epsilon

    ratio = np.exp(-EPSILON)
    noughts = [ratio**value / (1 + ratio) for value in range(3)]  # that 0 comes out, the noise at most -value
    clamped = np.log(noughts[0] ** 3) - np.log(noughts[1] * noughts[2] * noughts[1])
    assert clamped == pytest.approx(2.0, rel=1e-12)
    assert clamped > figure == pytest.approx(1.5, rel=1e-12)
    assert "any two values of a step are neighbours" in LAWS["correlated"].domain
