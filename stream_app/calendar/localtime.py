"""Converts local times of a zone to moments, and describes the faults in times that people wrote.

A fault states the member, the text found, and the remedy. A time that a clock change skips is moved forward. A time
that a clock change repeats stands for two moments.

All moments are integers, in milliseconds since 1970-01-01 UTC. The zone rules come from the machine's time zone
database, with the package ``tzdata`` as a fallback.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final, NamedTuple, TypeVar
from zoneinfo import ZoneInfo

T = TypeVar("T")


class Wrong(NamedTuple):
    """One fault; ``member`` is relative to the object read, and empty for the whole object."""

    member: str
    found: str
    remedy: str

    def under(self, member: str) -> "Wrong":
        """Return the same fault with a path relative to the object that contains ``member``."""
        return self._replace(member=f"{member}.{self.member}" if self.member else member)

    @property
    def message(self) -> str:
        """Return a message that says what was found and what to do."""
        return f"found {self.found}; {self.remedy}"


class WrongTimesError(ValueError):
    """Raised for text or forms that contain no valid times; ``wrongs`` lists every fault."""

    def __init__(self, wrongs: Iterable[Wrong]) -> None:
        self.wrongs = tuple(wrongs)
        super().__init__("; ".join(f"{wrong.member}: {wrong.message}".removeprefix(": ") for wrong in self.wrongs))

    @classmethod
    def of(cls, found: object, remedy: str) -> "WrongTimesError":
        """Return an error whose only fault concerns all of ``found``."""
        return cls([Wrong("", quoted(found), remedy)])


LONGEST_QUOTED = 80


def quoted(found: object) -> str:
    """Return ``found`` as JSON, shortened for a message."""
    if found is None:
        return "nothing"
    text = f'"{found}"' if isinstance(found, str) else str(found)
    return text if len(text) <= LONGEST_QUOTED else text[:LONGEST_QUOTED] + ".."


class Wrongs(list[Wrong]):
    """The faults found so far, so that all of them are reported at once."""

    def unless(self, member: str, read: Callable[[], T]) -> T | None:
        """Return the result of ``read``; if it raises, keep its faults under ``member`` and return None."""
        try:
            return read()
        except WrongTimesError as error:
            self += [wrong.under(member) for wrong in error.wrongs]
            return None

    def unknown(self, form: Mapping[str, object], members: Iterable[str]) -> None:
        """Record the members of a form that are not in ``members``."""
        known = tuple(members)
        for name in form:
            if name not in known:
                self.append(Wrong(name, "an unknown member", f"omit it; known members are {', '.join(known)}"))

    def tell(self) -> None:
        """Raise `WrongTimesError` if there are faults."""
        if self:
            raise WrongTimesError(self)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
DAY = timedelta(days=1)
DAY_MS = 86_400_000
FIRST_DAY, LAST_DAY = date(1970, 1, 1), date(9999, 12, 28)
"""The first and last days for which the day and both adjacent days lie within the calendar in every zone."""
ZONE_NEEDED = 'add a zone, as in "zone":"Europe/Paris", or an offset, as in 2026-01-31T08:00:00+01:00'


class ZonedTime(NamedTuple):
    """A date, or a local time without an offset, together with its zone."""

    when: date  # a datetime, unless the whole day is meant
    zone: tzinfo

    @property
    def is_day(self) -> bool:
        """Whether the value is a whole day."""
        return not isinstance(self.when, datetime)

    @property
    def start(self) -> datetime:
        """Return the local time itself, or the local time at which the day begins."""
        return self.when if isinstance(self.when, datetime) else midnight(self.when)


def zone_of(name: object) -> ZoneInfo:
    """Return the zone with an IANA name; raise `WrongTimesError` if there is no such zone."""
    try:
        return ZoneInfo(name if isinstance(name, str) else "")
    except (KeyError, ValueError, OSError):  # unknown; an invalid path (../etc); a folder (Europe)
        remedy = "use a zone from the IANA database, such as Europe/Paris"
        raise WrongTimesError.of(name, remedy) from None


def milliseconds(moment: datetime) -> int:
    """Return a time with an offset as whole milliseconds, rounded down; the result is exact, unlike float seconds."""
    return (moment - EPOCH) // MILLISECOND


class ClockReadings(NamedTuple):
    """The moments that a local time may mean, in ms; the moments differ only near a clock change."""

    first: int  # the earlier of two; if clocks skip it, the moment of the jump
    usual: int
    """The moment under RFC 5545 (3.3.5): the earlier of two, or the time moved forward if clocks skip it."""
    last: int

    @property
    def moments(self) -> tuple[int, ...]:
        """Return the moments that the local time itself names: one moment, or two if the time occurs twice."""
        return (self.usual,) if self.usual == self.last else (self.usual, self.last)


def readings(local: datetime, zone: tzinfo) -> ClockReadings:
    """Return the moments that a local time without an offset may mean in a zone.

    The function uses only the zone's conversion from UTC, because zones in calendar files do not support `fold` (PEP
    495).
    """
    utc = milliseconds(local.replace(tzinfo=UTC))
    before, after = _ahead(utc - DAY_MS, zone), _ahead(utc + DAY_MS, zone)  # no zone changes its offset by a day
    if before == after:
        return ClockReadings(utc - before, utc - before, utc - before)
    found = [utc - ahead for ahead in (before, after) if _ahead(utc - ahead, zone) == ahead]
    if found:
        return ClockReadings(min(found), min(found), max(found))
    moved = utc - before
    low, jump = utc - after, moved  # clocks jump in (low, jump]
    while jump - low > 1:
        middle = (low + jump) // 2
        low, jump = (middle, jump) if _ahead(middle, zone) == before else (low, middle)
    return ClockReadings(jump, moved, moved)


def span(start: datetime, end: datetime, zone: tzinfo) -> tuple[int, int]:
    """Return ``[start, end)``, from the first reading of ``start`` to the last reading of ``end``.

    The result contains every span that may be meant, and is empty if clocks skip the whole span.
    """
    return readings(start, zone).first, readings(end, zone).last


def shown(moment_ms: int, zone: tzinfo) -> datetime:
    """Return the local time that a zone shows at a moment."""
    return (EPOCH + moment_ms * MILLISECOND).astimezone(zone).replace(tzinfo=None, fold=0)


def _ahead(moment_ms: int, zone: tzinfo) -> int:
    return milliseconds(shown(moment_ms, zone).replace(tzinfo=UTC)) - moment_ms


YEARS: Final = 20
"""The number of years for which a zone's transitions are listed; governments change the rules of later years."""

Transitions = tuple[tuple[int, int], ...]
"""Moments in ms, in ascending order, each with the offset from UTC, in ms, that applies from then on."""


def transitions(zone: tzinfo, first_ms: int) -> Transitions:
    """Return a zone's offsets for `YEARS` years from ``first_ms`` on; the first offset also covers earlier times.

    Clock changes are located to the millisecond; two changes within one day count as one.
    """
    end = shown(first_ms, UTC)
    last_year = min(end.year + YEARS, LAST_DAY.year)
    end_ms = milliseconds(datetime(last_year, end.month, min(end.day, 28), tzinfo=UTC))
    found = [(first_ms, _ahead(first_ms, zone))]
    at = first_ms
    while at < end_ms:
        then = min(at + DAY_MS, end_ms)
        ahead = _ahead(then, zone)
        if ahead != found[-1][1]:
            low, high = at, then
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if _ahead(middle, zone) == found[-1][1] else (low, middle)
            found.append((high, ahead))
        at = then
    return tuple(found)


def midnight(day: date) -> datetime:
    """Return the local time at which a day begins."""
    return datetime.combine(day, time())


def local_time(text: object, zone: tzinfo | None = None) -> ZonedTime:
    """Return the ISO 8601 date or time in ``text``; it is in ``zone`` unless the text names a zone.

    A time may have an offset, and a zone in brackets may follow: ``2026-03-29T17:00[Europe/Paris]``.

    Raises:
        WrongTimesError: for any other text, for a day before 1970 or after 9999-12-28, or if no zone is given.
    """
    written, bracket, name = text.partition("[") if isinstance(text, str) else ("", "", "")
    when = _parsed(written)
    if when is None or (bracket and not name.endswith("]")):
        remedy = "use ISO 8601, such as 2026-01-31T08:00:00+01:00, or 2026-01-31 for a day"
        raise WrongTimesError.of(text, remedy)
    if isinstance(when, datetime) and when.microsecond % 1000:
        raise WrongTimesError.of(text, "write whole milliseconds")
    if bracket:
        zone = zone_of(name.removesuffix("]"))
    if isinstance(when, datetime) and when.tzinfo is not None:
        if zone is not None and bracket and when.utcoffset() != when.astimezone(zone).utcoffset():
            remedy = "the zone has a different offset at that time; omit the zone or the offset"
            raise WrongTimesError.of(text, remedy)
        zone, when = when.tzinfo, when.replace(tzinfo=None)
    if zone is None:
        raise WrongTimesError.of(text, ZONE_NEEDED)
    day = when.date() if isinstance(when, datetime) else when
    if not FIRST_DAY <= day <= LAST_DAY:
        raise WrongTimesError.of(text, f"use a day from {FIRST_DAY} to {LAST_DAY}")
    return ZonedTime(when, zone)


def _parsed(text: str) -> date | None:
    for parse in (date.fromisoformat, datetime.fromisoformat):
        try:
            return parse(text)
        except ValueError:
            continue
    return None
