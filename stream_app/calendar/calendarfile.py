"""Reads the events and recurrences in iCalendar files (RFC 5545) as spans in ms; ignores the rest.

The package icalendar parses a file, python-dateutil expands its rules in local time, and `localtime` converts local
times to moments.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta, tzinfo
from functools import partial
from typing import Any, NamedTuple

from dateutil.rrule import rrulestr
from icalendar import Calendar
from icalendar.timezone import tzp

from stream_app.calendar.localtime import (
    DAY,
    FIRST_DAY,
    LAST_DAY,
    MILLISECOND,
    ZONE_NEEDED,
    Wrong,
    Wrongs,
    WrongTimesError,
    midnight,
    quoted,
    readings,
    shown,
    span,
)

SINGLE = ("DTSTART", "DTEND", "DURATION", "RECURRENCE-ID")  # properties that an event has at most once
TOO_FINE = ("SECONDLY", "MINUTELY")
BEGINS, ENDS = (re.compile(rb"^%s:" % word, re.MULTILINE | re.IGNORECASE) for word in (b"BEGIN", b"END"))
"""Patterns for counting components, because the package skips an unterminated component and all its contents."""
BEYOND = f"use times from {FIRST_DAY} to {LAST_DAY}"


class Start(NamedTuple):
    """The start of an occurrence as local time in a zone; midnight for an occurrence of whole days."""

    local: datetime
    zone: tzinfo
    is_day: bool

    @property
    def identity(self) -> object:
        """Return the key that distinguishes this occurrence from other occurrences of the event."""
        return self.local.date() if self.is_day else readings(self.local, self.zone).usual


class Length(NamedTuple):
    """The duration of an occurrence, in local time and in milliseconds; the two differ if clocks change."""

    clocks: timedelta
    elapsed_ms: int

    def after(self, start: Start) -> Iterable[int | tuple[int, int]]:
        """Return an occurrence's span up to the later of its two ends, or its start's moments if it has no duration."""
        end = start.local + self.clocks
        if start.is_day:
            return [span(start.local, end, start.zone)]
        begun = readings(start.local, start.zone)
        if not self.clocks and not self.elapsed_ms:
            return begun.moments
        return [(begun.first, max(readings(end, start.zone).last, begun.usual + self.elapsed_ms))]


class RecurrenceRule(NamedTuple):
    """A recurrence rule: its text without UNTIL, its UNTIL in local time, and its number of dates (COUNT) or 0."""

    text: str
    until: date | None
    dates: int


class CalendarEvent(NamedTuple):
    """One VEVENT with its number in the file, counted from 0."""

    number: int
    uid: str
    start: Start
    length: Length
    rules: tuple[RecurrenceRule, ...]
    more: tuple[tuple[Start, Length | None], ...]
    """Further occurrences (RDATE); those that are periods have their own length."""
    without: frozenset[object]  # identities of cancelled occurrences (EXDATE)
    replaces: object | None  # identity of the occurrence of the same uid that this one replaces (RECURRENCE-ID)
    cancelled: bool


def spans_in(content: bytes, zone: tzinfo | None) -> Iterator[int | tuple[int, int]]:
    """Yield the spans of all events in a calendar; days and times without a zone are in ``zone``.

    Raises:
        WrongTimesError: with every fault, by event number from 0. Faults are content that is not a calendar, no event,
            a rule without end, an unknown zone, and a change of all later occurrences at once.
    """
    wrongs = Wrongs()
    events = [
        event
        for number, component in enumerate(_components(content))
        if (event := wrongs.unless(f"events.{number}", partial(_event, number, component, zone)))
    ]
    wrongs.tell()
    replaced: dict[str, set[object]] = {}
    for event in events:
        if event.replaces is not None:
            replaced.setdefault(event.uid, set()).add(event.replaces)
    for event in events:
        if not event.cancelled:
            yield from _occurrences(event, () if event.replaces is not None else replaced.get(event.uid, ()))


def _components(content: bytes) -> list[Any]:
    # The package keeps zones defined in files by name for the whole process; they must not apply to another file.
    tzp.use_default()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about zones named by a vendor, such as /vendor.com/Europe/Berlin
            calendars = Calendar.from_ical(content, multiple=True)
    except Exception:  # noqa: BLE001 - PRIVACY: it quotes a line, of raw values where somebody named a file of them
        raise WrongTimesError([Wrong("", "not an iCalendar file", "use a file that contains a VCALENDAR")]) from None
    if len(BEGINS.findall(content)) != len(ENDS.findall(content)):
        raise WrongTimesError([Wrong("", "a BEGIN without its END", "the file is incomplete; fetch it again")])
    found = [component for calendar in calendars for component in calendar.walk("VEVENT")]
    if not found:
        raise WrongTimesError([Wrong("", "no event", "use an iCalendar file with a VEVENT for each landmark")])
    return found


def _event(number: int, component: Any, zone: tzinfo | None) -> CalendarEvent:
    wrongs = Wrongs()
    for name, problem in component.errors:
        wrongs.append(Wrong(str(name or "line"), quoted(problem), "use the syntax of RFC 5545"))
    for name in SINGLE:
        if isinstance(component.get(name), list):
            wrongs.append(Wrong(name, "several", "use at most one per event"))
    if "EXRULE" in component:
        wrongs.append(Wrong("EXRULE", "a rule", "RFC 5545 no longer has it; use EXDATE"))
    if "DTSTART" not in component:
        wrongs.append(Wrong("DTSTART", "nothing", "add the start of the event"))
    wrongs.tell()
    start = wrongs.unless("DTSTART", lambda: _start(component["DTSTART"], component["DTSTART"].dt, zone))
    if start is None:
        raise WrongTimesError(wrongs)
    length = _length(component, start, zone, wrongs)
    rules = [wrongs.unless("RRULE", partial(_rule, rule, start)) for rule in _each(component.get("RRULE"))]
    more = wrongs.unless("RDATE", lambda: tuple(_more(component, zone))) or ()
    dropped = wrongs.unless("EXDATE", lambda: [_start(*each, zone, start) for each in _listed(component, "EXDATE")])
    replaces = None
    if "RECURRENCE-ID" in component:
        named = component["RECURRENCE-ID"]
        replaces = wrongs.unless("RECURRENCE-ID", lambda: _start(named, named.dt, zone))
        if "RANGE" in named.params:
            remedy = "split the event series there: this program reads only changes to single occurrences"
            wrongs.append(Wrong("RECURRENCE-ID", f"RANGE={named.params['RANGE']}", remedy))
    wrongs.tell()
    return CalendarEvent(
        number=number,
        uid=str(component.get("UID", "")),
        start=start,
        length=length,
        rules=tuple(rule for rule in rules if rule is not None),
        more=more,
        without=frozenset(each.identity for each in dropped or ()),
        replaces=None if replaces is None else replaces.identity,
        cancelled=str(component.get("STATUS", "")).upper() == "CANCELLED",
    )


def _start(holder: Any, when: date, zone: tzinfo | None, like: Start | None = None) -> Start:
    is_day = not isinstance(when, datetime)
    if like is not None and like.is_day != is_day:
        raise WrongTimesError(
            [Wrong("", "a day instead of a time, or a time instead of a day", "use the same type as in DTSTART")]
        )
    local = when if isinstance(when, datetime) else midnight(when)
    if not FIRST_DAY <= local.date() <= LAST_DAY:
        raise WrongTimesError([Wrong("", str(when), BEYOND)])
    named = holder.params.get("TZID")
    if local.tzinfo is None and named is not None and not is_day:
        remedy = "use a zone from the IANA database, or add a VTIMEZONE for it to the file"
        raise WrongTimesError([Wrong("", f"TZID={named}", remedy)])
    found = local.tzinfo or zone
    if found is None:
        raise WrongTimesError([Wrong("", str(when), ZONE_NEEDED)])
    return Start(local.replace(tzinfo=None, fold=0), found, is_day)


def _length(component: Any, start: Start, zone: tzinfo | None, wrongs: Wrongs) -> Length:
    if "DURATION" in component:
        lasts: timedelta = component["DURATION"].dt
        if lasts < timedelta() or (start.is_day and (not lasts or lasts % DAY)):
            wrongs.append(
                Wrong(
                    "DURATION",
                    str(lasts),
                    "an event cannot end before its start, and an all-day event must last one or more whole days",
                )
            )
        return Length(lasts, lasts // MILLISECOND)
    if "DTEND" not in component:
        return Length(DAY if start.is_day else timedelta(), 0)
    named = component["DTEND"]
    end = wrongs.unless("DTEND", lambda: _start(named, named.dt, zone, start))
    return Length(DAY, 0) if end is None else _until(start, end, wrongs)


def _until(start: Start, end: Start, wrongs: Wrongs) -> Length:
    end_ms = readings(end.local, end.zone).usual
    elapsed_ms = end_ms - readings(start.local, start.zone).usual
    local = end.local if end.zone == start.zone else shown(end_ms, start.zone)
    if elapsed_ms < 0:
        wrongs.append(Wrong("DTEND", str(end.local), "it is before DTSTART; use a later end"))
    lasts = local - start.local
    return Length(max(DAY, lasts), 0) if start.is_day else Length(lasts, elapsed_ms)


def _rule(rule: Mapping[str, Any], start: Start) -> RecurrenceRule:
    text = rule.to_ical().decode()  # type: ignore[attr-defined] # icalendar's own mapping
    if rule.get("FREQ", [""])[0] in TOO_FINE or min(rule.get("INTERVAL", [1])) < 1 or min(rule.get("COUNT", [1])) < 1:
        raise WrongTimesError.of(text, "use FREQ=HOURLY or a longer interval, and INTERVAL and COUNT of at least 1")
    if not rule.get("UNTIL") and not rule.get("COUNT"):
        raise WrongTimesError.of(text, "a rule needs an end: add UNTIL or COUNT")
    kept = ";".join(part for part in text.split(";") if not part.startswith("UNTIL="))
    try:
        rrulestr(kept, dtstart=start.local)
    except ValueError as error:
        raise WrongTimesError.of(text, f"it is not a valid RFC 5545 rule ({error})") from None
    until: date | None = next(iter(rule.get("UNTIL", ())), None)
    if isinstance(until, datetime) and until.tzinfo is not None:
        until = until.astimezone(start.zone).replace(tzinfo=None)
    return RecurrenceRule(kept, until, max(rule.get("COUNT", [0])))


def _more(component: Any, zone: tzinfo | None) -> Iterator[tuple[Start, Length | None]]:
    for holder, when in _listed(component, "RDATE"):
        if not isinstance(when, tuple):
            yield _start(holder, when, zone), None
            continue
        begun, ended = when
        start = _start(holder, begun, zone)
        if isinstance(ended, timedelta):
            yield start, Length(ended, ended // MILLISECOND)
        else:
            wrongs = Wrongs()
            length = _until(start, _start(holder, ended, zone, start), wrongs)
            wrongs.tell()
            yield start, length


def _each(found: Any) -> list[Any]:
    """Return the properties with one name as a list; icalendar does not put a single property in a list."""
    return [] if found is None else found if isinstance(found, list) else [found]


def _listed(component: Any, name: str) -> Iterator[tuple[Any, Any]]:
    for holder in _each(component.get(name)):
        for each in holder.dts:
            yield holder, each.dt


def _occurrences(event: CalendarEvent, replaced: Iterable[object]) -> Iterator[int | tuple[int, int]]:
    gone = {*event.without, *replaced}
    for start, length in _starts(event):
        try:
            last = (start.local + length.clocks).date()
        except OverflowError:
            last = date.max
        if last > LAST_DAY:
            raise WrongTimesError([Wrong(f"events.{event.number}", f"an occurrence from {start.local}", BEYOND)])
        if start.identity not in gone:
            gone.add(start.identity)
            yield from length.after(start)


def _starts(event: CalendarEvent) -> Iterator[tuple[Start, Length]]:
    yield event.start, event.length
    for rule in event.rules:
        number = 0
        for local in rrulestr(rule.text, dtstart=event.start.local):
            if rule.until is not None and (local if isinstance(rule.until, datetime) else local.date()) > rule.until:
                break
            number += 1
            yield event.start._replace(local=local), event.length
        if rule.until is None and number < rule.dates:
            remedy = "check its BY parts: their dates are too rare, or never occur"
            raise WrongTimesError([Wrong(f"events.{event.number}.RRULE", f"{number} of {rule.dates} dates", remedy)])
    for start, length in event.more:
        yield start, length or event.length
