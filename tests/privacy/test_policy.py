"""What makes a valid policy and what does not: all faults are reported together, each with its member."""

import pytest

from stream_app.privacy.guard import WindowLevel
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.policy import PolicyError, policy_of
from stream_app.privacy.protection import EventLevel, LandmarkLevel, UserLevel
from stream_app.privacy.scheme import Adaptive, Balanced, BudgetAbsorption, BudgetDistribution, Skip, Uniform
from tests.run import ADAPTIVE, BALANCED, CATEGORY, COUNTS, LOCATION, NUMBER, SKIP, UNIFORM

LANDMARK: dict[str, object] = {"level": "landmark"}
BOUNDS: dict[str, object] = {"south": -11.1, "west": -37.2, "north": -10.8, "east": -37.0}
WINDOW: dict[str, object] = {"level": "w-event", "window": 3}
PRIVATE: dict[str, object] = {"name": "ba", "dissimilarity": "private"}
GOOD: dict[str, object] = {"epsilon": 1.0, "protection": LANDMARK, "scheme": UNIFORM, "value": NUMBER}


def faults(**members: object) -> set[str]:
    """Return the members at fault."""
    with pytest.raises(PolicyError) as raised:
        policy_of({**GOOD, **members}, 1)
    assert all(fault.message for fault in raised.value.faults)
    return {fault.member for fault in raised.value.faults}


@pytest.mark.parametrize(
    ("members", "member"),
    [
        *(({"epsilon": epsilon}, "epsilon") for epsilon in (0, -1, 1e-10, 1e6 + 1, "1", None, True, float("nan"))),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"sparee": 2}, "sparee"),
        ({"protection": {**LANDMARK, "sparee": 2}}, "protection.sparee"),
        ({"scheme": {**UNIFORM, "minimum": 0.1}}, "scheme.minimum"),
        ({"value": {**NUMBER, "radius": 2}}, "value.radius"),
        ({"protection": {"level": "none"}}, "protection.level"),
        ({"protection": {**LANDMARK, "step": 0}}, "protection.step"),
        ({"protection": {**LANDMARK, "step": 1.0}}, "protection.step"),
        ({"protection": {**LANDMARK, "spare": -1}}, "protection.spare"),
        ({"protection": {**LANDMARK, "landmarks": [[5, 5]]}}, "protection.landmarks"),
        ({"protection": {**LANDMARK, "length": 5}}, "protection.length"),
        ({"protection": {"level": "user"}}, "protection.length"),
        ({"protection": {"level": "user", "length": 0}}, "protection.length"),
        ({"protection": {"level": "event", "spare": 1}}, "protection"),
        ({"protection": {"level": "event", "landmarks": [5]}}, "protection"),
        ({"scheme": {"name": "skip"}}, "scheme.accept_risk"),
        ({"scheme": {"name": "skip", "accept_risk": False}}, "scheme.accept_risk"),
        ({"scheme": {"name": "bc"}}, "scheme"),
        ({"scheme": {"name": "adaptive", "minimum": 1.1}}, "scheme.minimum"),
        ({"scheme": {"name": "balanced"}, "protection": {"level": "user", "length": 5}}, "scheme.name"),
        ({"filter": "kalman"}, "filter"),
        ({"value": {**NUMBER, "upper": 0}}, "value.resolution"),
        ({"value": {**NUMBER, "resolution": 0}}, "value.resolution"),
        ({"value": {**NUMBER, "resolution": 1e-15}}, "value.resolution"),
        ({"value": {**NUMBER, "resolution": 11}}, "value.resolution"),
        ({"value": {**NUMBER, "upper": 1e101}}, "value.upper"),
        ({"value": {**NUMBER, "sensitivity": 0}}, "value.sensitivity"),
        ({"value": {**NUMBER, "invalid": "zero"}}, "value.invalid"),
        ({"value": {**COUNTS, "keys": []}}, "value.keys"),
        ({"value": {**COUNTS, "keys": ["a", "a"]}}, "value.keys"),
        ({"value": {**COUNTS, "sensitivity": 0}}, "value.sensitivity"),
        ({"value": {**COUNTS, "invalid": {"swim": 1}}}, "value.invalid"),
        ({"value": {**COUNTS, "invalid": {}}}, "value.invalid"),
        ({"value": {**LOCATION, "invalid": {"latitude": -11.0, "longitude": -37.1}}}, "value.invalid"),
        ({"value": {**NUMBER, "sensitivity": 1, "invalid": 0}}, "value.invalid"),
        ({"value": {**CATEGORY, "categories": ["a"]}}, "value.categories"),
        ({"value": {**CATEGORY, "categories": ["a", "a"]}}, "value.categories"),
        ({"value": {**CATEGORY, "invalid": "odd"}}, "value.invalid"),
        ({"value": {**LOCATION, "radius": 0}}, "value.radius"),
        ({"value": {**LOCATION, "resolution": 0.09}}, "value.resolution"),
        ({"value": {**LOCATION, "resolution": 1e6}}, "value.resolution"),
        ({"value": {**LOCATION, "bounds": {**BOUNDS, "north": -12}}}, "value.bounds"),
        ({"value": {**LOCATION, "bounds": {**BOUNDS, "east": -38}}}, "value.bounds"),
        ({"value": {**LOCATION, "bounds": {**BOUNDS, "north": 86}}}, "value.bounds.north"),
        ({"value": {**LOCATION, "invalid": {"latitude": 1}}}, "value.invalid"),
        ({"dummies": {}}, "dummies"),
        ({"collect": {}}, "collect"),
        ({"protection": {"level": "w-event"}}, "protection.window"),
        ({"protection": {"level": "w-event", "window": 0}}, "protection.window"),
        ({"protection": {"level": "w-event", "window": 10_001}}, "protection.window"),
        ({"protection": {"level": "w-event", "window": 3, "landmarks": [5]}}, "protection"),
        ({"protection": {"level": "w-event", "window": 3, "spare": 1}}, "protection"),
        ({"protection": {"level": "w-event", "window": 3, "length": 9}}, "protection.length"),
        ({"protection": {"level": "event", "window": 3}}, "protection.window"),
        ({"protection": {"level": "user", "length": 3, "window": 3}}, "protection.window"),
        ({"protection": {**LANDMARK, "window": 0}}, "protection.window"),
        ({"protection": LANDMARK, "scheme": {"name": "bd"}}, "scheme.name"),
        ({"protection": {**LANDMARK, "window": 1}, "scheme": {"name": "ba"}}, "scheme.name"),
        ({"protection": {**LANDMARK, "window": 3}, "scheme": PRIVATE}, "scheme.dissimilarity"),
        *(({"protection": WINDOW, "scheme": scheme}, "scheme.name") for scheme in (ADAPTIVE, SKIP, BALANCED)),
        *(
            ({"protection": level, "scheme": {"name": name}}, "scheme.name")
            for level in (LANDMARK, {"level": "event"}, {"level": "user", "length": 5})
            for name in ("bd", "ba")
        ),
        ({"protection": WINDOW, "scheme": {**UNIFORM, "dissimilarity": "released"}}, "scheme.dissimilarity"),
        ({"protection": WINDOW, "scheme": {"name": "bd", "dissimilarity": "raw"}}, "scheme.dissimilarity"),
        ({"protection": WINDOW, "scheme": {"name": "ba", "minimum": 1.1}}, "scheme.minimum"),
        ({"protection": WINDOW, "scheme": {**PRIVATE, "minimum": 0.1}}, "scheme.minimum"),
        ({"protection": WINDOW, "scheme": PRIVATE, "value": CATEGORY}, "scheme.dissimilarity"),
        ({"protection": WINDOW, "scheme": PRIVATE, "value": LOCATION}, "scheme.dissimilarity"),
        ({"protection": WINDOW, "scheme": PRIVATE, "epsilon": 5e-9}, "epsilon"),
    ],
)
def test_what_is_refused(members: dict[str, object], member: str) -> None:
    """Each wrong parameter is a fault that names its member."""
    assert any(found.startswith(member) for found in faults(**members)), faults(**members)


@pytest.mark.parametrize("missing", list(GOOD))
def test_what_must_be_said(missing: str) -> None:
    """Epsilon, protection, scheme and value have no defaults."""
    with pytest.raises(PolicyError, match=missing):
        policy_of({name: part for name, part in GOOD.items() if name != missing}, 1)


def test_every_fault_is_told_at_once() -> None:
    """One error lists all faults, of several members."""
    assert len(faults(epsilon=-1, sparee=1, filter="x", protection={"level": "landmark", "step": 0})) == 4
    found = faults(protection={"level": "user"}, scheme={"name": "skip"}, value={**NUMBER, "upper": -1})
    assert found == {"protection.length", "scheme.accept_risk", "scheme.name", "value.resolution"}


def test_messages_hold_no_value() -> None:
    """A fault says what kind of thing is wrong, but not which value was found."""
    with pytest.raises(PolicyError) as raised:
        policy_of({**GOOD, "epsilon": "canary", "value": {**NUMBER, "lower": "canary"}, "filter": ["canary"]}, 1)
    assert "canary" not in str(raised.value)


def test_defaults() -> None:
    """Omitted members mean a step of 1 ms, no spare, a filter by scheme, and the paper's rates."""
    made = policy_of(GOOD, 3)
    assert (made.version, made.epsilon_nano, made.step_ms, made.filter, made.correlation) == (3, 10**9, 1, "none", None)
    assert made.protection == LandmarkLevel(LandmarkSet(), 0)
    assert made.scheme == Uniform()
    assert policy_of({**GOOD, "scheme": {"name": "balanced"}}, 1).filter == "level"
    assert policy_of({**GOOD, "scheme": {"name": "balanced"}, "filter": "none"}, 1).filter == "none"
    assert policy_of({**GOOD, "scheme": {"name": "balanced"}}, 1).scheme == Balanced(500_000)
    assert policy_of({**GOOD, "scheme": {"name": "adaptive"}}, 1).scheme == Adaptive(5 * 10**8, 5 * 10**8, 10**8)
    assert policy_of({**GOOD, "scheme": {"name": "skip", "accept_risk": True}}, 1).scheme == Skip()


def test_levels() -> None:
    """Each level carries what it needs; landmarks are aligned to the step."""
    protection = {"level": "landmark", "landmarks": [25, [30, 41]], "step": 10, "spare": 4}
    assert policy_of({**GOOD, "protection": protection}, 1).protection == LandmarkLevel(LandmarkSet(((2, 5),)), 4)
    assert policy_of({**GOOD, "protection": {"level": "event"}}, 1).protection == EventLevel()
    assert policy_of({**GOOD, "protection": {"level": "user", "length": 9}}, 1).protection == UserLevel(9)


def test_level_w_event() -> None:
    """P is epsilon minus the charges of w private dissimilarities; with released ones it is all of epsilon."""
    made = policy_of({**GOOD, "epsilon": 1.3e-8, "protection": WINDOW, "scheme": PRIVATE}, 1)
    assert made.protection == WindowLevel(steps=3, spendable_nano=7, charge_nano=2, sensitivity=10_000)
    assert made.scheme == BudgetAbsorption(sampling=None)
    made = policy_of({**GOOD, "protection": WINDOW, "scheme": {"name": "bd", "increase": 0.25}}, 1)
    assert made.protection == WindowLevel(steps=3, spendable_nano=10**9)
    assert made.scheme == BudgetDistribution(Adaptive(25 * 10**7, 5 * 10**8, 10**8))
    assert made.filter == "none"
    assert policy_of({**GOOD, "protection": WINDOW}, 1).protection == WindowLevel(3, 10**9)
    smallest = {**GOOD, "epsilon": 6e-9, "protection": WINDOW, "scheme": PRIVATE, "value": COUNTS}
    assert policy_of(smallest, 1).protection == WindowLevel(3, 3, 1, 2)


def test_rates_and_shares_are_read_as_decimals() -> None:
    """0.1 is 100000000 billionths; a share is rounded down to millionths."""
    scheme = {"name": "adaptive", "increase": 0.3, "decrease": 1 / 3, "minimum": 0}
    assert policy_of({**GOOD, "scheme": scheme}, 1).scheme == Adaptive(300_000_000, 333_333_333, 0)
    assert policy_of({**GOOD, "scheme": {"name": "balanced", "regular_share": 2 / 3}}, 1).scheme == Balanced(666_666)
