"""Time windows for means, and a check of which steps are landmarks under the public policy."""

from collections.abc import Callable, Mapping
from datetime import datetime, tzinfo
from operator import attrgetter
from typing import Final

from stream_app.analysis.release import Release
from stream_app.calendar.localtime import EPOCH, MILLISECOND, zone_of
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import LandmarkLevel, UserLevel


def moment_of(timestamp_ms: int, zone: tzinfo) -> datetime:
    """Return the local time of a timestamp in a zone."""
    return (EPOCH + timestamp_ms * MILLISECOND).astimezone(zone)


CLOCKS: Final[Mapping[str, Callable[[datetime], object]]] = {
    "hour": attrgetter("hour"),
    "weekday": datetime.isoweekday,
    "day": datetime.date,
}
"""Windows by local time: the hour (0 to 23), the weekday (Monday 1 to Sunday 7), and the date."""


def by_clock(name: str, zone: str = "UTC") -> Callable[[Release], object]:
    """Return a function that gives a release's window by one of `CLOCKS`; raises `WrongTimesError` for a wrong zone."""
    shown, clocks = CLOCKS[name], zone_of(zone)
    return lambda release: shown(moment_of(release.timestamp_ms, clocks))


def window(length_ms: int, first_ms: int) -> Callable[[Release], int]:
    """Return a function that gives the start of a release's window; all windows have equal length (at least 1 ms).

    One window starts at ``first_ms``.
    """
    return lambda release: release.timestamp_ms - (release.timestamp_ms - first_ms) % length_ms


def is_landmark(release: Release, policy: Policy) -> bool | None:
    """Return whether a release belongs to a landmark of its policy, or None if that is not public.

    At level `user`, each step is a landmark. Landmarks whose dummies are yet to be drawn are secret; the ledger's
    policy has the landmarks in force.
    """
    protection = policy.protection
    if isinstance(protection, UserLevel):
        return True
    if not isinstance(protection, LandmarkLevel):
        return False
    if policy.dummies is not None:
        return None
    if policy.units is not None:  # landmarks are units, and enter no release
        return False
    return release.timestamp_ms // policy.step_ms in policy.landmarks
