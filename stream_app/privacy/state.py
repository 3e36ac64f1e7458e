"""The state of one series: released values, counts and budgets only, never a raw value."""

from typing import NamedTuple

from stream_app.privacy.guard import Guard
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.level import LevelState
from stream_app.privacy.rational import NANO
from stream_app.privacy.raw import ReleasedCells

NEVER = -1
"""A step or a timestamp that has not come yet."""


class State(NamedTuple):
    """A series between two records; O(1) besides its landmark intervals."""

    guard: Guard
    landmarks: LandmarkSet  # steps of the present period's length
    spare_left: int
    prior_nano: int  # S + M of the closed periods
    first_budget_nano: int  # of the series' first policy: the lifetime when none is configured
    period_start_ms: int  # steps before it belong to earlier periods
    decided_ms: int  # start of the last decided step, over all periods
    decided_end_ms: int  # its end
    first_step: int  # first decided step of the period (user level)
    last_step: int  # last decided step of the period
    rate_nano: int  # sampling rate of Adaptive, in 1e-9
    source_ms: int  # step of the last perturbed release of the period
    measurement: ReleasedCells  # of that release; empty before it
    estimate: ReleasedCells  # published with it
    level: LevelState
    closed: bool

    @property
    def released(self) -> bool:
        """Return whether the period has a perturbed release."""
        return self.source_ms != NEVER


def new_period(
    before: State | None, budget_nano: int, landmarks: LandmarkSet, spare: int, *, first_budget_nano: int
) -> State:
    """Return the state at the start of a period: rate 1, nothing released, nothing spent."""
    return State(
        guard=Guard(budget_nano),
        landmarks=landmarks,
        spare_left=spare,
        prior_nano=before.prior_nano + before.guard.used_nano if before else 0,
        first_budget_nano=first_budget_nano,
        period_start_ms=before.decided_end_ms if before else 0,
        decided_ms=before.decided_ms if before else NEVER,
        decided_end_ms=before.decided_end_ms if before else 0,
        first_step=NEVER,
        last_step=NEVER,
        rate_nano=NANO,
        source_ms=NEVER,
        measurement=ReleasedCells(()),
        estimate=ReleasedCells(()),
        level=(),
        closed=False,
    )
