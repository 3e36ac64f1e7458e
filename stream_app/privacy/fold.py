"""The fold: applies one record to a series' state and determines what is published and spent.

Invariant: only the guard changes the budget; what is published depends on the raw value through one mechanism call, at
the cost that the guard allowed. The fold is pure: the same key, policy, state and record give the same result on any
machine.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeVar, overload

from stream_app.privacy.amounts import Flag, Ints, Whole, every, most, some, where
from stream_app.privacy.dummies.request import MethodName
from stream_app.privacy.guard import NO_WINDOW, Guard
from stream_app.privacy.landmarks import MOST_INTERVALS, Interval, aligned
from stream_app.privacy.level import drifted, measured
from stream_app.privacy.noise.draws import Draw, Draws
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.place import Place, added, first_step, place, proposal, window_after
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import LandmarkLevel
from stream_app.privacy.published import (
    CloseEntry,
    ControlEntry,
    Decision,
    DummiesEntry,
    Figures,
    LandmarksEntry,
    PolicyEntry,
    decision_of,
)
from stream_app.privacy.reason import Reason, Rejection
from stream_app.privacy.rule import Rule
from stream_app.privacy.state import NEVER, Clock, Latest, State, bound_of, claim_of, new_period
from stream_app.privacy.values import NANO, Raw, RawCells, ReleasedCells, frozen
from stream_app.privacy.weaker import less_protected

E_co = TypeVar("E_co", bound=ControlEntry, covariant=True)


@frozen
class StepResult:
    """A processed step: the state after it, its cost in nano-epsilon, and the rest of its ledger entry.

    ``landmarks_left`` counts the landmarks after the step, including unused spare ones.
    """

    state: State
    spend_nano: int
    landmark: bool
    landmarks_left: int

    @property
    def decision(self) -> Decision:
        """The publishing decision for the step."""
        return decision_of(self.spend_nano > 0, self.state.released)


class StateChange(NamedTuple, Generic[E_co]):
    """The result of a record without a release: the state after it, and its ledger entry."""

    state: State
    entry: E_co


def step(
    keys: KeyRing, policy: Policy, state: State, series: str, timestamp_ms: int, value: Raw
) -> StepResult | Rejection:
    """Process one observation of a series: publish a measurement, repeat an earlier release, or withhold.

    Guarantee: over all steps of a period, the costs of the landmarks plus any one other step never exceed the budget
    (Katsomallos et al. 2022, definition 3).
    """
    index = policy.index_of(timestamp_ms)
    start_ms = policy.start_of(index)
    epoch = keys.epoch_of(start_ms)
    secret = keys.secret_of(epoch)
    if secret is None or refused(keys, epoch, start_ms, state.clock.decided_end_ms, closed=state.closed):
        return Rejection(untimely(policy, state, start_ms))
    # PRIVACY: this branch reveals whether the value was valid, and nothing else about the value; a substitute in
    # `invalid` closes it.
    cells = policy.kind.quantise(value)
    if cells is None:
        return Rejection("invalid-value")
    return publish(policy, state, index, Draw(secret, epoch, series), cells)


@overload
def publish(policy: Policy, state: State, index: int, draws: Draw, cells: RawCells) -> StepResult: ...


@overload
def publish(policy: Rule, state: State, index: Ints, draws: Draws, cells: tuple[Ints]) -> StepResult: ...


def publish(policy: Any, state: State, index: Any, draws: Any, cells: Any) -> StepResult:
    """Process a step that is not refused: decide whether to publish it, and perturb its cells if so.

    Under a rule, this processes one step of each of many series; their states and outcomes are columns.
    """
    start_ms = policy.start_of(index)
    at = place(policy, state, index)
    spend_nano = proposal(policy, state, index, at)
    guard, latest, level = state.guard, state.latest, policy.windows
    # PRIVACY: budget, landmarks and rate come from releases and public facts, and the coin comes from key, series and
    # step. So no raw value affects whether this event is published, except through a private dissimilarity that is paid
    # for.
    asked = (spend_nano > 0) & (latest.rate_nano < NANO)
    if some(asked):
        spend_nano = spend_nano * draws.coins(policy, start_ms, latest.rate_nano, asked)
    if level is not None and level.charge_nano and spend_nano and state.released:
        spend_nano *= draws.differs(policy, start_ms, level, cells, latest.estimate, spend_nano)
    if not some(spend_nano > 0):
        return advance(policy, state, index, at, guard.unspent(level, index, start_ms), None, spend_nano)
    guard, spend_nano = guard.offered(level, index, start_ms, landmark=at[0], spend_nano=spend_nano)
    fresh = draws.noise(policy, start_ms, spend_nano, cells) if some(spend_nano > 0) else None
    return advance(policy, state, index, at, guard, fresh, spend_nano)


def refused(keys: KeyRing, epoch: Whole, start_ms: Whole, decided_end_ms: Whole, *, closed: bool) -> Flag:
    """Return whether a step is refused: its series is closed, it is before ``decided_end_ms``, or its key is erased.

    `untimely` returns the reason.
    """
    return closed | (start_ms < decided_end_ms) | keys.erased(epoch)


def untimely(policy: Policy, state: State, start_ms: int) -> Reason:
    """Return why a step is refused: closed series, erased key, duplicate step or late step."""
    if state.closed:
        return "closed"
    if start_ms >= state.clock.decided_end_ms:
        return "key-erased"
    return "duplicate" if start_ms + policy.step_ms > state.clock.decided_ms else "late"


def advance(
    policy: Policy | Rule,
    state: State,
    index: int,
    at: Place,
    guard: Guard,
    fresh: ReleasedCells | None,
    spend_nano: int,
) -> StepResult:
    """Return the outcome of a step from its noisy value (None if not published), without reading a raw value.

    ``guard`` is the guard after the step; post-processing of releases is free (Dwork and Roth 2014, proposition 2.1).
    """
    start_ms = policy.start_of(index)
    kind, filtered = policy.kind, policy.filter == "level"
    clock, latest, published = state.clock, state.latest, spend_nano > 0
    kept, level = latest, latest.level
    if filtered and level and not every(published):
        kept = replace(latest, level=drifted(kind, level, state.elapsed_steps(index)))
    if fresh is None:
        latest = kept
    else:
        estimate, paid_nano = fresh, most(spend_nano, 1)  # columns include steps that cost 0
        if filtered:
            level, estimate = measured(kind, level, fresh, paid_nano, state.elapsed_steps(index))
        latest = Latest(
            source_ms=start_ms,
            measurement=fresh,
            estimate=kind.clamp(estimate),
            rate_nano=next_rate(policy, state, fresh, paid_nano),
            level=level,
        ).where(published, kept)
    now = Clock(
        period_start_ms=clock.period_start_ms,
        decided_ms=start_ms,
        decided_end_ms=start_ms + policy.step_ms,
        first_step=first_step(state, index),
        last_step=index,
    )
    moved = State(guard, state.promise, now, latest, closed=state.closed)
    landmark, left = at
    return StepResult(moved, spend_nano, landmark=landmark, landmarks_left=left - (landmark & (left > 0)))


def next_rate(policy: Policy | Rule, state: State, fresh: ReleasedCells, spend_nano: int) -> int:
    """Return the sampling rate after a publication, from this measurement and the previous one."""
    sampling, latest = policy.sampling, state.latest
    if not latest.measurement or sampling is None:
        return latest.rate_nano
    rate_nano = sampling.next_rate(latest.rate_nano, still=policy.kind.still(latest.measurement, fresh, spend_nano))
    return where(latest.source_ms != NEVER, rate_nano, latest.rate_nano)


def adopt(
    policy: Policy,
    before: Policy | None,
    state: State | None,
    lifetime_nano: int | None,
    *,
    may_weaken: bool = False,
    claims: bool = False,
) -> StateChange[PolicyEntry] | Rejection:
    """Begin the period of ``policy`` for a series after the period of ``before`` (None for a new series).

    Guarantee: the budget used by closed periods and the budget of the new one sum to at most the lifetime. Unless
    ``may_weaken`` is set, the new period jointly protects the future part of everything that ``before`` jointly
    protects. With ``claims``, a new series reserves its lifetime forever (`claim_of`); later, a smaller current
    lifetime also counts.
    """
    if state is not None and state.closed:
        return Rejection("closed")
    if before is not None and policy.version <= before.version:
        return Rejection("invalid-policy")
    if state is not None and policy.reaches_before(state.clock.decided_end_ms):
        return Rejection("invalid-policy")
    weaker = before is not None and state is not None and bool(less_protected(policy, before, state))
    if weaker and not may_weaken:
        return Rejection("weaker-policy")
    first_nano = state.promise.first_budget_nano if state else policy.epsilon_nano
    claim_nano = state.promise.claim_nano if state else claim_of(policy, lifetime_nano, claims=claims)
    window = window_after(policy, before, state) if before and state else NO_WINDOW
    fresh = new_period(
        state,
        policy.epsilon_nano,
        policy.landmarks,
        policy.spare,
        first_budget_nano=first_nano,
        claim_nano=claim_nano,
        window=window,
    )
    if fresh.promise.prior_nano + policy.epsilon_nano > bound_of(fresh.promise, lifetime_nano):
        return Rejection("budget-cap")
    told_nano = None if state else claim_nano
    return StateChange(fresh, PolicyEntry(policy.version, policy.epsilon_nano, 0, policy.parameters, weaker, told_nano))


def disguise(
    policy: Policy, state: State, method: MethodName, charge_nano: int
) -> StateChange[DummiesEntry] | Rejection:
    """Charge the cost of drawing the landmarks to a period that has just begun.

    The charge counts in the period's sum and in the lifetime as if a landmark had spent it. It covers the choice among
    given options; no charge covers how the options depend on the landmarks.
    """
    if not policy.fixed:
        return Rejection("refused-landmark")
    guard = state.guard.charge(policy.windows, charge_nano)
    if guard is None:
        return Rejection("budget-cap")
    return StateChange(replace(state, guard=guard), DummiesEntry(policy.version, method, charge_nano))


def register(
    policy: Policy, state: State, spans_ms: Iterable[int | Interval]
) -> StateChange[LandmarksEntry] | Rejection:
    """Register late landmarks, either all of them or none.

    The guarantee holds for every pair of series that are neighbours under the resulting set. A step already processed
    is charged the largest regular cost, which is at least the step's own cost. A unit of such a step is charged its
    part of that cost.
    """
    if state.closed:
        return Rejection("closed")
    add, begun_ms = aligned(spans_ms, *policy.grid), state.clock.period_start_ms
    if not isinstance(policy.protection, LandmarkLevel) or policy.protection.fixed:
        return Rejection("refused-landmark")
    if begun_ms and add.count_before(policy.grid.ceiling_of(begun_ms)):
        return Rejection("refused-landmark")
    union = state.promise.landmarks.union(add)
    if len(union.intervals) > MOST_INTERVALS:
        return Rejection("refused-landmark")
    guard, used, coming = added(policy, state, union, add)
    if guard is None:
        return Rejection("refused-landmark")
    spare_left = max(0, state.promise.spare_left - used)
    left = coming + spare_left
    add_ms = tuple(map(policy.grid.span_of, add.intervals))
    charged = guard.landmark_spent_nano - state.guard.landmark_spent_nano
    figures = Figures(guard.budget_nano, guard.landmark_spent_nano, left, guard.regular_peak_nano)
    promise = replace(state.promise, landmarks=union, spare_left=spare_left)
    moved = replace(state, guard=guard, promise=promise)
    return StateChange(moved, LandmarksEntry(policy.version, add_ms, charged, figures))


def close(policy: Policy, state: State) -> StateChange[CloseEntry] | Rejection:
    """Close a series; its state is kept forever, so that the series never starts over."""
    if state.closed:
        return Rejection("closed")
    return StateChange(replace(state, closed=True), CloseEntry(policy.version))
