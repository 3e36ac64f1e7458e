"""Landmarks as people write them: ISO 8601, days, weekly hours, calendar files or milliseconds.

A span covers every possible meaning of its local times: it is better to protect too much than too little.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import partial
from itertools import islice
from typing import NamedTuple

from stream_app.calendar.localtime import (
    DAY,
    FIRST_DAY,
    Wrong,
    Wrongs,
    WrongTimesError,
    ZonedTime,
    local_time,
    midnight,
    quoted,
    readings,
    span,
    zone_of,
)
from stream_app.files import unread
from stream_app.privacy.landmarks import MOST_INTERVALS, LandmarkSet
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS

Span = int | tuple[int, int]  # a moment, or ``[start, end)``, in milliseconds since 1970-01-01 UTC
Reader = Callable[[str], bytes]  # returns the bytes of the calendar file that a landmark names; raises `OSError`

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAYS = {name: number for number, day in enumerate(DAYS) for name in (day, day[:3])}
WEEKLY = ("weekly", "from", "to", "zone", "first", "last")
DATES = ("dates", "from", "to", "zone")
CALENDAR = ("ics", "zone")
CLOCK = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?", re.ASCII)
TWO = re.compile(r"([^/\[]+(?:\[[^]]*])?)/(.+)")  # two ISO 8601 times; a zone in brackets has its own slash
FORMS = 'use ms, ISO 8601 (a time, a day, or a list of two), or an object with "weekly", "dates" or "ics"'


class Hours(NamedTuple):
    """The start and end of a span as times of day; an end not later than the start is on the next day."""

    start: timedelta
    end: timedelta

    def on(self, day: date, zone: tzinfo) -> tuple[int, int]:
        """Return the span that begins on ``day``."""
        begun = midnight(day)
        return span(begun + self.start, begun + self.end + (DAY if self.end <= self.start else timedelta()), zone)


def is_plain(landmarks: object) -> bool:
    """Return whether landmarks are in the form that records use, without strings or objects."""
    if not isinstance(landmarks, list):
        return True
    ends = (end for landmark in landmarks for end in (landmark if isinstance(landmark, list) else [landmark]))
    return not any(isinstance(end, str | Mapping) for end in ends)


def spans_of(landmarks: Iterable[object], zone: tzinfo | None, read: Reader) -> tuple[Span, ...]:
    """Return landmarks in ms, sorted and merged if they touch; times without a zone are in ``zone``.

    Raises:
        WrongTimesError: listing every fault by the zero-based index of its landmark; also for more than
            `MOST_INTERVALS` intervals before merging.
    """
    wrongs, found = Wrongs(), list[Span]()
    for number, landmark in enumerate(landmarks):
        left = MOST_INTERVALS - len(found)
        spans = wrongs.unless(str(number), partial(_some, landmark, zone, read, left + 1))
        found += spans or ()
        if len(found) > MOST_INTERVALS:
            wrongs.append(Wrong(str(number), f"more than {MOST_INTERVALS:,} intervals in total", "use fewer"))
            break
    wrongs.tell()
    return joined(found)


def joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return sorted spans, merging intervals that overlap or touch and dropping moments inside them."""
    spans = list(spans)
    intervals = LandmarkSet.of(each for each in spans if not isinstance(each, int))
    alone = {each for each in spans if isinstance(each, int) and each not in intervals}
    return tuple(
        sorted((*intervals.intervals, *alone), key=lambda each: (each, each) if isinstance(each, int) else each)
    )


def _some(landmark: object, zone: tzinfo | None, read: Reader, most: int) -> list[Span]:
    found = []
    for each in islice(_spans(landmark, zone, read), most):
        start, end = (each, each) if isinstance(each, int) else each
        if not 0 <= start <= end <= LAST_TIMESTAMP_MS:
            raise WrongTimesError.of(landmark, "use times from 1970 to 9999, with the end after the start")
        if isinstance(each, int) or start < end:  # clocks may skip all of a span
            found.append(each)
    if not found:
        raise WrongTimesError.of(landmark, "it contains no time; check its days and hours")
    return found


def _spans(landmark: object, zone: tzinfo | None, read: Reader) -> Iterable[Span]:
    match landmark:
        case bool():
            pass
        case int():
            return [landmark]
        case str():
            written = TWO.fullmatch(landmark)
            return [_between(written[1], written[2], zone)] if written else _named(local_time(landmark, zone))
        case [int() | str() as start, int() | str() as end]:
            return [_between(start, end, zone)]
        case Mapping() if "weekly" in landmark:
            return _weekly(landmark, zone)
        case Mapping() if "dates" in landmark:
            return _dates(landmark, zone)
        case Mapping() if "ics" in landmark:
            return _calendar(landmark, zone, read)
    raise WrongTimesError.of(landmark, FORMS)


def _between(start: object, end: object, zone: tzinfo | None) -> Span:
    wrongs = Wrongs()
    begun = wrongs.unless("0", lambda: reach(start, zone))
    ended = wrongs.unless("1", lambda: reach(end, zone))
    wrongs.tell()
    assert begun is not None
    assert ended is not None
    if begun[0] >= ended[1]:
        raise WrongTimesError.of([start, end], "use a start before the end")
    return begun[0], ended[1]


def reach(part: object, zone: tzinfo | None) -> tuple[int, int]:
    """Return the start and end of the time that one part of a span names."""
    if isinstance(part, int) and not isinstance(part, bool):
        return part, part
    named = local_time(part, zone)
    return span(named.start, named.start + DAY if named.is_day else named.start, named.zone)


def _named(named: ZonedTime) -> Iterable[Span]:
    if named.is_day:
        return [span(named.start, named.start + DAY, named.zone)]
    return readings(named.start, named.zone).moments


def _weekly(form: Mapping[str, object], zone: tzinfo | None) -> Iterator[Span]:
    wrongs = Wrongs()
    wrongs.unknown(form, WEEKLY)
    named = form["weekly"]
    listed = named if isinstance(named, list) else []
    days = [WEEKDAYS.get(day.lower()) if isinstance(day, str) else None for day in listed]
    if not days or None in days:
        wrongs.append(Wrong("weekly", quoted(named), 'use a list of days, such as ["sat","sun"]'))
    hours, clocks = _hours(form, wrongs), _zone(form, zone, wrongs)
    first = wrongs.unless("first", lambda: _day(form.get("first")))
    last = wrongs.unless("last", lambda: _day(form.get("last")))
    if first is not None and last is not None and last < first:
        wrongs.append(Wrong("last", quoted(form["last"]), "use a day on or after `first`"))
    wrongs.tell()
    assert first is not None
    assert last is not None
    for number in range((last - first).days + 1):
        day = first + number * DAY
        if day.weekday() in days:
            yield hours.on(day, clocks)


def _dates(form: Mapping[str, object], zone: tzinfo | None) -> Iterator[Span]:
    wrongs = Wrongs()
    wrongs.unknown(form, DATES)
    hours, clocks = _hours(form, wrongs), _zone(form, zone, wrongs)
    named = form["dates"]
    if not isinstance(named, list) or not named:
        wrongs.append(Wrong("dates", quoted(named), 'use a list of days, such as ["2026-12-24"]'))
        named = []
    days = [wrongs.unless(f"dates.{number}", partial(_day, each)) for number, each in enumerate(named)]
    wrongs.tell()
    for day in days:
        assert day is not None
        yield hours.on(day, clocks)


def _calendar(form: Mapping[str, object], zone: tzinfo | None, read: Reader) -> Iterator[Span]:
    from stream_app.calendar.calendarfile import spans_in  # noqa: PLC0415 - a worker without calendars has no need of it

    wrongs = Wrongs()
    wrongs.unknown(form, CALENDAR)
    named = form["ics"]
    if "zone" in form:
        zone = wrongs.unless("zone", lambda: zone_of(form["zone"]))
    content = b""
    if isinstance(named, str) and named:
        try:
            content = read(named)
        except (OSError, ValueError) as error:  # a name with a NUL is invalid
            reason = unread(error) if isinstance(error, OSError) else "it is not a file name"
            wrongs.append(Wrong("ics", quoted(named), f"{reason}; specify an iCalendar file"))
    else:
        wrongs.append(Wrong("ics", quoted(named), "specify an iCalendar file"))
    wrongs.tell()
    try:
        yield from spans_in(content, zone)
    except WrongTimesError as error:
        raise WrongTimesError(wrong.under("ics") for wrong in error.wrongs) from None


def _hours(form: Mapping[str, object], wrongs: Wrongs) -> Hours:
    if "from" not in form and "to" not in form:
        return Hours(timedelta(), timedelta())
    start = wrongs.unless("from", lambda: _clock(form.get("from")))
    end = timedelta() if form.get("to") == "24:00" else wrongs.unless("to", lambda: _clock(form.get("to")))
    return Hours(start or timedelta(), end or timedelta())


def _clock(text: object) -> timedelta:
    if not isinstance(text, str) or not CLOCK.fullmatch(text):
        raise WrongTimesError.of(text, "use a time of day, such as 17:00; `from` and `to` must be set together")
    return datetime.combine(FIRST_DAY, time.fromisoformat(text)) - midnight(FIRST_DAY)


def _zone(form: Mapping[str, object], zone: tzinfo | None, wrongs: Wrongs) -> tzinfo:
    if "zone" in form or zone is None:
        zone = wrongs.unless("zone", lambda: zone_of(form.get("zone")))
    return zone or UTC


def _day(text: object) -> date:
    named = local_time(text, UTC) if isinstance(text, str) else None
    if named is None or not named.is_day:
        raise WrongTimesError.of(text, "use a day, such as 2026-01-31")
    return named.when
