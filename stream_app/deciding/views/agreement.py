"""What a base and all of its views protect alike, so that their budgets add up for one pair of neighbours."""

from dataclasses import replace
from typing import NamedTuple

from stream_app.deciding.rows import SeriesRow
from stream_app.privacy.guard import WindowLevel
from stream_app.privacy.landmarks import Grid
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import LandmarkLevel, UserLevel


class Protected(NamedTuple):
    """Level, unit, window and where units begin: two policies of equal ones have the same neighbours."""

    level: str
    unit_ms: int
    """Of a policy without units its step."""
    window: int
    """In units; at level user the length."""
    origin_ms: int
    """Where a unit begins, modulo the unit."""


def protected_by(policy: Policy) -> Protected:
    """Return what a policy protects, as far as a base and its views must agree on it."""
    grid = policy.grid
    return Protected(policy.level, grid.length_ms, _window(policy), grid.origin_ms % grid.length_ms)


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
    """Return whether a policy may be that of a base or a view.

    The contributors of collected data are other people than the one whose budget it is. Dummies would be drawn for each
    series by itself, and where two draws differ only one of them has a true landmark.
    """
    return policy.collect is None and policy.dummies is None and not policy.fixed


def since_version(view: SeriesRow, base: SeriesRow) -> SeriesRow:
    """Return the row of a view that begins: it decides no step from before the first one of its base's version.

    PRIVACY: the landmarks of earlier versions are none of the view, so a step of theirs would count as regular in it.
    A version need not name those before its first step either.
    """
    start_ms, policy = base.state.clock.period_start_ms, base.policy
    first_ms = policy.start_of(Grid(policy.step_ms, policy.offset_ms).ceiling_of(start_ms)) if start_ms else 0
    clock = replace(view.state.clock, period_start_ms=start_ms, decided_end_ms=first_ms)
    return replace(view, state=replace(view.state, clock=clock))
