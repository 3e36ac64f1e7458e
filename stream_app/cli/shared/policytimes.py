"""The times of a policy as dates and durations, and which of them look like seconds."""

from collections.abc import Iterator
from datetime import UTC, tzinfo
from typing import Any, NamedTuple

from stream_app.calendar.words import duration_in_words, moment_as_seconds, moment_in_words, step_as_seconds
from stream_app.deciding.context import Limits
from stream_app.privacy.guard import WindowLevel
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import LandmarkLevel, UserLevel
from stream_app.words.amount import quoted
from stream_app.words.promise import Circumstances, in_words


class PolicyTimes(NamedTuple):
    """The times of the policy of a series, or of a glob, and the zone by whose clocks people read them."""

    series: str
    policy: Policy
    zone: tzinfo = UTC

    @property
    def whose(self) -> str:
        """Return the series so that it can neither break the line nor drive the terminal."""
        return quoted(self.series)

    @property
    def reach_ms(self) -> tuple[int, int] | None:
        """Return the start of the first landmark step and the end of the last; None where they are hidden or none."""
        intervals, step_ms = self.policy.landmarks.intervals, self.policy.step_ms
        return (intervals[0][0] * step_ms, intervals[-1][1] * step_ms) if intervals else None

    @property
    def range_ms(self) -> tuple[int, int] | None:
        """Return the range that dummies are drawn in; None without dummies."""
        dummies, step_ms = self.policy.dummies, self.policy.step_ms
        return None if dummies is None else (dummies.first * step_ms, dummies.end * step_ms)

    @property
    def sentence(self) -> str:
        """Say all of it, of which series first."""
        return f"{self.whose}: {self.words}"

    @property
    def words(self) -> str:
        """Say all of it but of which series."""
        return "; ".join((f"step {duration_in_words(self.policy.step_ms)}", *self._parts()))

    def promise(self, limits: Limits) -> str:
        """Say in a paragraph what the policy promises, with what the settings bound besides."""
        known = Circumstances(limits.lifetime_nano, None if limits.member_separator is None else limits.member_nano)
        return in_words(self.policy.parameters, self.whose, known)

    def _parts(self) -> Iterator[str]:
        policy, step_ms = self.policy, self.policy.step_ms
        if self.range_ms is not None:
            # PRIVACY: the true landmarks are a secret, and what a check prints may stand in the log of a build.
            yield f"landmarks hidden by dummies, drawn in {self._between(*self.range_ms)}"
        elif self.reach_ms is not None:
            intervals = len(policy.landmarks.intervals)
            number = f"{_counted(len(policy.landmarks), 'landmark step')} in {_counted(intervals, 'interval')}"
            yield f"{number}, {self._between(*self.reach_ms)}"
        elif isinstance(policy.protection, LandmarkLevel):
            yield "no landmarks yet"
        if policy.spare:
            yield f"{policy.spare:,} to spare"
        match policy.protection:
            case UserLevel(length):
                yield f"{_counted(length, 'step')} together, {duration_in_words(length * step_ms)}"
            case WindowLevel(steps=steps) | LandmarkLevel(window=steps) if steps > 1:
                yield f"any {steps:,} steps in a row, {duration_in_words(steps * step_ms)}"
            case _:
                pass
        if policy.renew:
            yield f"{_counted(len(policy.renew), 'renewal')}, {self._between(policy.renew[0], policy.renew[-1])}"

    def _between(self, start_ms: int, end_ms: int) -> str:
        return f"{moment_in_words(start_ms, self.zone)} to {moment_in_words(end_ms, self.zone)}"

    def warnings(self) -> Iterator[str]:
        """Yield what looks like seconds, with what was perhaps meant: steps and moments are milliseconds."""
        found = (
            ("protection.step", step_as_seconds(self.policy.step_ms)),
            ("protection.landmarks", "" if self.reach_ms is None else moment_as_seconds(self._first_ms())),
            ("dummies.start", "" if self.range_ms is None else moment_as_seconds(self.range_ms[0])),
            ("renew", moment_as_seconds(self.policy.renew[0]) if self.policy.renew else ""),
        )
        yield from (f"{self.whose}: {member}: {warning}" for member, warning in found if warning)

    def _first_ms(self) -> int:
        """Return the first landmark as it is written."""
        written: Any = self.policy.parameters["protection"]
        return min(each if isinstance(each, int) else each[0] for each in written["landmarks"])

    def document(self) -> dict[str, Any]:
        """Return all of it for programs: integers of milliseconds, null for what there is none of."""
        landmarks = None if self.range_ms is not None else self.policy.landmarks
        return {
            "series": self.series,
            "step_ms": self.policy.step_ms,
            "landmark_steps": None if landmarks is None else len(landmarks),
            "intervals": None if landmarks is None else len(landmarks.intervals),
            "landmarks_ms": self.reach_ms,
            "dummies_ms": self.range_ms,
            "words": self.words,
        }


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
