"""A step in its period, for every level: what it is under the policy, what its scheme proposes, what the guard allows.

What is said of a step holds for one of each of many series alike, where their states are columns (`amounts`).

Every spend of a step goes through `offered` or `spent`, every charge without one through these or `unspent`; `guard`
has the arithmetic.
"""

from typing import assert_never

from stream_app.privacy.amounts import Whole, most, where
from stream_app.privacy.guard import NO_WINDOW, Guard, Window, WindowLevel
from stream_app.privacy.kinds import HiddenMean
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import EventLevel, LandmarkLevel, UserLevel
from stream_app.privacy.rule import Rule
from stream_app.privacy.scheme import propose, propose_user, propose_window
from stream_app.privacy.state import NEVER, State

Place = tuple[bool, int]
"""A step within its period: whether it is a landmark, and R, the landmarks at or after it, spare included."""


def place(policy: Policy | Rule, state: State, index: int) -> Place:
    """Return whether step ``index`` is a landmark, and how many landmarks are left from it on."""
    match policy.protection:
        case LandmarkLevel():
            inside, left = state.promise.landmarks.left(index)
            return inside, left + state.promise.spare_left
        case EventLevel() | WindowLevel():
            return False, 0
        case UserLevel(length):
            return True, steps_left(length, index - first_step(state, index))
        case _:
            assert_never(policy.protection)


def first_step(state: State, index: int) -> int:
    """Return the first step of a period that decides step ``index`` now."""
    return where(state.clock.first_step == NEVER, index, state.clock.first_step)


def steps_left(length: int, passed: Whole) -> Whole:
    """Return how many steps of a user level are left at the one so many steps after its first."""
    return most(length - passed, 0)


def proposal(policy: Policy | Rule, state: State, index: int, at: Place) -> int:
    """Return what the policy would spend at a step, in nano-epsilon."""
    offered = _proposal(policy, state, index, at)
    # Two measurements share what this mean spends, and a nano-epsilon has no halves.
    return 0 if isinstance(policy.kind, HiddenMean) and offered == 1 else offered


def _proposal(policy: Policy | Rule, state: State, index: int, at: Place) -> int:
    landmark, left = at
    level, guard = policy.windows, state.guard
    if guard.window.opens_ms and index * policy.step_ms < guard.window.opens_ms:  # columns have none
        return 0
    if isinstance(policy.protection, UserLevel):
        return propose_user(guard.budget_nano, guard.landmark_spent_nano, left)
    offered = propose(policy.scheme, *guard[:3], left, landmark=landmark)
    if level is None or landmark:
        return offered
    spendable_nano = offered - (guard.budget_nano - level.spendable_nano)  # but for what may be charged
    return propose_window(policy.scheme, level, guard.window, spendable_nano, first_step(state, index), index)


def offered(policy: Policy | Rule, state: State, index: int, at: Place, spend_nano: int) -> tuple[Guard, int]:
    """Return the guard after a step for which so much is proposed, and what it spends: all, or 0 where refused."""
    start_ms = index * policy.step_ms
    return state.guard.offered(policy.windows, index, start_ms, landmark=at[0], spend_nano=spend_nano)


def spent(policy: Policy, state: State, index: int, at: Place, spend_nano: int) -> Guard | None:
    """Return the guard after a step that is published for so much, or None: refused."""
    start_ms = index * policy.step_ms
    return state.guard.spend(policy.windows, index, start_ms, landmark=at[0], spend_nano=spend_nano)


def unspent(policy: Policy | Rule, state: State, index: int) -> Guard:
    """Return the guard after a step that is not published: what its private dissimilarity cost stands in it."""
    return state.guard.unspent(policy.windows, index, index * policy.step_ms)


def charge_nano(policy: Policy, state: State, start_ms: int) -> int:
    """Return what deciding a step costs besides its spend: e1 where a private dissimilarity is paid for."""
    level = policy.windows
    return 0 if level is None or start_ms < state.guard.window.opens_ms else level.charge_nano


def window_after(policy: Policy, before: Policy, state: State) -> Window:
    """Return the window that a version begins with, after the state in which the version before it ends."""
    level, window = before.windows, state.guard.window
    if level is not None:
        spent_ms = state.latest.source_ms
        if level.charge_nano and state.guard.used_nano:
            spent_ms = state.clock.decided_ms  # since the first charge every event was charged
        if spent_ms != NEVER:
            window = window.closed(spent_ms + before.step_ms, spent_ms + level.steps * before.step_ms)
    elif policy.windows is not None or window != NO_WINDOW:
        if state.released:
            window = window.closed(state.latest.source_ms + before.step_ms, 0)
        elif window == NO_WINDOW:  # the versions before it kept no count of their spends: the careful side
            window = window.closed(state.clock.decided_end_ms, 0)
    return window.opened(policy.windows, policy.step_ms)
