"""The state of one series: released values, counts and budgets only, never a raw value."""

from typing import Final, final

from stream_app.privacy.amounts import Flag, chosen, every, where
from stream_app.privacy.guard import NO_WINDOW, Guard, Window
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.level import LevelState
from stream_app.privacy.values import NANO, ReleasedCells

NEVER = -1
"""Stands for a step or a timestamp that has not come yet."""

_PROMISE = ("claim_nano", "first_budget_nano", "landmarks", "prior_nano", "spare_left")
_CLOCK = ("decided_end_ms", "decided_ms", "first_step", "last_step", "period_start_ms")
_LATEST = ("estimate", "level", "measurement", "rate_nano", "source_ms")
_STATE = ("clock", "closed", "guard", "latest", "promise")


@final
class Promise:
    """What the period protects together, and what the periods before it have used."""

    __slots__ = _PROMISE

    def __init__(
        self,
        *,
        landmarks: LandmarkSet,
        spare_left: int,
        prior_nano: int,
        first_budget_nano: int,
        claim_nano: int | None = None,
    ) -> None:
        self.landmarks: Final = landmarks  # steps of the present period's length
        self.spare_left: Final = spare_left
        self.prior_nano: Final = prior_nano  # S + M of the closed periods
        self.first_budget_nano: Final = first_budget_nano  # of the first policy: the lifetime where none is configured
        self.claim_nano: Final = (
            claim_nano  # what all versions may use together, whatever is configured; None: no claim
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Promise) and _parts(self, _PROMISE) == _parts(other, _PROMISE)

    def __hash__(self) -> int:
        return hash(_parts(self, _PROMISE))


@final
class Clock:
    """Where the series is in time; what has not come yet is `NEVER`."""

    __slots__ = _CLOCK

    def __init__(
        self, *, period_start_ms: int, decided_ms: int, decided_end_ms: int, first_step: int, last_step: int
    ) -> None:
        self.period_start_ms: Final = period_start_ms  # steps before it belong to earlier periods
        self.decided_ms: Final = decided_ms  # start of the last decided step, over all periods
        self.decided_end_ms: Final = decided_end_ms  # its end
        self.first_step: Final = first_step  # first decided step of the period (user level)
        self.last_step: Final = last_step  # last decided step of the period

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Clock) and _parts(self, _CLOCK) == _parts(other, _CLOCK)

    def __hash__(self) -> int:
        return hash(_parts(self, _CLOCK))


@final
class Latest:
    """The period's last perturbed release, and what was made of it and those before it."""

    __slots__ = _LATEST

    def __init__(
        self,
        *,
        source_ms: int,
        measurement: ReleasedCells,
        estimate: ReleasedCells,
        rate_nano: int,
        level: LevelState,
    ) -> None:
        self.source_ms: Final = source_ms  # start of its step; `NEVER` before it
        self.measurement: Final = measurement  # empty before it
        self.estimate: Final = estimate  # published with it
        self.rate_nano: Final = rate_nano  # sampling rate of Adaptive, in 1e-9
        self.level: Final = level  # of the filter

    def drifted(self, level: LevelState) -> "Latest":
        """Return the same with another state of the filter."""
        return Latest(
            source_ms=self.source_ms,
            measurement=self.measurement,
            estimate=self.estimate,
            rate_nano=self.rate_nano,
            level=level,
        )

    def where(self, condition: Flag, otherwise: "Latest") -> "Latest":
        """Return it where the condition holds, and the other one elsewhere."""
        if every(condition):
            return self
        parts = {name: chosen(condition, getattr(self, name), getattr(otherwise, name)) for name in _LATEST}
        return Latest(**parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Latest) and _parts(self, _LATEST) == _parts(other, _LATEST)

    def __hash__(self) -> int:
        return hash(_parts(self, _LATEST))


@final
class State:
    """A series between two records; O(1) besides its landmark intervals. A value: replaced, never edited."""

    __slots__ = _STATE

    def __init__(self, guard: Guard, promise: Promise, clock: Clock, latest: Latest, *, closed: bool) -> None:
        self.guard: Final = guard
        self.promise: Final = promise
        self.clock: Final = clock
        self.latest: Final = latest
        self.closed: Final = closed

    def replaced(
        self,
        *,
        guard: Guard | None = None,
        landmarks: LandmarkSet | None = None,
        spare_left: int | None = None,
        source_ms: int | None = None,
        rate_nano: int | None = None,
        estimate: ReleasedCells | None = None,
        closed: bool | None = None,
    ) -> "State":
        """Return the state with other values for some of the fields that may change between two steps."""
        promise, latest = self.promise, self.latest
        if landmarks is not None or spare_left is not None:
            promise = Promise(
                landmarks=promise.landmarks if landmarks is None else landmarks,
                spare_left=promise.spare_left if spare_left is None else spare_left,
                prior_nano=promise.prior_nano,
                first_budget_nano=promise.first_budget_nano,
                claim_nano=promise.claim_nano,
            )
        if source_ms is not None or rate_nano is not None or estimate is not None:
            latest = Latest(
                source_ms=latest.source_ms if source_ms is None else source_ms,
                measurement=latest.measurement,
                estimate=latest.estimate if estimate is None else estimate,
                rate_nano=latest.rate_nano if rate_nano is None else rate_nano,
                level=latest.level,
            )
        return State(
            self.guard if guard is None else guard,
            promise,
            self.clock,
            latest,
            closed=self.closed if closed is None else closed,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and _parts(self, _STATE) == _parts(other, _STATE)

    def __hash__(self) -> int:
        return hash(_parts(self, _STATE))

    def elapsed_steps(self, index: int) -> int:
        """Return the steps from the last decided one of the period to ``index``; 0 for its first."""
        return where(self.clock.last_step != NEVER, index - self.clock.last_step, 0)

    @property
    def released(self) -> bool:
        """Return whether the period has a perturbed release."""
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
    """Return the state at the start of a period: rate 1, nothing released, nothing spent."""
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
        closed=False,
    )


def _parts(part: object, names: tuple[str, ...]) -> tuple[object, ...]:
    return tuple([getattr(part, name) for name in names])
