"""A step in its period, for every level: whether it is a landmark, its proposed cost, and the guard.

The functions handle one step, or one step of each of many series if the states are columns (`amounts`).

Every cost of a step goes through `Guard.offered` or `spent`. Every charge without such a cost goes through these
functions or `unspent`. The arithmetic is in `guard`.
"""

from typing import assert_never

from stream_app.privacy.amounts import Whole, most, where
from stream_app.privacy.guard import NO_WINDOW, Guard, Window, WindowLevel
from stream_app.privacy.kinds import HiddenMean
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import EventLevel, LandmarkLevel, UserLevel
from stream_app.privacy.rule import Rule
from stream_app.privacy.scheme import propose, propose_units, propose_user, propose_window
from stream_app.privacy.state import NEVER, State

Place = tuple[bool, int]
"""A step within its period: whether it is a landmark, and R.

R is the number of landmarks at or after the step, including spare ones.
"""


def place(policy: Policy | Rule, state: State, index: int) -> Place:
    """Return whether step ``index`` is a landmark, and how many landmarks remain from that step on."""
    match policy.protection:
        case LandmarkLevel() if policy.units is not None:
            return False, state.promise.spare_left  # no step has landmark units
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
    """Return the first step of the period if step ``index`` is processed now."""
    return where(state.clock.first_step == NEVER, index, state.clock.first_step)


def steps_left(length: int, passed: Whole) -> Whole:
    """Return how many steps of a user level remain, from the step ``passed`` steps after its first, inclusive."""
    return most(length - passed, 0)


def proposal(policy: Policy | Rule, state: State, index: int, at: Place) -> int:
    """Return the cost that the policy proposes for a step, in nano-epsilon."""
    landmark, left = at
    level, guard = policy.windows, state.guard
    if guard.window.opens_ms and policy.start_of(index) < guard.window.opens_ms:  # never in columns
        return 0
    budget, spent, peak, window = guard
    if policy.units is not None:
        return propose_units(budget, spent, left, policy.units.window)
    if isinstance(policy.protection, UserLevel):
        offered = propose_user(budget, spent, left)
    else:
        offered = propose(policy.scheme, budget, spent, peak, left, landmark=landmark)
    if level is not None and not landmark:
        spendable_nano = offered - (budget - level.spendable_nano)  # minus what may be charged
        offered = propose_window(policy.scheme, level, window, spendable_nano, first_step(state, index), index)
    # The two noisy values of this mean share its cost, and a nano-epsilon cannot be halved.
    return 0 if isinstance(policy.kind, HiddenMean) and offered == 1 else offered


def spent(policy: Policy, state: State, index: int, at: Place, spend_nano: int) -> Guard | None:
    """Return the guard after publishing a step at a cost of ``spend_nano``, or None if the guard refuses."""
    start_ms = policy.start_of(index)
    return state.guard.spend(policy.windows, index, start_ms, landmark=at[0], spend_nano=spend_nano)


def unspent(policy: Policy, state: State, index: int) -> Guard:
    """Return the guard after a step that is not published; it includes the cost of private dissimilarity."""
    return state.guard.unspent(policy.windows, index, policy.start_of(index))


def charge_nano(policy: Policy, state: State, start_ms: int) -> int:
    """Return the cost of processing a step apart from its release: e1 for a private dissimilarity, else 0."""
    level = policy.windows
    return 0 if level is None or start_ms < state.guard.window.opens_ms else level.charge_nano


def added(policy: Policy, state: State, union: LandmarkSet, add: LandmarkSet) -> tuple[Guard | None, int, int]:
    """Return the guard after adding landmarks, the number of them that use `spare`, and the number still to come.

    The guard is None if it refuses. The last number counts all landmarks from the next step on. A landmark unit is
    charged and uses `spare` only if its step was processed; other units cost nothing and are not counted.
    """
    units, landmarks, decided = policy.units, state.promise.landmarks, state.clock.last_step + 1
    if units is not None:
        end = decided * units.per_step
        passed = union.count_before(end) - landmarks.count_before(end) if decided else 0
        return state.guard.charge_units(units.window, passed), passed, 0
    passed = union.count_before(decided) - landmarks.count_before(decided)
    guard = state.guard.charge_passed(policy.windows, passed, add)
    return guard, len(union) - len(landmarks) - passed, union.count_from(decided)


def window_after(policy: Policy, before: Policy, state: State) -> Window:
    """Return the window of a new version, given the state in which the previous version ends."""
    if policy.units is not None or before.units is not None:
        return _after_units(policy, before, state)
    level, window, end_ms = before.windows, state.guard.window, _spent_end_ms(before, state)
    if end_ms and (level is not None or policy.windows is not None or window != NO_WINDOW):
        window = window.closed(end_ms, 0 if level is None else end_ms + (level.steps - 1) * before.step_ms)
    return window.opened(policy.windows, policy.step_ms)


def _after_units(policy: Policy, before: Policy, state: State) -> Window:
    """Return `window_after` if either version has units; waits start at the end of the last step that spent budget."""
    window, spent_end_ms = state.guard.window, _spent_end_ms(before, state)
    reach_ms = spent_end_ms + _span_ms(before) if spent_end_ms else 0
    kept = window.closed(spent_end_ms or window.spent_end_ms, reach_ms)._replace(whole=True)
    if _protects_alike(policy, before):
        return kept._replace(opens_ms=window.opens_ms)
    own_ms = kept.spent_end_ms + _span_ms(policy) if kept.spent_end_ms else 0
    return kept._replace(opens_ms=max(own_ms, kept.reach_ms))


def _spent_end_ms(before: Policy, state: State) -> int:
    """Return the end of the last step on which the version may have spent budget, or 0 if there is none."""
    level = before.windows
    spent_ms = state.latest.source_ms
    if level is not None and level.charge_nano and state.guard.used_nano:
        spent_ms = state.clock.decided_ms  # every event since the first charge was charged
    if spent_ms != NEVER:
        return spent_ms + before.step_ms
    # Versions of single steps did not count their costs before any other version applied, so assume the worst.
    counted = level is not None or before.units is not None or state.guard.window != NO_WINDOW
    return 0 if counted else state.clock.decided_end_ms


def _span_ms(policy: Policy) -> int:
    """Return the length of a policy's window, or of a step if it has no window."""
    return policy.window * policy.grid.length_ms


def _protects_alike(policy: Policy, before: Policy) -> bool:
    units, former = policy.units, before.units
    if units is None or former is None:
        return False
    return (units.unit_ms, units.window, units.offset_ms) == (former.unit_ms, former.window, former.offset_ms)
