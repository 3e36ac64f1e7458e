"""Windows of time that means are taken by, and which of the steps are landmarks by the public policy."""

from collections.abc import Callable
from datetime import date, datetime, tzinfo

from stream_app.analysis.release import Release
from stream_app.calendar.localtime import EPOCH, MILLISECOND, zone_of
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import LandmarkLevel, UserLevel


def moment_of(timestamp_ms: int, zone: tzinfo) -> datetime:
    """Return what clocks of a zone show at a timestamp."""
    return (EPOCH + timestamp_ms * MILLISECOND).astimezone(zone)


def hour_of_day(zone: str = "UTC") -> Callable[[Release], int]:
    """Return the key of windows by hour of the day, 0 to 23, on clocks of a zone; raises `WrongTimesError` for none."""
    clocks = zone_of(zone)
    return lambda release: moment_of(release.timestamp_ms, clocks).hour


def day_of_week(zone: str = "UTC") -> Callable[[Release], int]:
    """Return the key of windows by day of the week, Monday 1 to Sunday 7, like `hour_of_day`."""
    clocks = zone_of(zone)
    return lambda release: moment_of(release.timestamp_ms, clocks).isoweekday()


def day(zone: str = "UTC") -> Callable[[Release], date]:
    """Return the key of windows by date, like `hour_of_day`."""
    clocks = zone_of(zone)
    return lambda release: moment_of(release.timestamp_ms, clocks).date()


def window(length_ms: int) -> Callable[[Release], int]:
    """Return the key of windows of equal length, at least 1 ms: the start in milliseconds, a multiple of the length."""
    return lambda release: release.timestamp_ms // length_ms * length_ms


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
    return release.timestamp_ms // policy.step_ms in policy.landmarks
