"""Which steps are planned for: an event every so often, from a start on."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from stream_app.privacy.guard import WindowLevel
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import EventLevel, LandmarkLevel, UserLevel

MOST_EVENTS = 100_000
USUAL_EVENTS = 100  # where the policy names no end: one more event then costs no other's budget
WINDOWS = 3  # as many pass until budgets under windows come round


class HorizonError(ValueError):
    """Options that give no horizon, or one too long to walk; ``option`` names what mends it."""

    def __init__(self, option: str, problem: str) -> None:
        self.option = option
        super().__init__(f"{option}: {problem}")


@dataclass(frozen=True, slots=True)
class Horizon:
    """``events`` events, ``every_ms`` apart."""

    start_ms: int
    every_ms: int
    events: int

    def timestamps(self) -> Iterator[int]:
        """Yield the events' timestamps."""
        yield from (self.start_ms + number * self.every_ms for number in range(self.events))


def horizon_of(
    policy: Policy, *, every_ms: int | None = None, events: int | None = None, start_ms: int | None = None
) -> Horizon:
    """Return the policy's own horizon, where the options do not say otherwise: an event at each step.

    All readings of a step are one event.

    Under landmarks it begins one event before the first and ends one after the last; under dummies, around their range.

    Raises:
        HorizonError: if an option makes no sense, or the horizon has more than `MOST_EVENTS` events.
    """
    step_ms = policy.step_ms
    every_ms = step_ms if every_ms is None else every_ms
    if every_ms < step_ms:
        raise HorizonError("--every", f"found {every_ms} ms; one release a step, so at least the step, {step_ms} ms")
    if policy.within is not None and policy.within.hides and every_ms != step_ms:
        problem = "with a value as absent each step is decided, with readings or without"
        raise HorizonError("--every", f"found {every_ms} ms; {problem}: leave it out, or say the step, {step_ms} ms")
    first_ms, end_ms = _span(policy, every_ms)
    start_ms = first_ms if start_ms is None else start_ms
    if events is None:
        events = max(1, -(-(end_ms - start_ms) // every_ms))
    if not 1 <= events <= MOST_EVENTS:
        found = f"found {events:,} events, {every_ms:,} ms apart; plan for 1 to {MOST_EVENTS:,}"
        raise HorizonError("--steps", f"{found}: say how many, or how far apart they are (--every)")
    if not 0 <= start_ms <= start_ms + events * every_ms <= LAST_TIMESTAMP_MS:
        raise HorizonError("--start", "the events reach beyond 1970 .. 9999; begin elsewhere, or plan for fewer")
    return Horizon(start_ms, every_ms, events)


def _span(policy: Policy, every_ms: int) -> tuple[int, int]:
    """Return the start of the first event and the end of the last."""
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
