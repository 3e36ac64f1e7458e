"""Faults in an iCalendar file: each by itself, all at once, and whatever a file contains."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_app.calendar.calendarfile import spans_in
from stream_app.calendar.localtime import WrongTimesError
from tests.calendar.test_calendarfile import calendar, spans
from tests.suite.speeds import scaled


def faults(*events: str, zone: Any = None) -> list[tuple[str, str]]:
    """Return the member and message of everything that is wrong with events."""
    with pytest.raises(WrongTimesError) as raised:
        spans(*events, zone=zone)
    return [(wrong.member, wrong.message) for wrong in raised.value.wrongs]


UTC_START = "DTSTART:20260329T170000Z\n"


@pytest.mark.parametrize(
    ("event", "member", "message"),
    [
        (UTC_START + "RRULE:FREQ=DAILY", "RRULE", 'found "FREQ=DAILY"; a rule needs an end: add UNTIL or COUNT'),
        (UTC_START + "RRULE:FREQ=SECONDLY;COUNT=5", "RRULE", "use FREQ=HOURLY or a longer interval,"),
        (UTC_START + "RRULE:FREQ=DAILY;INTERVAL=0;COUNT=5", "RRULE", "INTERVAL and COUNT of at least 1"),
        (UTC_START + "RRULE:FREQ=DAILY;COUNT=0", "RRULE", "INTERVAL and COUNT of at least 1"),
        (UTC_START + "RRULE:FREQ=YEARLY;COUNT=5;BYMONTH=13", "RRULE", "found 0 of 5 dates; check its BY parts"),
        (UTC_START + "RRULE:FREQ=YEARLY;RSCALE=HEBREW;COUNT=5", "RRULE", "it is not a valid RFC 5545"),
        (UTC_START + "RRULE:nonsense", "RRULE", "a rule needs an end"),
        (UTC_START + "DTEND:nonsense", "DTEND", "use the syntax of RFC 5545"),
        (UTC_START + "DTEND:20260329T160000Z", "DTEND", "it is before DTSTART"),
        (UTC_START + "DTEND;VALUE=DATE:20260330", "DTEND", "found a day instead of a time"),
        (UTC_START + "DURATION:-PT5M", "DURATION", "an event cannot end before its start"),
        (UTC_START + "DTSTART:20260329T170000Z", "DTSTART", "found several"),
        (UTC_START + "EXDATE;VALUE=DATE:20260329", "EXDATE", "found a day instead of a time"),
        (UTC_START + "EXDATE;TZID=Nowhere:20260329T170000", "EXDATE", "found TZID=Nowhere"),
        (UTC_START + "EXRULE:FREQ=DAILY;COUNT=2", "EXRULE", "use EXDATE"),
        (UTC_START + "RDATE:20260329T170000", "RDATE", "add a zone"),
        (UTC_START + "RECURRENCE-ID;RANGE=THISANDFUTURE:20260329T170000Z", "RECURRENCE-ID", "split the event series"),
        ("SUMMARY:nothing", "DTSTART", "found nothing"),
        ("DTSTART:20260329T170000", "DTSTART", "found 2026-03-29 17:00:00; add a zone"),
        ("DTSTART;VALUE=DATE:20260329", "DTSTART", "found 2026-03-29; add a zone"),
        ("DTSTART;TZID=Nowhere:20260329T170000", "DTSTART", "found TZID=Nowhere"),
        ("DTSTART:18000101T000000Z", "DTSTART", "use times from 1970-01-01"),
        ("DTSTART:99991228T000000Z\nRRULE:FREQ=DAILY;COUNT=9", "", "use times from 1970-01-01"),
        (UTC_START + "DURATION:P99999999D", "", "use times from 1970-01-01"),
    ],
)
def test_what_is_wrong_with_an_event(event: str, member: str, message: str) -> None:
    """There is one fault, with the event's number, its property, what was found and the remedy."""
    ((found, said),) = faults("DTSTART:20260101T000000Z", event)
    assert found == ("events.1" + ("." + member if member else ""))
    assert message in said


def test_all_of_a_file_is_told_at_once() -> None:
    """Faults cover every event and every property of an event."""
    endless = UTC_START + "RRULE:FREQ=DAILY\nDTEND:20260329T160000Z\nSUMMARY:private"
    found = faults(endless, "DTSTART:20260101T000000Z", "DTSTART;VALUE=DATE:20260329")
    assert [member for member, _ in found] == ["events.0.DTEND", "events.0.RRULE", "events.2.DTSTART"]
    assert "private" not in str(found), "what an event is about is nobody's business here"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no event"),
        (b"[1338570000000]", "not an iCalendar file"),
        (b"\xff\xfe\x00", ""),
        (calendar(), "no event"),
        (calendar("DTSTART:20260329T170000Z")[:-20], "incomplete"),
        (calendar("DTSTART:20260329T170000Z") + calendar("DTSTART:20260329T170000Z")[:-20], "incomplete"),
    ],
)
def test_what_is_no_calendar(content: bytes, message: str) -> None:
    """A file that ends too early is also refused, because its last events would be missing."""
    with pytest.raises(WrongTimesError) as raised:
        list(spans_in(content, None))
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "line", [b'{"series":"home-7","timestamp":1338566400000,"value":7193.25}', b"7193.25,2", b"7193.25:1"]
)
def test_a_file_of_readings_shows_no_line(line: bytes) -> None:
    """Somebody may name the wrong file, and the messages of worker and terminal are kept in logs."""
    with pytest.raises(WrongTimesError) as raised:
        list(spans_in(line + b"\n", None))
    assert "7193" not in str(raised.value)


LINES = st.sampled_from(
    ["DTSTART", "DTEND", "RRULE", "RDATE", "EXDATE", "DURATION", "RECURRENCE-ID", "UID", "STATUS", "BEGIN", "END"]
)
PARTS = st.sampled_from([";", ":", "=", ",", "TZID", "VALUE", "DATE", "PERIOD", "20260329", "T170000", "Z", "P1D", "/"])


@settings(max_examples=scaled(100))
@given(st.lists(st.tuples(LINES, st.lists(PARTS | st.text(max_size=3), max_size=6).map("".join)), max_size=5))
def test_whatever_a_file_holds(lines: list[tuple[str, str]]) -> None:
    """The result is spans, or the faults of the file, and never another error."""
    event = "DTSTART:20260329T170000Z\n" + "\n".join(f"{name}{rest}" for name, rest in lines)
    with suppress(WrongTimesError):
        spans(event)
