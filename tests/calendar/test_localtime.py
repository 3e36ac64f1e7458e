"""Local times as moments, compared with minute-by-minute `zoneinfo` clocks and with changes by hand."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.calendar.localtime import FIRST_DAY, LAST_DAY, WrongTimesError, ZonedTime, local_time, readings, zone_of
from tests.calendar.minutes import CHANGING, MINUTE, Minutes, changes_of


def ms(text: str) -> int:
    """Return the milliseconds of a time with an offset."""
    return int(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.mark.parametrize(
    ("zone", "local", "moments"),
    [
        ("Europe/Paris", "2026-07-01T12:00", ["2026-07-01T10:00Z"]),
        ("Europe/Paris", "2026-03-29T02:30", ["2026-03-29T01:30Z"]),  # 02:00 to 03:00 is skipped
        ("Europe/Paris", "2026-03-29T02:00", ["2026-03-29T01:00Z"]),
        ("Europe/Paris", "2026-10-25T02:30", ["2026-10-25T00:30Z", "2026-10-25T01:30Z"]),
        ("Europe/Paris", "2026-10-25T03:00", ["2026-10-25T02:00Z"]),
        ("America/New_York", "2026-03-08T02:30", ["2026-03-08T07:30Z"]),
        ("America/New_York", "2026-11-01T01:30", ["2026-11-01T05:30Z", "2026-11-01T06:30Z"]),
        ("Australia/Lord_Howe", "2026-10-04T02:15", ["2026-10-03T15:45Z"]),  # half an hour forward at 02:00
        ("Australia/Lord_Howe", "2026-04-05T01:45", ["2026-04-04T14:45Z", "2026-04-04T15:15Z"]),
        ("America/Havana", "2026-03-08T00:00", ["2026-03-08T05:00Z"]),  # midnight itself is skipped
        ("America/Havana", "2026-11-01T00:00", ["2026-11-01T04:00Z", "2026-11-01T05:00Z"]),
        ("Asia/Kathmandu", "2026-03-29T02:30", ["2026-03-28T20:45Z"]),
        ("Pacific/Apia", "2011-12-30T12:00", ["2011-12-30T22:00Z"]),  # a whole day is skipped
    ],
)
def test_where_clocks_change(zone: str, local: str, moments: list[str]) -> None:
    """A time that does not exist moves forward by the jump of the clocks; one that occurs twice is both."""
    found = readings(datetime.fromisoformat(local), ZoneInfo(zone))
    assert found.moments == tuple(map(ms, moments))
    assert found.first <= found.usual <= found.last


def test_a_time_that_is_skipped_is_first_read_where_clocks_jump() -> None:
    """A span that begins there therefore misses nothing after the jump."""
    assert readings(datetime.fromisoformat("2026-03-29T02:30"), ZoneInfo("Europe/Paris")).first == ms(
        "2026-03-29T01:00Z"
    )


@given(data=st.data(), zone=st.sampled_from(CHANGING), year=st.integers(1990, 2026))
def test_readings_minute_by_minute(data: st.DataObject, zone: str, year: int) -> None:
    """Each local minute of a day, whether or not clocks change on it, is read as by a scan of that week."""
    day = data.draw(st.sampled_from(changes_of(zone, year)) | st.dates(date(year, 1, 1), date(year, 12, 31)))
    local = datetime.combine(day, time()) + data.draw(st.integers(-1440, 2 * 1440)) * MINUTE
    literal = Minutes(ZoneInfo(zone), day, day)
    found = readings(local, ZoneInfo(zone))
    assert (found.first, found.last) == (literal.first(local), literal.last(local))
    assert found.usual == int(local.replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000), "as PEP 495 reads fold 0"


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12", "UTC"])
def test_the_ends_of_the_calendar(zone: str) -> None:
    """Neither day overflows in the zones furthest from UTC."""
    for day in (FIRST_DAY, LAST_DAY):
        readings(datetime.combine(day, time(23, 59)) + timedelta(days=1), ZoneInfo(zone))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2026-03-29", ZonedTime(date(2026, 3, 29), UTC)),
        ("2026-03-29T17:00", ZonedTime(datetime.fromisoformat("2026-03-29T17:00"), UTC)),
        ("2026-03-29T17:00[Asia/Tokyo]", ZonedTime(datetime.fromisoformat("2026-03-29T17:00"), ZoneInfo("Asia/Tokyo"))),
        ("2026-03-29[Asia/Tokyo]", ZonedTime(date(2026, 3, 29), ZoneInfo("Asia/Tokyo"))),
    ],
)
def test_what_a_text_names(text: str, found: ZonedTime) -> None:
    """It names a day or a time, with its own zone or the given one."""
    assert local_time(text, UTC) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("soon", 'found "soon"; use ISO 8601'),
        (17, "found 17; use ISO 8601"),
        (None, "found nothing; use ISO 8601"),
        ("2026-02-30", "use ISO 8601"),
        ("2026-03-29T17:00[Europe/Paris", "use ISO 8601"),
        ("2026-03-29T17:00[Paris]", 'found "Paris"; use a zone'),
        ("2026-03-29T17:00[../../etc/passwd]", "use a zone"),
        ("2026-03-29T17:00+03:00[Europe/Paris]", "a different offset"),
        ("2026-03-29T17:00:00.0001Z", "whole milliseconds"),
        ("2026-03-29T17:00", 'add a zone, as in "zone":"Europe/Paris"'),
        ("1969-12-31[UTC]", "use a day from 1970-01-01"),
    ],
)
def test_what_names_no_time(text: object, message: str) -> None:
    """The error says what was found, and the remedy."""
    with pytest.raises(WrongTimesError) as raised:
        local_time(text)
    assert message in str(raised.value)


@pytest.mark.parametrize("name", ["", None, 5, "Europe", "Europe/paris/", "/etc/localtime", "x\0", "ü", "a" * 5000])
def test_what_is_no_zone(name: object) -> None:
    """No name causes a traceback; a folder or another file of the machine is not a zone."""
    with pytest.raises(WrongTimesError, match="use a zone from the IANA database"):
        zone_of(name)
