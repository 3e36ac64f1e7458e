"""Windows of time that means are taken by, and which of the steps are landmarks by the public policy."""

from collections.abc import Callable, Mapping
from datetime import datetime, tzinfo
from operator import attrgetter
from typing import Final

from stream_app.analysis.release import Release
from stream_app.calendar.localtime import EPOCH, MILLISECOND, zone_of
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import LandmarkLevel, UserLevel


def moment_of(timestamp_ms: int, zone: tzinfo) -> datetime:
    """Return what clocks of a zone show at a timestamp."""
    return (EPOCH + timestamp_ms * MILLISECOND).astimezone(zone)


CLOCKS: Final[Mapping[str, Callable[[datetime], object]]] = {
    "hour": attrgetter("hour"),
    "weekday": datetime.isoweekday,
    "day": datetime.date,
}
"""Windows by what clocks show: the hour, 0 to 23, the day of the week, Monday 1 to Sunday 7, and the date."""


def by_clock(name: str, zone: str = "UTC") -> Callable[[Release], object]:
    """Return the key of windows by one of `CLOCKS`, on those of a zone; raises `WrongTimesError` for none."""
    shown, clocks = CLOCKS[name], zone_of(zone)
    return lambda release: shown(moment_of(release.timestamp_ms, clocks))


def window(length_ms: int, first_ms: int) -> Callable[[Release], int]:
    """Return the key of windows of equal length, at least 1 ms, one of which starts at ``first_ms``: their start."""
    return lambda release: release.timestamp_ms - (release.timestamp_ms - first_ms) % length_ms


def is_landmark(release: Release, policy: Policy) -> bool | None:
    """Return whether a release is of a landmark of its policy, as far as it is known; None: that is not public.

    Each step of level `user` is one. Landmarks that dummies are still to join are a secret: the ledger's policy has
    those that rule.
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
