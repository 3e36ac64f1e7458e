"""The times of a policy in human-readable form, and warnings about them."""

import time
from collections.abc import Iterator
from datetime import UTC, tzinfo
from typing import Any, NamedTuple

from stream_app.calendar.policy import days_cut_by
from stream_app.calendar.words import duration_in_words, moment_as_seconds, moment_in_words, step_as_seconds
from stream_app.deciding.context import Limits
from stream_app.privacy.guard import WindowLevel
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import LandmarkLevel, UserLevel
from stream_app.words.amount import quoted
from stream_app.words.promise import Circumstances, in_words

MOST_SHOWN = 3  # landmark intervals; if more, the first and the last


class PolicyTimes(NamedTuple):
    """The times in the policy for a series or glob, and the zone in which they are displayed."""

    series: str
    policy: Policy
    zone: tzinfo = UTC

    @property
    def whose(self) -> str:
        """Return the series, quoted so that it cannot break the line or control the terminal."""
        return quoted(self.series)

    @property
    def reach_ms(self) -> tuple[int, int] | None:
        """Return when the first landmark step starts and the last one ends; None if landmarks are hidden or absent.

        If steps contain units, landmarks are units.
        """
        intervals = self.policy.landmarks.intervals
        return self.policy.grid.span_of((intervals[0][0], intervals[-1][1])) if intervals else None

    @property
    def range_ms(self) -> tuple[int, int] | None:
        """Return the range in which dummies are drawn, or None without dummies."""
        dummies = self.policy.dummies
        return None if dummies is None else self.policy.grid.span_of((dummies.first, dummies.end))

    @property
    def sentence(self) -> str:
        """Describe the times, starting with the series."""
        return f"{self.whose}: {self.words}"

    @property
    def words(self) -> str:
        """Describe the times without the series."""
        units = self.policy.units
        held = (
            "" if units is None else f" of {_counted(units.per_step, 'unit')}, {duration_in_words(units.unit_ms)} each"
        )
        return "; ".join((f"step {duration_in_words(self.policy.step_ms)}{held}", *self._parts()))

    def promise(self, limits: Limits) -> str:
        """Return the policy's guarantee as a paragraph, including the limits in the settings."""
        known = Circumstances(limits.lifetime_nano, None if limits.member_separator is None else limits.member_nano)
        return in_words(self.policy.parameters, self.whose, known)

    def _parts(self) -> Iterator[str]:
        policy, step_ms = self.policy, self.policy.grid.length_ms
        what = "step" if policy.units is None else "unit"
        if self.range_ms is not None:
            # PRIVACY: the true landmarks are a secret, and the output of a check may appear in a build log.
            yield f"landmarks hidden by dummies, drawn in {self._between(*self.range_ms)}"
        elif self.reach_ms is not None:
            intervals = policy.landmarks.intervals
            number = f"{_counted(len(policy.landmarks), f'landmark {what}')} in {_counted(len(intervals), 'interval')}"
            spans = [self._between(*policy.grid.span_of(each)) for each in (*intervals[:MOST_SHOWN], intervals[-1])]
            few = len(intervals) <= MOST_SHOWN
            yield f"{number}, {' and '.join(spans[:-1]) if few else f'the first {spans[0]}, the last {spans[-1]}'}"
        elif isinstance(policy.protection, LandmarkLevel):
            yield "no landmarks yet"
        if policy.spare:
            yield f"{policy.spare:,} to spare"
        match policy.protection:
            case UserLevel(length):
                yield f"{_counted(length, 'step')} together, {duration_in_words(length * step_ms)}"
            case WindowLevel(steps=steps) | LandmarkLevel(window=steps) if steps > 1:
                yield f"any {steps:,} consecutive {what}s, {duration_in_words(steps * step_ms)}"
            case _:
                pass
        if policy.renew:
            yield f"{_counted(len(policy.renew), 'renewal')}, {self._between(policy.renew[0], policy.renew[-1])}"

    def _between(self, start_ms: int, end_ms: int) -> str:
        return f"{moment_in_words(start_ms, self.zone)} to {moment_in_words(end_ms, self.zone)}"

    def warnings(self) -> Iterator[str]:
        """Yield warnings about times that look like seconds (with a suggestion) or days that differ from the zone's."""
        found = (
            ("protection.step", step_as_seconds(self.policy.step_ms)),
            ("protection.offset", days_cut_by(self.policy, self.zone, time.time_ns() // 1_000_000)),
            ("protection.landmarks", "" if self.reach_ms is None else moment_as_seconds(self._first_ms())),
            ("dummies.start", "" if self.range_ms is None else moment_as_seconds(self.range_ms[0])),
            ("renew", moment_as_seconds(self.policy.renew[0]) if self.policy.renew else ""),
        )
        yield from (f"{self.whose}: {member}: {warning}" for member, warning in found if warning)

    def _first_ms(self) -> int:
        written: Any = self.policy.parameters["protection"]
        return min(each if isinstance(each, int) else each[0] for each in written["landmarks"])

    def document(self) -> dict[str, Any]:
        """Return the times in a form for programs: integers in milliseconds, and null for absent values."""
        landmarks = None if self.range_ms is not None else self.policy.landmarks
        return {
            "series": self.series,
            "step_ms": self.policy.step_ms,
            "unit_ms": None if self.policy.units is None else self.policy.units.unit_ms,
            "landmark_steps": None if landmarks is None else len(landmarks),
            "intervals": None if landmarks is None else len(landmarks.intervals),
            "landmarks_ms": self.reach_ms,
            "dummies_ms": self.range_ms,
            "words": self.words,
        }


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
