"""The parts of protection on which a base and its views must agree, so that budgets add up for the same neighbours."""

from dataclasses import replace
from typing import NamedTuple

from stream_app.deciding.rows import SeriesRow
from stream_app.privacy.guard import WindowLevel
from stream_app.privacy.landmarks import Grid
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import LandmarkLevel, UserLevel


class ProtectedUnit(NamedTuple):
    """The level, unit, window and unit origin; policies with equal values have the same neighbours."""

    level: str
    unit_ms: int
    """The unit's length, or the step's if the policy has no units."""
    window: int
    """The window size in units, or the length of the stream for user-level policies."""
    origin_ms: int
    """The start of a unit, modulo its length."""


def protected_by(policy: Policy) -> ProtectedUnit:
    """Return the part of a policy's protection on which a base and its views must agree."""
    grid = policy.grid
    return ProtectedUnit(policy.level, grid.length_ms, _window(policy), grid.origin_ms % grid.length_ms)


def _window(policy: Policy) -> int:
    match policy.protection:
        case LandmarkLevel(window=window):
            return window
        case WindowLevel(steps=steps):
            return steps
        case UserLevel(length=length):
            return length
        case _:
            return 1


def takes_part(policy: Policy) -> bool:
    """Return whether a policy can be used for a base or a view.

    Collected data are excluded because their contributors are not the person whose budget is spent. Dummies are
    excluded because they would be drawn separately for each series: wherever two draws differ, only one of them has a
    true landmark.
    """
    return policy.collect is None and policy.dummies is None and not policy.fixed


def since_version(view: SeriesRow, base: SeriesRow) -> SeriesRow:
    """Return the row of a new view, which processes no step before the first step of its base's version.

    PRIVACY: the view lacks the landmarks of earlier versions, so it would count those landmark steps as regular. A
    version also need not name landmarks before its first step.
    """
    start_ms, policy = base.state.clock.period_start_ms, base.policy
    first_ms = policy.start_of(Grid(policy.step_ms, policy.offset_ms).ceiling_of(start_ms)) if start_ms else 0
    clock = replace(view.state.clock, period_start_ms=start_ms, decided_end_ms=first_ms)
    return replace(view, state=replace(view.state, clock=clock))
