"""What schemes propose in windows beside landmarks, with the formulas rewritten in exact fractions."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import floor

import pytest

from stream_app.deciding.outcome import ProcessedRecord
from stream_app.privacy import fold
from stream_app.privacy.guard import Guard, Window
from stream_app.privacy.place import place, proposal, spent
from stream_app.privacy.state import State
from tests.privacy.guarantee.enumeration import policy_under
from tests.privacy.moved import begun
from tests.run import Run, observation, policy

EPSILON = 23
WIDTH = 3
FIRST, NOW = 2, 8
RINGS = [(), ((5, 4),), ((6, 3), (7, 2)), ((4, 6), (6, 5)), ((7, 11),)]
"""Regular spends of steps; those before step 6 are in no window that ends with step 8."""
SCHEMES: dict[str, dict[str, object]] = {
    "uniform": {"name": "uniform"},
    "adaptive": {"name": "adaptive"},
    "skip": {"name": "skip", "accept_risk": True},
    "balanced": {"name": "balanced", "regular_share": 0.3},
    "bd": {"name": "bd"},
    "ba": {"name": "ba"},
}


def literal(name: str, s: int, most: int, left: int, ring: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    """Return the proposal for a landmark and for a regular step, from the design's formulas."""
    a = 0
    if left and name == "balanced":
        held = floor(Fraction(3, 10) * EPSILON)
        a = max(0, floor(Fraction(EPSILON - max(held, most) - s, left)))
    elif left and name != "skip":
        a = min(floor(Fraction(EPSILON - s, left + 1)), floor(Fraction(EPSILON - s - most, left)))
    rest = EPSILON - s - left * a
    held = sum(spend for step, spend in ring if step > NOW - WIDTH)
    match name:
        case "bd":
            x = floor(Fraction(rest - held, 2))
        case "ba":
            unit = floor(Fraction(rest, WIDTH))
            paid = FIRST - 1
            if ring and unit:
                paid = ring[-1][0] + floor(Fraction(ring[-1][1], unit)) - 1
            x = unit * min(max(0, NOW - paid), WIDTH)
        case _:
            x = floor(Fraction(rest, WIDTH))
    return a, max(0, min(x, rest - held))


@pytest.mark.parametrize("name", SCHEMES)
def test_proposals_follow_the_formulas(name: str) -> None:
    """They do for a landmark and a regular step, whatever was spent, and the guard accepts each proposal."""
    spans = {0: [], 1: [20], 3: [20, 21, 25]}
    seen = set()
    for left, ring, s in product(spans, RINGS, range(13)):
        most = max([0, *(sum(spend for step, spend in ring if abs(step - at) < WIDTH) for at, _ in ring)])
        if s + most > EPSILON:
            continue
        for landmark in (False, True):
            marks = [*spans[left], *([NOW] if landmark else [])]
            level = {"level": "landmark", "landmarks": marks, "window": WIDTH}
            made = policy_under(SCHEMES[name], EPSILON, level)
            start = begun(made)
            before = fold.advance(made, start, FIRST, (False, left), start.guard, None, 0).state
            last = ring[-1] if ring else None
            state: State = replace(
                before, guard=Guard(EPSILON, s, most, Window(spends=ring, peak_nano=most, last=last))
            )
            at = place(made, state, NOW)
            assert at == (landmark, left + landmark)
            a, x = literal(name, s, most, left + landmark, ring)
            found = proposal(made, state, NOW, at)
            assert found == (a if landmark else x)
            seen.add(found)
            assert spent(made, state, NOW, at, found) is not None
    assert len(seen) > (1 if name == "skip" else 3)


def test_an_endless_series_goes_on() -> None:
    """After its last landmark, a series with a window publishes for ever, with the same spend in every window."""
    level = {"level": "landmark", "landmarks": [3, 7], "window": 4}
    run = Run().feed_all([policy("a", epsilon=1.0, protection=level)])
    spends = []
    for step in range(400):
        outcome = run.feed(observation("a", step, 5))
        assert isinstance(outcome, ProcessedRecord)
        spends.append(outcome.spent_nano)
    assert set(spends[8:]) == {spends[8]}
    assert spends[8] > 0
    assert spends[3] + spends[7] + 4 * spends[8] <= 10**9


def test_dummies_beside_windows() -> None:
    """Landmarks are drawn as usual and pay for the draw, and the windows keep their own budget."""
    level = {"level": "landmark", "landmarks": [3, 12], "window": 4}
    dummies = {"method": "heuristic", "start": 0, "end": 20, "fraction": 0.1}
    run = Run().feed_all([policy("a", epsilon=1.0, protection=level, dummies=dummies, scheme={"name": "bd"})])
    row = run.rows["a"]
    assert row.policy.windows is not None
    assert (row.policy.windows.steps, row.policy.fixed) == (4, True)
    assert row.state.guard[:3] == (10**9, 10**8, 0)
    run.feed_all([observation("a", step, 5) for step in range(30)])
    run.feed({"type": "landmarks", "series": "a", "add": [25]})
    assert b"refused-landmark" in run.rejects[-1]
    guard = run.rows["a"].state.guard
    assert 0 < guard.regular_peak_nano <= 10**9 - guard.landmark_spent_nano
