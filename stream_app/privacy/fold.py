"""The fold: one record of a series moves its state on and says what was published and spent.

Invariant: the guard alone moves budget; what is published depends on the raw value through one mechanism call, at the
spend that the guard allowed. Pure: same key, policy, state and record give the same result, on any machine.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, assert_never

from stream_app.privacy.entry import CloseEntry, Figures, LandmarksEntry, PolicyEntry, ReleaseEntry
from stream_app.privacy.guard import Guard
from stream_app.privacy.key import KeyRing
from stream_app.privacy.landmarks import Interval, aligned
from stream_app.privacy.level import drifted, measured
from stream_app.privacy.noise import coin_stream, noise_stream
from stream_app.privacy.policy import EventLevel, LandmarkLevel, Policy, UserLevel
from stream_app.privacy.randomness import happens_rational
from stream_app.privacy.rational import NANO
from stream_app.privacy.raw import Raw, ReleasedCells
from stream_app.privacy.reason import Refused
from stream_app.privacy.release import Approximated, Perturbed, Release, Withheld
from stream_app.privacy.scheme import Adaptive, propose, propose_user
from stream_app.privacy.state import NEVER, State, new_period


@dataclass(frozen=True, slots=True)
class Observation:
    """One sensitive item; its repr hides the value."""

    series: bytes
    timestamp_ms: int
    value: Raw = field(repr=False)


class Spent(NamedTuple):
    """A measurement and what it cost."""

    measurement: ReleasedCells
    spend_nano: int


class Stepped(NamedTuple):
    """A decided step."""

    state: State
    release: Release
    entry: ReleaseEntry


class Adopted(NamedTuple):
    """A policy version that rules from now on."""

    state: State
    entry: PolicyEntry


class Registered(NamedTuple):
    """Landmarks that count from now on."""

    state: State
    entry: LandmarksEntry


class Closed(NamedTuple):
    """A series that ended."""

    state: State
    entry: CloseEntry


class Place(NamedTuple):
    """A step within its period: whether it is a landmark, and R, the landmarks at or after it, spare included."""

    landmark: bool
    left: int


def place(policy: Policy, state: State, index: int) -> Place:
    """Return what step ``index`` is under the policy."""
    match policy.protection:
        case LandmarkLevel():
            return Place(index in state.landmarks, state.landmarks.count_from(index) + state.spare_left)
        case EventLevel():
            return Place(landmark=False, left=0)
        case UserLevel(length):
            decided = index - state.first_step if state.first_step != NEVER else 0
            return Place(landmark=True, left=max(0, length - decided))
        case _:
            assert_never(policy.protection)


def proposal(policy: Policy, guard: Guard, at: Place) -> int:
    """Return what the policy would spend at a step, in nano-epsilon."""
    if isinstance(policy.protection, UserLevel):
        return propose_user(guard, at.left)
    return propose(policy.scheme, guard, at.left, landmark=at.landmark)


def step(keys: KeyRing, policy: Policy, state: State, observation: Observation) -> Stepped | Refused:
    """Decide one observation: publish a measurement, repeat an earlier release, or withhold.

    Guarantee: over all steps of a period, spends on landmarks plus any one other step never exceed the budget
    (Katsomallos et al. 2022, definition 3).
    """
    if state.closed:
        return Refused("closed")
    index = observation.timestamp_ms // policy.step_ms
    start_ms = index * policy.step_ms
    if start_ms < state.decided_end_ms:
        return Refused("duplicate" if start_ms + policy.step_ms > state.decided_ms else "late")
    epoch = keys.epoch_of(start_ms)
    secret = keys.secret_of(epoch)
    if secret is None:
        return Refused("key-erased")
    # PRIVACY: this branch shows whether the value was valid, nothing else of it; `invalid` with a substitute closes it.
    cells = policy.kind.quantise(observation.value)
    if cells is None:
        return Refused("invalid-value")
    at = place(policy, state, index)
    spend_nano = proposal(policy, state.guard, at)
    # PRIVACY: budget, landmarks and rate come from releases and public facts, the coin from key, series and step:
    # whether this event is published depends on no raw value.
    if spend_nano > 0 and isinstance(policy.scheme, Adaptive) and state.rate_nano < NANO:
        coin = coin_stream(secret, epoch, policy, observation.series, start_ms)
        if not happens_rational(coin, state.rate_nano, NANO):
            spend_nano = 0
    if spend_nano > 0:
        guard = state.guard.spend(landmark=at.landmark, spend_nano=spend_nano)
        if guard is not None:
            noise = noise_stream(secret, epoch, policy, observation.series, start_ms, spend_nano, cells)
            spent = Spent(policy.kind.perturb(noise, cells, spend_nano), spend_nano)
            return advance(policy, state, index, at, guard, spent)
    return advance(policy, state, index, at, state.guard, None)


def advance(policy: Policy, state: State, index: int, at: Place, guard: Guard, spent: Spent | None) -> Stepped:
    """Return the step's outcome from its measurement: post-processing only, no raw value comes here."""
    start_ms = index * policy.step_ms
    elapsed = index - state.last_step if state.last_step != NEVER else 0
    kind = policy.kind
    rate_nano, level = state.rate_nano, state.level
    source_ms, measurement, estimate = state.source_ms, state.measurement, state.estimate
    release: Release
    if spent is not None:
        if source_ms != NEVER and isinstance(policy.scheme, Adaptive):
            still = kind.still(measurement, spent.measurement, spent.spend_nano)
            rate_nano = policy.scheme.next_rate(rate_nano, still=still)
        source_ms, measurement, estimate = start_ms, spent.measurement, spent.measurement
        if policy.filter == "level":
            level, estimate = measured(kind, level, measurement, spent.spend_nano, elapsed)
        estimate = kind.clamp(estimate)
        release = Perturbed(start_ms, estimate, measurement, spent.spend_nano)
    else:
        if policy.filter == "level":
            level = drifted(kind, level, elapsed)
        release = Approximated(start_ms, estimate, source_ms) if source_ms != NEVER else Withheld(start_ms)
    moved = State(
        guard,
        state.landmarks,
        state.spare_left,
        state.prior_nano,
        state.first_budget_nano,
        state.period_start_ms,
        start_ms,
        start_ms + policy.step_ms,
        state.first_step if state.first_step != NEVER else index,
        index,
        rate_nano,
        source_ms,
        measurement,
        estimate,
        level,
        state.closed,
    )
    left = max(0, at.left - 1) if at.landmark else at.left
    figures = Figures(guard.budget_nano, guard.landmark_spent_nano, left, guard.regular_peak_nano)
    spend_nano = spent.spend_nano if spent else None
    entry = ReleaseEntry(policy.version, start_ms, release.decision, at.landmark, spend_nano, figures)
    return Stepped(moved, release, entry)


def adopt(policy: Policy, before: Policy | None, state: State | None, lifetime_nano: int | None) -> Adopted | Refused:
    """Begin the period of ``policy`` over a series that ``before`` ruled (None: a new series).

    Guarantee: the budgets of closed periods (what they used) and of the new one sum to at most the lifetime.
    """
    if state is not None and state.closed:
        return Refused("closed")
    if before is not None and policy.version <= before.version:
        return Refused("invalid-policy")
    if state is not None and policy.landmarks.count_before(-(-state.decided_end_ms // policy.step_ms)):
        return Refused("invalid-policy")
    first_nano = state.first_budget_nano if state else policy.epsilon_nano
    fresh = new_period(state, policy.epsilon_nano, policy.landmarks, policy.spare, first_budget_nano=first_nano)
    if fresh.prior_nano + policy.epsilon_nano > (first_nano if lifetime_nano is None else lifetime_nano):
        return Refused("budget-cap")
    return Adopted(fresh, PolicyEntry(policy.version, policy.epsilon_nano, 0, policy.parameters))


def register(policy: Policy, state: State, spans_ms: Iterable[int | Interval]) -> Registered | Refused:
    """Register landmarks late, all or none.

    Guarantee: it holds for every pair of series that are neighbours under the set after this; a step already decided
    is charged the largest regular spend, which its own cannot exceed.
    """
    if state.closed:
        return Refused("closed")
    add = aligned(spans_ms, policy.step_ms)
    if not isinstance(policy.protection, LandmarkLevel):
        return Refused("refused-landmark")
    if add.count_before(-(-state.period_start_ms // policy.step_ms)):
        return Refused("refused-landmark")
    union = state.landmarks.union(add)
    next_step = state.last_step + 1
    passed = union.count_before(next_step) - state.landmarks.count_before(next_step)
    guard = state.guard.charge_passed(passed)
    if guard is None:
        return Refused("refused-landmark")
    future = len(union) - len(state.landmarks) - passed
    spare_left = max(0, state.spare_left - future)
    left = union.count_from(next_step) + spare_left
    add_ms = tuple((first * policy.step_ms, end * policy.step_ms) for first, end in add.intervals)
    charged = guard.landmark_spent_nano - state.guard.landmark_spent_nano
    figures = Figures(guard.budget_nano, guard.landmark_spent_nano, left, guard.regular_peak_nano)
    moved = state._replace(guard=guard, landmarks=union, spare_left=spare_left)
    return Registered(moved, LandmarksEntry(policy.version, add_ms, charged, figures))


def close(policy: Policy, state: State) -> Closed | Refused:
    """End a series: its state is kept for ever, so that it never begins anew."""
    if state.closed:
        return Refused("closed")
    return Closed(state._replace(closed=True), CloseEntry(policy.version))
