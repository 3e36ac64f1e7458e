"""Proposals: the design's formulas, reimplemented from its text, over many small budgets."""

from fractions import Fraction
from itertools import product
from math import floor

import pytest

from stream_app.privacy.guard import Guard
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.scheme import Adaptive, Balanced, Scheme, Skip, Uniform, propose, propose_user

NANO = 10**9
STATES = [(e, s, m) for e, s, m in product(range(25), range(25), range(25)) if s + m <= e]


def _uniform(e: int, s: int, m: int, r: int) -> tuple[int, int]:
    a = min(floor(Fraction(e - s, r + 1)), floor(Fraction(e - s - m, r))) if r else 0
    return a, e - s - r * a


def _balanced(e: int, s: int, m: int, r: int, share: Fraction) -> tuple[int, int]:
    g = floor(Fraction(e * floor(10**6 * share), 10**6))
    a = floor(Fraction(max(0, e - max(g, m) - s), r)) if r else 0
    return a, e - s - r * a


@pytest.mark.parametrize("left", [0, 1, 2, 3, 7])
@pytest.mark.parametrize(
    "scheme", [Uniform(), Adaptive(), Skip(), Balanced(), Balanced(333_333), Balanced(0), Balanced(10**6)]
)
def test_proposals_follow_the_formulas(scheme: Scheme, left: int) -> None:
    """The proposal is a for a landmark and g for a regular step, for all budgets up to 24 and all past spends."""
    for e, s, m in STATES:
        if isinstance(scheme, Skip):
            a, g = 0, e - s
        elif isinstance(scheme, Balanced):
            a, g = _balanced(e, s, m, left, Fraction(scheme.regular_millionth, 10**6))
        else:
            a, g = _uniform(e, s, m, left)
        guard = Guard(e, s, m)
        assert propose(scheme, *guard[:3], left, landmark=False) == g
        if left:
            assert propose(scheme, *guard[:3], left, landmark=True) == a


def test_the_worked_example() -> None:
    """Epsilon 1 over six landmarks: 142857142 for each, 142857148 for a regular step."""
    assert propose(Uniform(), NANO, 0, 0, 6, landmark=True) == 142_857_142
    assert propose(Uniform(), NANO, 0, 0, 6, landmark=False) == 142_857_148


def test_what_a_landmark_leaves_goes_to_the_later_ones() -> None:
    """When a landmark spends nothing, all later shares grow, and together they still fit."""
    guard = Guard(NANO)
    first = propose(Uniform(), *guard[:3], 3, landmark=True)
    later = propose(Uniform(), *guard[:3], 2, landmark=True)
    assert later > first
    assert 2 * later + propose(Uniform(), *guard[:3], 2, landmark=False) == NANO


def test_user_level_shares_what_is_left() -> None:
    """Every remaining step gets an equal share of the rest, and nothing if there are no steps left."""
    assert propose_user(10, 0, 3) == 3
    assert propose_user(10, 3, 2) == 3
    assert propose_user(10, 6, 1) == 4
    assert propose_user(10, 6, 0) == 0


def test_the_rate_of_adaptive() -> None:
    """The rate falls if the noise exceeds the change, else it rises; it rounds down and keeps to its minimum."""
    scheme = Adaptive()
    assert scheme.next_rate(NANO, still=True) == NANO // 2
    assert scheme.next_rate(NANO // 2, still=False) == 3 * NANO // 4
    assert scheme.next_rate(NANO, still=False) == NANO
    assert scheme.next_rate(150_000_001, still=True) == 100_000_000
    assert Adaptive(333_333_333, 333_333_333, 1).next_rate(10, still=True) == floor(10 * Fraction(666_666_667, NANO))
    rate = NANO
    for _ in range(50):
        rate = scheme.next_rate(rate, still=True)
    assert rate == NANO // 10


@pytest.mark.parametrize(("steps", "spent"), [(0, 4), (1, 7), (2, None)])
def test_registering_decided_steps(steps: int, spent: int | None) -> None:
    """Each decided step is charged M; it is refused unless the last M still fits as well."""
    charged = Guard(10, 4, 3).charge_passed(None, steps, LandmarkSet())
    assert charged == (Guard(10, spent, 3) if spent is not None else None)


def test_a_refused_spend_changes_nothing() -> None:
    """The guard accepts a spend that fits to the last nano, and refuses one nano more or a negative spend."""
    guard = Guard(10, 4, 3)
    assert guard.spend(None, 0, 0, landmark=True, spend_nano=3) == Guard(10, 7, 3)
    assert guard.spend(None, 0, 0, landmark=True, spend_nano=4) is None
    assert guard.spend(None, 0, 0, landmark=False, spend_nano=6) == Guard(10, 4, 6)
    assert guard.spend(None, 0, 0, landmark=False, spend_nano=7) is None
    assert guard.spend(None, 0, 0, landmark=False, spend_nano=2) == guard
    assert guard.spend(None, 0, 0, landmark=True, spend_nano=-1) is None
    assert guard.spend(None, 0, 0, landmark=False, spend_nano=-1) is None
    assert guard.used_nano == 7
