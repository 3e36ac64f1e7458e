"""iCalendar files as spans: samples worked out by hand, and rules followed day by day."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_app.calendar.calendarfile import spans_in
from stream_app.calendar.localtime import WrongTimesError
from tests.suite.speeds import scaled

PARIS = ZoneInfo("Europe/Paris")
CUSTOM = """BEGIN:VTIMEZONE
TZID:Custom
BEGIN:STANDARD
DTSTART:19701025T030000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:19700329T020000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
END:DAYLIGHT
END:VTIMEZONE
"""


def ms(text: str) -> int:
    """Return the milliseconds of a time with an offset."""
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def between(start: str, end: str) -> tuple[int, int]:
    """Return a span."""
    return ms(start), ms(end)


def calendar(*events: str, zones: str = "") -> bytes:
    """Return a file of events, each given by its properties, one per line."""
    inside = "".join(f"BEGIN:VEVENT\n{event.strip()}\nEND:VEVENT\n" for event in events)
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:test\n{zones}{inside}END:VCALENDAR\n".replace("\n", "\r\n").encode()


def spans(*events: str, zones: str = "", zone: Any = None) -> list[Any]:
    """Return the spans of events."""
    return list(spans_in(calendar(*events, zones=zones), zone))


def at(zone: str, start: str, end: str, *more: str) -> str:
    """Return an event in a zone, from one local time to another, with more properties."""
    return "\n".join((f"DTSTART;TZID={zone}:{start}", f"DTEND;TZID={zone}:{end}", *more))


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        ("DTSTART:20260329T170000Z\nDTEND:20260329T180000Z", [between("2026-03-29T17:00Z", "2026-03-29T18:00Z")]),
        ("DTSTART:20260329T170000Z\nDURATION:PT90M", [between("2026-03-29T17:00Z", "2026-03-29T18:30Z")]),
        ("DTSTART:20260329T170000Z", [ms("2026-03-29T17:00Z")]),
        ("DTSTART:20260329T170000Z\nDTEND:20260329T170000Z", [ms("2026-03-29T17:00Z")]),
        (  # floating: by the zone that is given
            "DTSTART:20260329T170000\nDTEND:20260329T180000",
            [between("2026-03-29T17:00+02:00", "2026-03-29T18:00+02:00")],
        ),
        ("DTSTART:20261025T023000", [ms("2026-10-25T02:30+02:00"), ms("2026-10-25T02:30+01:00")]),
        ("DTSTART;VALUE=DATE:20260329", [between("2026-03-29T00:00+01:00", "2026-03-30T00:00+02:00")]),
        (
            "DTSTART;VALUE=DATE:20260328\nDTEND;VALUE=DATE:20260330",
            [between("2026-03-28T00:00+01:00", "2026-03-30T00:00+02:00")],
        ),
        (
            "DTSTART;VALUE=DATE:20260328\nDTEND;VALUE=DATE:20260328",
            [between("2026-03-28T00:00+01:00", "2026-03-29T00:00+01:00")],
        ),
        (
            "DTSTART;VALUE=DATE:20260328\nDURATION:P1W",
            [between("2026-03-28T00:00+01:00", "2026-04-04T00:00+02:00")],
        ),
        (  # overnight, over the change
            at("Europe/Paris", "20260328T220000", "20260329T060000"),
            [between("2026-03-28T22:00+01:00", "2026-03-29T06:00+02:00")],
        ),
        (  # zones of start and end differ
            "DTSTART;TZID=Europe/Paris:20260701T120000\nDTEND;TZID=America/New_York:20260701T140000",
            [between("2026-07-01T12:00+02:00", "2026-07-01T14:00-04:00")],
        ),
        (  # a name of Windows
            at("W. Europe Standard Time", "20260701T120000", "20260701T130000"),
            [between("2026-07-01T12:00+02:00", "2026-07-01T13:00+02:00")],
        ),
        ("DTSTART:20260329T170000Z\nSTATUS:CANCELLED", []),
    ],
)
def test_single_events(event: str, wanted: list[Any]) -> None:
    """An event may be in UTC, in a zone, floating, of whole days, or without length."""
    assert spans(event, zone=PARIS) == wanted


def test_a_rule_follows_the_clocks_of_its_zone() -> None:
    """It recurs weekly at 17:00, until a moment in UTC that falls on the last occurrence."""
    event = at("Europe/Paris", "20260322T170000", "20260322T200000", "RRULE:FREQ=WEEKLY;UNTIL=20260405T150000Z")
    assert spans(event) == [
        between("2026-03-22T17:00+01:00", "2026-03-22T20:00+01:00"),
        between("2026-03-29T17:00+02:00", "2026-03-29T20:00+02:00"),
        between("2026-04-05T17:00+02:00", "2026-04-05T20:00+02:00"),
    ]
    assert len(spans(event.replace("150000Z", "145959Z"))) == 2
    assert len(spans(event.replace("T150000Z", ""))) == 3, "a day is inclusive"


def test_occurrences_on_the_night_of_the_change() -> None:
    """RFC 5545 reads an occurrence in the skipped hour an hour later; the span contains both readings."""
    nightly = at("Europe/Paris", "20260328T023000", "20260328T034500", "RRULE:FREQ=DAILY;COUNT=3")
    assert spans(nightly) == [
        between("2026-03-28T02:30+01:00", "2026-03-28T03:45+01:00"),
        between("2026-03-29T03:00+02:00", "2026-03-29T04:45+02:00"),
        between("2026-03-30T02:30+02:00", "2026-03-30T03:45+02:00"),
    ]
    long = at("Europe/Paris", "20261024T010000", "20261024T050000", "RRULE:FREQ=DAILY;COUNT=2")
    assert spans(long)[1] == between("2026-10-25T01:00+02:00", "2026-10-25T05:00+01:00"), "to 05:00, not four hours"
    spring = at("Europe/Paris", "20260328T010000", "20260328T050000", "RRULE:FREQ=DAILY;COUNT=2")
    assert spans(spring)[1] == between("2026-03-29T01:00+01:00", "2026-03-29T06:00+02:00"), "four hours, past 05:00"


def test_dates_that_come_and_go() -> None:
    """EXDATE is in a zone or in UTC, RDATE has times or periods, and each occurrence counts once."""
    event = at(
        "Europe/Paris",
        "20260401T100000",
        "20260401T110000",
        "RRULE:FREQ=DAILY;COUNT=4",
        "EXDATE;TZID=Europe/Paris:20260402T100000,20260409T100000",
        "EXDATE:20260403T080000Z",
        "RDATE;TZID=Europe/Paris:20260401T100000,20260410T090000",
        "RDATE;VALUE=PERIOD:20260411T100000Z/PT2H,20260412T100000Z/20260412T103000Z",
    )
    assert spans(event) == [
        between("2026-04-01T10:00+02:00", "2026-04-01T11:00+02:00"),
        between("2026-04-04T10:00+02:00", "2026-04-04T11:00+02:00"),
        between("2026-04-10T09:00+02:00", "2026-04-10T10:00+02:00"),
        between("2026-04-11T10:00Z", "2026-04-11T12:00Z"),
        between("2026-04-12T10:00Z", "2026-04-12T10:30Z"),
    ]


def test_days_that_recur() -> None:
    """All-day events have COUNT, and EXDATE and RDATE as days."""
    event = "DTSTART;VALUE=DATE:20261024\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE;VALUE=DATE:20261026"
    assert spans(f"{event}\nRDATE;VALUE=DATE:20261101", zone=PARIS) == [
        between("2026-10-24T00:00+02:00", "2026-10-25T00:00+02:00"),
        between("2026-10-25T00:00+02:00", "2026-10-26T00:00+01:00"),
        between("2026-11-01T00:00+01:00", "2026-11-02T00:00+01:00"),
    ]


def test_single_occurrences_that_were_moved() -> None:
    """The moved one replaces it, or nothing does if it is cancelled; this applies only to its own uid."""
    rule = "RRULE:FREQ=DAILY;COUNT=3"
    series = at("Europe/Paris", "20260401T100000", "20260401T110000", "UID:a", rule)
    moved = at("Europe/Paris", "20260402T150000", "20260402T160000", "UID:a", "RECURRENCE-ID:20260402T080000Z")
    gone = "UID:a\nSTATUS:CANCELLED\nRECURRENCE-ID;TZID=Europe/Paris:20260403T100000\nDTSTART:20260403T080000Z"
    other = at("Europe/Paris", "20260401T100000", "20260401T110000", "UID:b", rule)
    assert spans(series, moved, gone) == [
        between("2026-04-01T10:00+02:00", "2026-04-01T11:00+02:00"),
        between("2026-04-02T15:00+02:00", "2026-04-02T16:00+02:00"),
    ]
    assert len(spans(series, moved, gone, other)) == 5


def test_a_zone_that_the_file_defines() -> None:
    """Here its clocks are those of Paris; a zone with this name from the last file is forgotten."""
    event = at("Custom", "20260322T023000", "20260322T033000", "RRULE:FREQ=WEEKLY;COUNT=40")
    in_paris = event.replace("Custom", "Europe/Paris")
    assert spans(event, zones=CUSTOM) == spans(in_paris)
    other = CUSTOM.replace("+0200", "+0700").replace("+0100", "+0600")
    assert spans(event, zones=other)[1] == between("2026-03-28T20:00Z", "2026-03-28T21:30Z")
    with pytest.raises(
        WrongTimesError, match="found TZID=Custom; use a zone from the IANA database, or add a VTIMEZONE"
    ):
        spans(event)


def test_a_zone_may_stand_behind_the_events() -> None:
    """RFC 5545 wants no order."""
    event = at("Custom", "20260701T120000", "20260701T130000")
    content = calendar(event, zones=CUSTOM).decode()
    zone = CUSTOM.replace("\n", "\r\n")
    behind = content.replace(zone, "").replace("END:VCALENDAR", f"{zone}END:VCALENDAR")
    assert list(spans_in(behind.encode(), None)) == [between("2026-07-01T12:00+02:00", "2026-07-01T13:00+02:00")]


def test_what_is_no_event_is_passed_over() -> None:
    """These are tasks, notes and times when somebody is busy; several calendars in one file are read."""
    todo = "BEGIN:VTODO\nDTSTART:20260101T000000Z\nDUE:20260102T000000Z\nEND:VTODO\n"
    one = calendar("DTSTART:20260329T170000Z", zones=todo)
    assert list(spans_in(one + calendar("DTSTART:20260330T170000Z"), None)) == [
        ms("2026-03-29T17:00Z"),
        ms("2026-03-30T17:00Z"),
    ]


DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


@settings(max_examples=scaled(60))
@given(
    start=st.dates(date(2025, 1, 1), date(2026, 12, 31)),
    hour=st.integers(0, 23),
    interval=st.integers(1, 4),
    days=st.lists(st.sampled_from(DAYS), unique=True),
    count=st.integers(1, 30),
    ends=st.sampled_from(["UNTIL", "COUNT"]),
    dropped=st.sets(st.integers(0, 200), max_size=5),
)
def test_weekly_rules_day_by_day(
    start: date, hour: int, interval: int, days: list[str], count: int, ends: str, dropped: set[int]
) -> None:
    """Every nth week, with weeks from Monday, its weekdays are those found by walking the days in Paris time."""
    days = days or [DAYS[start.weekday()]]
    if DAYS[start.weekday()] not in days:
        days = [*days, DAYS[start.weekday()]]  # what a rule means whose start it does not hit, RFC 5545 leaves open
    monday = start - timedelta(days=start.weekday())
    walked = [
        day
        for day in (start + timedelta(days=number) for number in range(7 * interval * (count + 1)))
        if (day - monday).days // 7 % interval == 0 and DAYS[day.weekday()] in days
    ]
    taken = walked[:count]
    end = f"UNTIL={taken[-1]:%Y%m%d}" if ends == "UNTIL" else f"COUNT={count}"
    without = [f"EXDATE;TZID=Europe/Paris:{start + timedelta(days=number):%Y%m%d}T{hour:02}0000" for number in dropped]
    event = at(
        "Europe/Paris",
        f"{start:%Y%m%d}T{hour:02}0000",
        f"{start:%Y%m%d}T{hour:02}3000",
        f"RRULE:FREQ=WEEKLY;INTERVAL={interval};BYDAY={','.join(days)};{end}",
        *without,
    )
    begun = [
        datetime(day.year, day.month, day.day, hour, tzinfo=PARIS).astimezone(UTC).timestamp() * 1000
        for day in taken
        if (day - start).days not in dropped
    ]
    found = spans(event)
    # Where clocks jump over the hour, the span begins at the jump, which is the moment that zoneinfo reads it as.
    assert [each[0] for each in found] == begun
    assert all(each[1] - each[0] >= 30 * 60_000 for each in found)
