"""The state of one series: only released values, counts and budgets, never a raw value."""

from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from typing import Final

from stream_app.privacy.amounts import Flag, Whole, chosen, every, where
from stream_app.privacy.guard import NO_WINDOW, Guard, Window
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import NANO, LevelState, ReleasedCells, frozen

NEVER = -1
"""Marks a step or timestamp that has not occurred yet."""


@frozen
class Promise:
    """The landmarks that the current period jointly protects, and the budget that earlier periods used."""

    landmarks: LandmarkSet  # steps of the current period's length
    spare_left: int
    prior_nano: int  # S + M of the closed periods
    first_budget_nano: int  # of the first policy: the default lifetime
    claim_nano: int | None = None  # limit for all versions together, whatever is configured; or None


@frozen
class Clock:
    """The position of the series in time; `NEVER` marks what has not occurred yet."""

    period_start_ms: int  # earlier steps belong to earlier periods
    decided_ms: int  # start of the last processed step, of any period
    decided_end_ms: int  # its end
    first_step: int  # its first processed step (user level)
    last_step: int  # last processed step of period


def last_decided(decided_ms: Whole, step_ms: Whole) -> dict[str, Whole]:
    """Return the fields of a clock that follow from the start of the period's last processed step."""
    return {"decided_end_ms": decided_ms + step_ms, "last_step": decided_ms // step_ms}


_clock_of: Final = attrgetter(*(field.name for field in fields(Clock)))
_SHARED: Final = 4096
_shared_guard: Final = lru_cache(_SHARED)(Guard)
"""Returns the guard with these fields; series that spent the same amounts share one object."""
_shared_clock: Final = lru_cache(_SHARED)(Clock)
"""Returns the clock with these fields; series that processed the same steps share one object."""


@frozen
class Latest:
    """The period's last noised release, and what was computed from it and earlier releases."""

    source_ms: int  # start of its step, else `NEVER`
    measurement: ReleasedCells  # empty before it
    estimate: ReleasedCells  # published with it
    rate_nano: int  # sampling rate of Adaptive, in 1e-9
    level: LevelState  # of the filter

    def where(self, condition: Flag, otherwise: "Latest") -> "Latest":
        """Return this object where the condition holds, and ``otherwise`` elsewhere."""
        if every(condition):
            return self
        return Latest(*[chosen(condition, getattr(self, name), getattr(otherwise, name)) for name in _LATEST])


_LATEST: Final = tuple(field.name for field in fields(Latest))


@frozen
class State:
    """The state of a series between two records; it is replaced, never modified.

    Its size is O(1) apart from the landmark intervals.
    """

    guard: Guard
    promise: Promise
    clock: Clock
    latest: Latest
    closed: bool = False

    def compact(self) -> "State":
        """Return an equal state that shares its guard and clock with all series that have equal ones."""
        guard, clock = _shared_guard(*self.guard), _shared_clock(*_clock_of(self.clock))
        return State(guard, self.promise, clock, self.latest, self.closed)

    def elapsed_steps(self, index: int) -> int:
        """Return the number of steps from the period's last processed step to ``index``; 0 if that is the first."""
        return where(self.clock.last_step != NEVER, index - self.clock.last_step, 0)

    @property
    def released(self) -> bool:
        """Return whether the period has a noised release."""
        return self.latest.source_ms != NEVER


def new_period(
    before: State | None,
    budget_nano: int,
    landmarks: LandmarkSet,
    spare: int,
    *,
    first_budget_nano: int,
    claim_nano: int | None = None,
    window: Window = NO_WINDOW,
) -> State:
    """Return the state at the start of a period: rate 1, nothing released and nothing spent."""
    return State(
        Guard(budget_nano, window=window),
        Promise(
            landmarks=landmarks,
            spare_left=spare,
            prior_nano=before.promise.prior_nano + before.guard.used_nano if before else 0,
            first_budget_nano=first_budget_nano,
            claim_nano=claim_nano,
        ),
        Clock(
            period_start_ms=before.clock.decided_end_ms if before else 0,
            decided_ms=before.clock.decided_ms if before else NEVER,
            decided_end_ms=before.clock.decided_end_ms if before else 0,
            first_step=NEVER,
            last_step=NEVER,
        ),
        Latest(
            source_ms=NEVER,
            measurement=ReleasedCells(()),
            estimate=ReleasedCells(()),
            rate_nano=NANO,
            level=(),
        ),
    )


def claim_of(policy: Policy, lifetime_nano: int | None, *, claims: bool) -> int | None:
    """Return the nano-epsilon that a new series under ``policy`` reserves, or None if it reserves none.

    The amount is the configured lifetime, or the policy's epsilon if none is configured, or the policy's own lifetime
    if that is less. With ``claims``, every series reserves budget unless it is collected. Otherwise, only series whose
    policies set a lifetime reserve any.
    """
    if policy.lifetime_nano is None and (not claims or policy.collect is not None):
        return None
    most_nano = policy.epsilon_nano if lifetime_nano is None else lifetime_nano
    return most_nano if policy.lifetime_nano is None else min(most_nano, policy.lifetime_nano)


def bound_of(promise: Promise, lifetime_nano: int | None) -> int:
    """Return the budget that all versions of a series may now use together.

    This is the reserved amount, or the configured lifetime if that is less.
    """
    most_nano = promise.first_budget_nano if lifetime_nano is None else lifetime_nano
    return most_nano if promise.claim_nano is None else min(most_nano, promise.claim_nano)


def uncovered(policy: Policy, before: Policy | None, *, many: bool) -> bool:
    """Return whether a version would release a person's data beyond what their series reserve.

    Collected series reserve nothing. So a series must not collect if its person can have ``many`` series, and a series
    that collects must not stop collecting.
    """
    if policy.collect is not None:
        return many
    return before is not None and before.collect is not None
