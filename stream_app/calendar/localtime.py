"""Local times of a zone as moments: where clocks jump a time moves forward, where they go back it is two moments.

All moments are integers of milliseconds since 1970-01-01 UTC. The rules of the zones come from the machine's time zone
database, or else from the package ``tzdata``.
"""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo

from stream_app.calendar.wrong import Wrong, WrongTimesError, quoted

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
DAY = timedelta(days=1)
FIRST_DAY, LAST_DAY = date(1970, 1, 1), date(9999, 12, 28)
"""Days that lie within the calendar in every zone, with the days before and after them."""
ZONE_NEEDED = 'add a zone, as in "zone":"Europe/Paris", or an offset, as in 2026-01-31T08:00:00+01:00'


class LocalTime(NamedTuple):
    """A date, or a local time without offset, and the zone whose clocks show it."""

    when: date  # a datetime, unless all of the day is meant
    zone: tzinfo

    @property
    def is_day(self) -> bool:
        """Whether a whole day is meant."""
        return not isinstance(self.when, datetime)

    @property
    def start(self) -> datetime:
        """Return the local time itself, or that at which the day begins."""
        return self.when if isinstance(self.when, datetime) else midnight(self.when)


def zone_of(name: object) -> ZoneInfo:
    """Return the zone of an IANA name; raises `WrongTimesError` for what names none."""
    try:
        return ZoneInfo(name if isinstance(name, str) else "")
    except (KeyError, ValueError, OSError):  # unknown; no name of a file, such as ../etc; a folder, such as Europe
        remedy = "name a zone of the IANA database, such as Europe/Paris"
        raise WrongTimesError([Wrong("", quoted(name), remedy)]) from None


def milliseconds(moment: datetime) -> int:
    """Return the milliseconds of a time with an offset, rounded down; exact, as floats of seconds are not."""
    return (moment - EPOCH) // MILLISECOND


def readings(local: datetime, zone: tzinfo) -> tuple[int, ...]:
    """Return the moments that a local time without offset may mean, in ascending order.

    One where clocks show it once; both where they show it twice. Where clocks jump over it: the moment of the jump, and
    the time moved forward by as much as they jump, as RFC 5545 (3.3.5) reads it; these are one when clocks jump at it.
    """
    before, after = _both(local, zone)
    if before <= after:
        return (before,) if before == after else (before, after)
    jump = _jump(after, before, zone)
    return (before,) if jump == before else (jump, before)


def moments(local: datetime, zone: tzinfo) -> tuple[int, ...]:
    """Return the moments that a local time stands for: one moved forward where it does not exist, else all readings."""
    before, after = _both(local, zone)
    return (before, after) if before < after else (before,)


def span(start: datetime, end: datetime, zone: tzinfo) -> tuple[int, int]:
    """Return ``[start, end)``, from the first reading of ``start`` to the last of ``end``: what was meant lies in it.

    It is empty where clocks jump over all of it.
    """
    return readings(start, zone)[0], readings(end, zone)[-1]


def _both(local: datetime, zone: tzinfo) -> tuple[int, int]:
    """Return the moments by the offsets before and after a change of clocks near by (PEP 495); equal without one."""
    return milliseconds(local.replace(tzinfo=zone)), milliseconds(local.replace(tzinfo=zone, fold=1))


def _jump(low: int, high: int, zone: tzinfo) -> int:
    """Return the only moment in (low, high] from which on clocks of ``zone`` show another offset."""
    old = _offset(low, zone)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _offset(middle, zone) == old else (low, middle)
    return high


def _offset(moment_ms: int, zone: tzinfo) -> timedelta | None:
    return (EPOCH + moment_ms * MILLISECOND).astimezone(zone).utcoffset()


def midnight(day: date) -> datetime:
    """Return the local time at which a day begins."""
    return datetime.combine(day, time())


def local_time(text: object, zone: tzinfo | None = None) -> LocalTime:
    """Return what an ISO 8601 date or time names; one that names no zone by itself has ``zone``.

    A time may have an offset, or behind it a zone in brackets: ``2026-03-29T17:00[Europe/Paris]``.

    Raises:
        WrongTimesError: for anything else, a day before 1970 or after 9999-12-28, or where no zone is given.
    """
    written, bracket, name = text.partition("[") if isinstance(text, str) else ("", "", "")
    when = _parsed(written)
    if when is None or (bracket and not (isinstance(when, datetime) and name.endswith("]"))):
        remedy = "write ISO 8601, such as 2026-01-31T08:00:00+01:00, or 2026-01-31 for a day"
        raise WrongTimesError([Wrong("", quoted(text), remedy)])
    if bracket:
        zone = zone_of(name.removesuffix("]"))
    if isinstance(when, datetime) and when.tzinfo is not None:
        if zone is not None and bracket and when.utcoffset() != when.astimezone(zone).utcoffset():
            remedy = "the zone has another offset then; leave one of them away"
            raise WrongTimesError([Wrong("", quoted(text), remedy)])
        zone, when = when.tzinfo, when.replace(tzinfo=None)
    if zone is None:
        raise WrongTimesError([Wrong("", quoted(text), ZONE_NEEDED)])
    day = when.date() if isinstance(when, datetime) else when
    if not FIRST_DAY <= day <= LAST_DAY:
        raise WrongTimesError([Wrong("", quoted(text), f"name a day from {FIRST_DAY} to {LAST_DAY}")])
    return LocalTime(when, zone)


def _parsed(text: str) -> date | None:
    """Return the date or time that ISO 8601 names; None for anything else."""
    for parse in (date.fromisoformat, datetime.fromisoformat):
        try:
            return parse(text)
        except ValueError:
            continue
    return None
