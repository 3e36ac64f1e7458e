"""Draws by key, series, landmarks and parameters: repeatable in every version; padding step by step."""

from collections.abc import Mapping
from dataclasses import replace
from math import sqrt

import pytest

from stream_app.privacy.dummies.draw import drawn_landmarks, drawn_policy, named_by_glob, named_by_series
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.reason import Rejection
from tests.run import KEYS, NUMBER, UNIFORM

SECOND = 1000
DAY_MS = 86_400_000
RANGE = {"start": 0, "end": 10 * SECOND}
METHODS: list[dict[str, object]] = [
    {"method": "optimal", "fraction": 0.5},
    {"method": "heuristic", "utility": "count"},
    {"method": "partitioned"},
    {"method": "padding", "probability": 0.3},
]
LANDMARKS = [3500, [6000, 8001]]
TRUE = LandmarkSet(((3, 4), (6, 9)))


def made(dummies: Mapping[str, object], version: int = 1, *, epsilon: float = 1.0, **protection: object) -> Policy:
    """Return a policy with dummies over ten seconds, unless another range is given."""
    level = {"level": "landmark", "landmarks": LANDMARKS, "step": SECOND} | protection
    members = {"epsilon": epsilon, "protection": level, "scheme": UNIFORM, "value": NUMBER}
    return policy_of(members | {"dummies": {**RANGE, **dummies}}, version)


def drawn(policy: Policy, series: str = "home-7", keys: KeyRing = KEYS) -> LandmarkSet:
    """Return the draw for a policy."""
    assert policy.dummies is not None
    found = drawn_landmarks(keys, named_by_series(series), policy.grid, policy.dummies)
    assert found is not None
    return found


def steps(landmarks: LandmarkSet) -> set[int]:
    """Return the steps of a set."""
    return {step for start, end in landmarks.intervals for step in range(start, end)}


@pytest.mark.parametrize("dummies", METHODS, ids=lambda found: str(found["method"]))
def test_what_a_draw_depends_on(dummies: Mapping[str, object]) -> None:
    """It contains the true landmarks and stays in the range; versions share it, series and keys do not."""
    policy = made(dummies)
    first = drawn(policy)
    assert steps(TRUE) <= steps(first) <= set(range(10))
    assert drawn(made(dummies, 9)) == first
    assert policy.dummies is not None
    shared = drawn_landmarks(KEYS, named_by_glob("home-7"), policy.grid, policy.dummies)
    assert shared is not None
    assert steps(TRUE) <= steps(shared) <= set(range(10))
    others = {drawn(policy, f"home-{number}") for number in range(40)}
    assert len(others) > 5
    assert len({drawn(policy, keys=KeyRing("0" * 16, 0, bytes([number] * 32))) for number in range(40)}) > 5


@pytest.mark.parametrize("dummies", METHODS[:3], ids=lambda found: str(found["method"]))
def test_other_landmarks_draw_anew(dummies: Mapping[str, object]) -> None:
    """The bits depend on landmarks and charge too: using the same ones elsewhere would link two draws."""
    numbers = {len(drawn(made(dummies, landmarks=[start * SECOND]))) for start in range(10)}
    assert len(numbers) > 3
    assert len({len(drawn(made({**dummies, "fraction": part / 1000}))) for part in range(1, 30)}) > 4


def test_padding_is_by_step_alone() -> None:
    """Coins ignore range, landmarks and version; those of a smaller probability are among a larger one's."""
    base = {"method": "padding", "probability": 0.3}
    whole = steps(drawn(made(base | {"end": 400 * SECOND}, landmarks=[])))
    part = steps(drawn(made(base | {"start": 100 * SECOND, "end": 300 * SECOND}, 2, landmarks=[150_000])))
    assert part == {step for step in whole if 100 <= step < 300} | {150}
    fewer = steps(drawn(made({"method": "padding", "probability": 0.1, "end": 400 * SECOND}, landmarks=[])))
    assert fewer < whole
    assert steps(drawn(made(base | {"probability": 1}, landmarks=[]))) == set(range(10))


def test_padding_has_its_probability() -> None:
    """Over many steps the share that joins is within five standard deviations of p, and not of 1.2 p."""
    number = 20_000
    for share in (0.05, 0.5):
        policy = made({"method": "padding", "probability": share, "end": number * SECOND}, landmarks=[])
        joined = len(drawn(policy))
        off = 5 * sqrt(number * share * (1 - share))
        assert abs(joined - number * share) < off
        assert abs(joined - number * share * 1.2) > off


def test_epochs() -> None:
    """Coins come from their own step's epoch, so a later first epoch changes none; an erased start refuses."""
    keys = KeyRing("0" * 16, 0, bytes(range(32)), DAY_MS)
    padding = made(
        {"method": "padding", "probability": 0.5, "start": 3 * DAY_MS, "end": 9 * DAY_MS},
        step=DAY_MS // 8,
        landmarks=[],
    )
    secret = keys.secret_of(3)
    assert secret is not None
    later = replace(keys, first_epoch=3, secret=secret)
    assert drawn(padding, keys=later) == drawn(padding, keys=keys)
    for dummies in METHODS:
        wide = {"start": 3 * DAY_MS, "end": 3 * DAY_MS + 10 * SECOND}
        policy = made(dummies | wide, landmarks=[3 * DAY_MS])
        assert drawn(policy, keys=later) == drawn(policy, keys=keys)
        secret = keys.secret_of(4)
        assert secret is not None
        erased = replace(keys, first_epoch=4, secret=secret)
        assert drawn_policy(erased, named_by_series("home-7"), policy) == Rejection("key-erased")


def test_a_policy_without_dummies_is_as_it_was() -> None:
    """Nothing is drawn unless it is asked for; a `dummies` of null asks for nothing, and is not kept."""
    members = {"epsilon": 1.0, "protection": {"level": "landmark"}, "scheme": UNIFORM, "value": NUMBER}
    plain = policy_of(members, 1)
    assert drawn_policy(KEYS, named_by_series("home-7"), plain) is plain
    assert policy_of(members | {"dummies": None}, 1).parameters == members
