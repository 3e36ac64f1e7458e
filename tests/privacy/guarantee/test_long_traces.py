"""The guarantee over long traces: whole logs of JSON records through the real decision.

The sums are taken by the test alone.
"""

import pytest
from hypothesis import HealthCheck, given, settings

from stream_app.privacy.guard import Guard, WindowLevel
from tests.privacy.guarantee.broken_guards import ChargesOnce, DoesNotCharge, NeverRefuses
from tests.privacy.guarantee.traces import TRACES, Events, Landmarks, Move, Span, Trace, Version, play
from tests.run import UNIFORM
from tests.suite.speeds import scaled


@settings(max_examples=scaled(60), suppress_health_check=list(HealthCheck))
@given(TRACES)
def test_no_sum_breaks_the_budget(trace: tuple[Version, list[Move], float | None, bool]) -> None:
    """Over long logs with versions, registrations and closings, every sum holds after every record."""
    play(trace)


class _LandmarksEndThePeak(Guard):
    """Treats the largest regular spend as over when a landmark spends."""

    def offered(
        self, level: WindowLevel | None, step: int, start_ms: int, *, landmark: bool, spend_nano: int
    ) -> tuple[Guard, int]:
        after, paid = Guard(*self).offered(level, step, start_ms, landmark=landmark, spend_nano=spend_nano)
        return after._replace(regular_peak_nano=0) if paid and landmark else after, paid


class _LandmarksAreFree(Guard):
    """Books nothing for a landmark."""

    def offered(
        self, level: WindowLevel | None, step: int, start_ms: int, *, landmark: bool, spend_nano: int
    ) -> tuple[Guard, int]:
        after, paid = Guard(*self).offered(level, step, start_ms, landmark=landmark, spend_nano=spend_nano)
        return Guard(*self) if paid and landmark else after, paid


@pytest.mark.parametrize(
    ("guard", "epsilon"),
    [(NeverRefuses, 5e-9), (DoesNotCharge, 7e-9), (_LandmarksEndThePeak, 5e-9), (_LandmarksAreFree, 5e-9)],
)
def test_a_broken_guard_is_caught(guard: type[Guard], epsilon: float) -> None:
    """A log that the real guard keeps within the budget breaks a sum under each broken one, and the check sees it."""
    first = Version(epsilon, dict(UNIFORM), "landmark", 1, [(20, None), (21, None)], 0, 1)
    moves: list[Move] = [Events([1], 3), Landmarks([(-1, None)]), Landmarks([(-2, None)]), Events([1], 25)]
    play((first, moves, None, False))
    with pytest.raises(AssertionError):
        play((first, moves, None, False), guard)


class _LosesTheRing(Guard):
    """Forgets what the window spent."""

    def spend(
        self, level: WindowLevel | None, step: int, start_ms: int, *, landmark: bool, spend_nano: int
    ) -> Guard | None:
        bare = Guard(*self[:3], self.window._replace(spends=()))
        return bare.spend(level, step, start_ms, landmark=landmark, spend_nano=spend_nano)


@pytest.mark.parametrize(("guard", "name", "marks"), [(ChargesOnce, "ba", [(30, None)]), (_LosesTheRing, "bd", [])])
def test_a_guard_that_breaks_windows_is_caught(guard: type[Guard], name: str, marks: list[Span]) -> None:
    """This also holds for each guard that forgets what windows of several steps need."""
    scheme: dict[str, object] = {"name": name, "increase": 0.0, "decrease": 0.0}
    first = Version(12e-9, scheme, "landmark", 1, marks, 0, 1, 4)
    moves: list[Move] = [Events([1], 3), Landmarks([(-1, 4)]), Events([2, 1], 9), Landmarks([(-3, 4)]), Events([1], 9)]
    play((first, moves, None, False))
    with pytest.raises(AssertionError):
        play((first, moves, None, False), guard)


def test_traces_are_long_and_varied() -> None:
    """Hypothesis draws logs with hundreds of decided steps, several versions, late registrations and closings."""
    seen: list[Trace] = []

    @settings(max_examples=60, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
    @given(TRACES)
    def collect(trace: tuple[Version, list[Move], float | None, bool]) -> None:
        seen.append(play(trace))

    collect()
    assert max(trace.events for trace in seen) > 200
    assert max(trace.versions for trace in seen) > 2
    assert sum(trace.late_landmarks for trace in seen) > 0
    assert sum(trace.closed for trace in seen) > 5
