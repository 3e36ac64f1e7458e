"""When a version protects less jointly than the previous one: by enumerating how two neighbours may differ.

The oracle only knows sets of milliseconds. Two neighbours of a version differ in its landmarks and a window. For the
ruling version, only what comes from the new version's start on counts. A version is not weaker if each such set is
within one of the new version's. Beyond landmarks and windows, kinds are compared by the pairs of values that are
neighbours.
"""

from collections.abc import Iterator
from itertools import combinations, product
from math import gcd, lcm
from typing import NamedTuple

import pytest

from stream_app.privacy import fold, weaker
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.reason import Rejection
from stream_app.privacy.state import State
from stream_app.privacy.values import Raw
from stream_app.privacy.weaker import Less, less_protected
from tests.privacy.moved import begun, registered
from tests.run import KEYS

SMALL = {"kind": "number", "lower": 0, "upper": 3, "resolution": 1}
STEPS = (1, 2, 3)
END_MS = 16
"""No landmark and no user level of the enumeration reaches this far: beyond it only windows count."""


class Version(NamedTuple):
    """A level with its figures in steps, small enough to enumerate."""

    step: int
    level: str
    landmarks: tuple[int, ...] = ()
    window: int = 1
    length: int = 0

    def policy(self, version: int, **members: object) -> Policy:
        """Return the policy of it."""
        protection: dict[str, object] = {"level": self.level, "step": self.step}
        if self.level == "landmark":
            protection["landmarks"] = [step * self.step for step in self.landmarks]
        if self.level == "w-event" or self.window > 1:
            protection["window"] = self.window
        if self.level == "user":
            protection["length"] = self.length
        parameters = {"epsilon": 1.0, "protection": protection, "scheme": {"name": "uniform"}, "value": SMALL}
        return policy_of({**parameters, **members}, version)

    def together(self, user_begin_ms: int) -> set[int]:
        """Return the milliseconds of the landmarks."""
        if self.level == "user":
            return set(range(user_begin_ms, user_begin_ms + self.length * self.step))
        return {ms for step in self.landmarks for ms in range(step * self.step, (step + 1) * self.step)}

    def windows(self, horizon_ms: int) -> Iterator[set[int]]:
        """Yield every window that begins before the horizon."""
        wide = self.window * self.step
        yield from (set(range(start, start + wide)) for start in range(0, horizon_ms, self.step))


def versions(most_landmarks: int) -> Iterator[Version]:
    """Yield small versions of every level."""
    for step in STEPS:
        for count in range(most_landmarks + 1):
            yield from (Version(step, "landmark", chosen) for chosen in combinations(range(4), count))
        yield from (Version(step, "landmark", chosen, 2) for chosen in ((), (1,), (2,), (1, 3)))
        yield Version(step, "landmark", (2,), 3)
        yield Version(step, "event")
        yield from (Version(step, "w-event", window=window) for window in (2, 3, 4))
        yield from (Version(step, "user", length=length) for length in (1, 2, 3))


def state_of(ruling: Policy, events_ms: tuple[int, ...]) -> State:
    """Return the state of a series, after events, that a version has ruled from the start."""
    state = begun(ruling)
    for at in events_ms:
        stepped = fold.step(KEYS, ruling, state, "a", at, Raw(1))
        state = state if isinstance(stepped, Rejection) else stepped.state
    return state


def differs_more(new: Version, ruling: Version, first_ms: int | None, begin_ms: int) -> bool:
    """Return whether two neighbours of the ruling version may not be neighbours of the new one."""
    far_ms = END_MS + new.window * new.step  # no window of the new version holds a landmark and what begins here
    beyond_ms = far_ms + lcm(new.step, ruling.step)
    own = new.together(begin_ms)
    pairs = list(new.windows(beyond_ms + 4 * new.step * new.window))
    landmarks = ruling.together(begin_ms if first_ms is None else first_ms)
    for window in ruling.windows(beyond_ms):
        differing = {ms for ms in landmarks | window if ms >= begin_ms} - own
        if differing and not any(differing <= each for each in pairs):
            return True
    return False


@pytest.mark.parametrize("events_ms", [(), (0,), (1,), (2,), (1, 4)])
def test_by_enumeration(events_ms: tuple[int, ...]) -> None:
    """A version is weaker exactly if two neighbours of the previous version may differ in more than its own."""
    compared = weaker_ones = 0
    for ruling in versions(2):
        before = ruling.policy(1)
        state = state_of(before, events_ms)
        first_ms = events_ms[0] // ruling.step * ruling.step if events_ms else None
        for new in versions(3):
            begin_ms = -(-state.clock.decided_end_ms // new.step) * new.step
            found = less_protected(new.policy(2), before, state)
            expected = differs_more(new, ruling, first_ms, begin_ms)
            assert bool(found) == expected, (ruling, new, events_ms, found)
            compared += 1
            weaker_ones += expected
    assert compared > 2_000
    assert 100 < weaker_ones < compared - 100


COUNTEREXAMPLES: list[tuple[Less, Version, Version, tuple[int, ...]]] = [
    ("landmarks", Version(1, "landmark", (2, 3)), Version(1, "landmark", (2,)), (0,)),
    ("window", Version(2, "event"), Version(1, "event"), (0,)),
    ("window", Version(1, "w-event", window=2), Version(1, "event"), ()),
    ("window", Version(1, "landmark", (3,), 2), Version(1, "landmark", (3,)), (0,)),
    ("landmarks", Version(1, "landmark", (3, 9), 2), Version(1, "w-event", window=4), (0,)),
    # As long, but a window of two old steps may begin in the middle of a new one.
    ("window", Version(2, "w-event", window=3), Version(3, "w-event", window=2), ()),
    ("length", Version(1, "user", length=3), Version(1, "event"), (0,)),
]


@pytest.mark.parametrize(("less", "ruling", "new", "events_ms"), COUNTEREXAMPLES)
def test_each_condition_is_needed(less: Less, ruling: Version, new: Version, events_ms: tuple[int, ...]) -> None:
    """For each condition there are versions that it alone refuses, and that the oracle finds weaker."""
    before = ruling.policy(1)
    state = state_of(before, events_ms)
    assert less_protected(new.policy(2), before, state) == (less,)
    begin_ms = -(-state.clock.decided_end_ms // new.step) * new.step
    assert differs_more(new, ruling, events_ms[0] if events_ms else None, begin_ms)


def test_the_width_alone_would_not_do() -> None:
    """With ``w'*s' >= w*s`` as the condition on windows, the oracle disagrees; with the design's it never does."""
    wrong = 0
    for step, former, window, former_window in product((1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3), (1, 2, 3)):
        new, ruling = (Version(each, "w-event", window=w) for each, w in ((step, window), (former, former_window)))
        expected = differs_more(new, ruling, None, 0)
        assert expected == (window * step < former_window * former + step - gcd(step, former))
        wrong += expected != (window * step < former_window * former)
    assert wrong > 5


def test_late_landmarks_count() -> None:
    """A landmark registered after the version began is kept like one that it began with."""
    before = Version(1, "landmark", (9,)).policy(1)
    state = registered(before, state_of(before, (0,)), 5).state
    assert less_protected(Version(1, "landmark", (9,)).policy(2), before, state) == ("landmarks",)
    assert less_protected(Version(1, "landmark", (5, 9)).policy(2), before, state) == ()


def test_what_is_past_may_go() -> None:
    """Landmarks before the last decided step's end, and a user level that has ended, impose nothing."""
    before = Version(1, "landmark", (1, 2)).policy(1)
    assert less_protected(Version(1, "event").policy(2), before, state_of(before, (0, 1))) == ("landmarks",)
    assert less_protected(Version(1, "event").policy(2), before, state_of(before, (0, 2))) == ()
    user = Version(1, "user", length=2).policy(1)
    assert less_protected(Version(1, "event").policy(2), user, state_of(user, (5,))) == ("length",)
    assert less_protected(Version(1, "event").policy(2), user, state_of(user, (5, 6))) == ()


def test_hidden_landmarks_decide_nothing() -> None:
    """Whether a version with dummies is weaker does not depend on the landmarks that it hides."""
    dummies = {"method": "padding", "probability": 0.5, "start": 4, "end": 10}
    user = Version(1, "user", length=5).policy(1)
    for landmarks in ((), (4,), (4, 5, 6, 7, 8, 9)):
        hiding = Version(1, "landmark", landmarks).policy(2, dummies=dummies)
        assert less_protected(hiding, user, state_of(user, (3,))) == ("length",)
        before = Version(1, "landmark", (2, 8)).policy(1)
        assert less_protected(hiding, before, state_of(before, (3,))) == ()


def test_every_word_has_a_sentence() -> None:
    """Every condition has a sentence that people are shown about a weaker version."""
    assert set(weaker.SENTENCES) == {"landmarks", "window", "length", "neighbours"}
