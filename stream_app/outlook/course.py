"""A horizon of regular events, and a course over it: what the worker's own decisions spend on the events.

Budgets depend on epsilon, landmarks and scheme, but not on values. Schemes that follow the data are the exception; they
are run at their two extremes. No computation is duplicated here: each made-up event goes through `decision.decide`. The
key is not secret, and a number replaces the policy's kind, which does not change the budget.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, assert_never

from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context, DefaultPolicy
from stream_app.deciding.decision import decide
from stream_app.deciding.outcome import ProcessedRecord, RejectedRecord
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import wire
from stream_app.formats.records import InputRecord
from stream_app.privacy.guard import WindowLevel
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.protection import EventLevel, LandmarkLevel, UserLevel
from stream_app.privacy.values import nano

MOST_EVENTS = 100_000
USUAL_EVENTS = 100  # if the policy sets no end: one more event costs no other event's budget
WINDOWS = 3  # budgets under windows repeat after as many
PUBLIC = KeyRing("0" * 16, 0, bytes(32))  # not secret: its draws hide no real value
STAND_IN = {"kind": "number", "lower": 0, "upper": 1, "resolution": 1}
_UNNEEDED = frozenset({"value", "filter", "collect", "correlation"})  # policy members without effect on budget
_GATHERING = frozenset({"within", "open_steps", "absent"})
"""Members of `protection` that define a step's value and do not affect the budget.

An event replaces a step's readings.
"""

Watch = Callable[[], None]  # called per event


class HorizonError(ValueError):
    """Options that give no horizon, or one too long to process; ``option`` names the option to change."""

    def __init__(self, option: str, problem: str) -> None:
        self.option = option
        super().__init__(f"{option}: {problem}")


@dataclass(frozen=True, slots=True)
class Horizon:
    """A series of ``events`` events, ``every_ms`` apart."""

    start_ms: int
    every_ms: int
    events: int

    def timestamps(self) -> Iterator[int]:
        """Yield the timestamps of the events."""
        yield from (self.start_ms + number * self.every_ms for number in range(self.events))


def horizon_of(
    policy: Policy, *, every_ms: int | None = None, events: int | None = None, start_ms: int | None = None
) -> Horizon:
    """Return the policy's own horizon, with an event at each step, unless the options say otherwise.

    All readings of a step are one event.

    With landmarks, the horizon begins one event before the first landmark and ends one event after the last, or
    `WINDOWS` windows after the last landmark if the policy has windows and they are longer. With dummies, the horizon
    extends from one event before the dummies' range to one event after that range.

    Raises `HorizonError` if an option makes no sense, or the horizon has more than `MOST_EVENTS` events.
    """
    step_ms = policy.step_ms
    every_ms = step_ms if every_ms is None else every_ms
    if every_ms < step_ms:
        raise HorizonError(
            "--every", f"found {every_ms} ms; each step has one release, so use at least the step length, {step_ms} ms"
        )
    if policy.within is not None and policy.within.hides and every_ms != step_ms:
        problem = "if `absent` is a value, every step is processed, with or without readings"
        raise HorizonError("--every", f"found {every_ms} ms; {problem}: omit it, or use the step length, {step_ms} ms")
    first_ms, end_ms = _span(policy, every_ms)
    start_ms = first_ms if start_ms is None else start_ms
    if events is None:
        events = max(1, -(-(end_ms - start_ms) // every_ms))
    if not 1 <= events <= MOST_EVENTS:
        found = f"found {events:,} events, {every_ms:,} ms apart; plan for 1 to {MOST_EVENTS:,} events"
        raise HorizonError("--steps", f"{found}: set their number, or the time between them (--every)")
    if not 0 <= start_ms <= start_ms + events * every_ms <= LAST_TIMESTAMP_MS:
        raise HorizonError(
            "--start", "the events reach beyond the years 1970 to 9999; use another start, or fewer events"
        )
    return Horizon(start_ms, every_ms, events)


def _span(policy: Policy, every_ms: int) -> tuple[int, int]:
    step_ms, landmarks = policy.step_ms, policy.landmarks
    dummies = policy.dummies
    if dummies is not None:  # beyond their range nothing is a landmark
        return max(0, dummies.first * step_ms - every_ms), dummies.end * step_ms + every_ms
    match policy.protection:
        case LandmarkLevel() if landmarks.intervals:
            first_ms, end_ms = landmarks.intervals[0][0] * step_ms, landmarks.intervals[-1][1] * step_ms
            after_ms = every_ms if policy.windows is None else WINDOWS * policy.windows.steps * step_ms
            return max(0, first_ms - every_ms), end_ms + max(every_ms, after_ms)
        case LandmarkLevel(window=steps) if steps > 1:
            return 0, WINDOWS * steps * step_ms
        case LandmarkLevel() | EventLevel():
            return 0, USUAL_EVENTS * every_ms
        case UserLevel(length):
            return 0, length * step_ms
        case WindowLevel(steps=steps):
            return 0, WINDOWS * steps * step_ms
        case _:
            assert_never(policy.protection)


class CourseError(ValueError):
    """An event that the policy would reject; ``reason`` is the code."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"an event of the horizon would be rejected as {reason}; use another start (--start)")


class Spend(NamedTuple):
    """What one step spends."""

    landmark: bool
    spend_nano: int  # for the measurement; 0: not published
    cost_nano: int  # the above, plus the decision's own cost for a private dissimilarity


def _loaded(entry: bytes) -> dict[str, Any]:
    found: Any = wire.load(entry)
    return dict(found)


class Course:
    """A policy over a horizon; each made-up series that runs over it tosses its own coins."""

    def __init__(
        self, parameters: Mapping[str, object], horizon: Horizon, rate: float | None = None, *, moving: bool = False
    ) -> None:
        """Take a policy's complete ``parameters``, as for `policy_of`.

        If ``rate`` is given, the sampling rate is reset to ``rate`` after every event (for schemes with a fixed rate).
        The values stay constant, or jump across the whole range if ``moving``.
        """
        stood_in = {name: part for name, part in parameters.items() if name not in _UNNEEDED}
        protection: Any = parameters["protection"]
        stood_in["protection"] = {name: part for name, part in protection.items() if name not in _GATHERING}
        policy = policy_of({**stood_in, "value": STAND_IN, "filter": "none"}, 1)
        self._context = Context(PUBLIC, (DefaultPolicy("*", policy),))
        self._horizon = horizon
        self._rate_nano = None if rate is None else nano(rate)
        self._values = (0, 1) if moving else (0, 0)

    def run(self, series: str, watch: Watch) -> tuple[Spend, ...]:
        """Return what each event costs; a different ``series`` tosses different coins.

        Raises `CourseError` if an event is rejected.
        """
        rows: dict[str, SeriesRow] = {}
        found: list[Spend] = []
        nothing = Collection(PUBLIC.secret)  # no collected data
        for number, timestamp in enumerate(self._horizon.timestamps()):
            event = wire.dump({"series": series, "timestamp": timestamp, "value": self._values[number % 2]})
            outcome = decide(self._context, rows.get, nothing, InputRecord("outlook", 0, number, 0, None, event))
            if isinstance(outcome, RejectedRecord):
                raise CourseError(outcome.reason)
            assert isinstance(outcome, ProcessedRecord), "an observation is processed or rejected"
            rows[series] = self._sampled(outcome.row)
            *earlier, entry = (_loaded(sealed.value) for sealed in outcome.entries)
            drawn_nano = sum(part["charged_nano"] for part in earlier)  # for dummies, not events
            cost_nano = outcome.spent_nano - drawn_nano
            found.append(Spend(entry["landmark"], entry.get("epsilon_nano", 0), cost_nano))
            watch()
        return tuple(found)

    def _sampled(self, row: SeriesRow) -> SeriesRow:
        if self._rate_nano is None:
            return row
        latest = replace(row.state.latest, rate_nano=self._rate_nano)
        return replace(row, state=replace(row.state, latest=latest))
