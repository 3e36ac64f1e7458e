"""The fold's result for a policy or for landmarks, if it accepts them."""

from stream_app.privacy import fold
from stream_app.privacy.guard import WindowLevel
from stream_app.privacy.landmarks import Interval
from stream_app.privacy.policy import Policy
from stream_app.privacy.published import LandmarksEntry
from stream_app.privacy.state import State


def begun(policy: Policy, lifetime_nano: int | None = None) -> State:
    """Return the state of a series before its first step."""
    return adopted(policy, None, None, lifetime_nano)


def adopted(
    policy: Policy,
    before: Policy | None,
    state: State | None,
    lifetime_nano: int | None = 10**12,
    *,
    may_weaken: bool = True,
) -> State:
    """Return the state of a series that a policy governs from now on."""
    moved = fold.adopt(policy, before, state, lifetime_nano, may_weaken=may_weaken)
    assert isinstance(moved, fold.StateChange)
    return moved.state


def registered(policy: Policy, state: State, *spans_ms: int | Interval) -> fold.StateChange[LandmarksEntry]:
    """Return the result of registering landmarks."""
    moved = fold.register(policy, state, spans_ms)
    assert isinstance(moved, fold.StateChange)
    return moved


def window_of(policy: Policy) -> WindowLevel:
    """Return the protection of a policy with windows."""
    assert isinstance(policy.protection, WindowLevel)
    return policy.protection
