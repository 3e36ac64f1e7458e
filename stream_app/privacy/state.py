"""The state of one series: released values, counts and budgets only, never a raw value."""

from typing import Final, final

from stream_app.privacy.guard import Guard, Window
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.level import LevelState
from stream_app.privacy.values import NANO, ReleasedCells

NEVER = -1
"""A step or a timestamp that has not come yet."""
NO_WINDOW = Window()
"""Of a series that no version at level w-event has ruled yet."""


STATE_FIELDS = (
    "guard",
    "landmarks",
    "spare_left",
    "prior_nano",
    "first_budget_nano",
    "period_start_ms",
    "decided_ms",
    "decided_end_ms",
    "first_step",
    "last_step",
    "rate_nano",
    "source_ms",
    "measurement",
    "estimate",
    "level",
    "closed",
    "window",
)


@final
class State:
    """A series between two records; O(1) besides its landmark intervals. A value: replaced, never edited."""

    __slots__ = STATE_FIELDS

    def __init__(  # noqa: PLR0913, PLR0917 (a stored row's fields, in their order)
        self,
        guard: Guard,
        landmarks: LandmarkSet,
        spare_left: int,
        prior_nano: int,
        first_budget_nano: int,
        period_start_ms: int,
        decided_ms: int,
        decided_end_ms: int,
        first_step: int,
        last_step: int,
        rate_nano: int,
        source_ms: int,
        measurement: ReleasedCells,
        estimate: ReleasedCells,
        level: LevelState,
        closed: bool,  # noqa: FBT001
        window: Window,
    ) -> None:
        """Hold a state; times and steps that have not come are `NEVER`."""
        self.guard: Final = guard
        self.landmarks: Final = landmarks  # steps of the present period's length
        self.spare_left: Final = spare_left
        self.prior_nano: Final = prior_nano  # S + M of the closed periods
        self.first_budget_nano: Final = (
            first_budget_nano  # of the series' first policy: the lifetime when none is configured
        )
        self.period_start_ms: Final = period_start_ms  # steps before it belong to earlier periods
        self.decided_ms: Final = decided_ms  # start of the last decided step, over all periods
        self.decided_end_ms: Final = decided_end_ms  # its end
        self.first_step: Final = first_step  # first decided step of the period (user level)
        self.last_step: Final = last_step  # last decided step of the period
        self.rate_nano: Final = rate_nano  # sampling rate of Adaptive, in 1e-9
        self.source_ms: Final = source_ms  # step of the last perturbed release of the period
        self.measurement: Final = measurement  # of that release; empty before it
        self.estimate: Final = estimate  # published with it
        self.level: Final = level
        self.closed: Final = closed
        self.window: Final = window  # `NO_WINDOW` until a version at level w-event rules

    def replaced(
        self,
        *,
        guard: Guard | None = None,
        landmarks: LandmarkSet | None = None,
        spare_left: int | None = None,
        rate_nano: int | None = None,
        estimate: ReleasedCells | None = None,
        closed: bool | None = None,
    ) -> "State":
        """Return the state with other values for some of the fields that may change between two steps."""
        return State(
            guard=self.guard if guard is None else guard,
            landmarks=self.landmarks if landmarks is None else landmarks,
            spare_left=self.spare_left if spare_left is None else spare_left,
            prior_nano=self.prior_nano,
            first_budget_nano=self.first_budget_nano,
            period_start_ms=self.period_start_ms,
            decided_ms=self.decided_ms,
            decided_end_ms=self.decided_end_ms,
            first_step=self.first_step,
            last_step=self.last_step,
            rate_nano=self.rate_nano if rate_nano is None else rate_nano,
            source_ms=self.source_ms,
            measurement=self.measurement,
            estimate=self.estimate if estimate is None else estimate,
            level=self.level,
            closed=self.closed if closed is None else closed,
            window=self.window,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and all(getattr(self, name) == getattr(other, name) for name in STATE_FIELDS)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in STATE_FIELDS))

    def elapsed_steps(self, index: int) -> int:
        """Return the steps from the last decided one of the period to ``index``; 0 for its first."""
        return index - self.last_step if self.last_step != NEVER else 0

    @property
    def released(self) -> bool:
        """Return whether the period has a perturbed release."""
        return self.source_ms != NEVER


def new_period(
    before: State | None,
    budget_nano: int,
    landmarks: LandmarkSet,
    spare: int,
    *,
    first_budget_nano: int,
    window: Window = NO_WINDOW,
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
        window=window,
    )
