"""Landmarks as people write them, compared with `zoneinfo` by hand and with a minute-by-minute reading."""

import subprocess
import sys
from datetime import date, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.calendar.landmarks import Span, is_plain, joined, spans_of
from stream_app.calendar.localtime import ZONE_NEEDED, WrongTimesError
from stream_app.privacy.landmarks import MOST_INTERVALS, aligned
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from tests.calendar.minutes import CHANGING, MINUTE, Minutes, changes_of

MINUTE_MS = 60_000
NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def ms(text: str) -> int:
    """Return the milliseconds of a time with an offset."""
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def spans(*landmarks: object, zone: tzinfo | None = None) -> tuple[Span, ...]:
    """Return the spans of landmarks that name no files."""
    return spans_of(landmarks, zone, lambda name: pytest.fail(f"reads {name}"))


def weekly(zone: str, days: list[str], hours: tuple[str, str], first: str, last: str) -> tuple[Span, ...]:
    """Return the spans of weekdays between two hours."""
    return spans({"weekly": days, "from": hours[0], "to": hours[1], "zone": zone, "first": first, "last": last})


def test_the_weekends_of_half_a_year() -> None:
    """These are each Saturday and Sunday evening; from 29 March on, the offset is an hour more."""
    found = weekly("Europe/Paris", ["sat", "sun"], ("17:00", "20:00"), "2026-01-01", "2026-06-30")
    days = [date(2026, 1, 1) + timedelta(days=number) for number in range(181)]
    wanted = [
        tuple(ms(f"{day}T{hour}:00{'+02:00' if day >= date(2026, 3, 29) else '+01:00'}") for hour in (17, 20))
        for day in days
        if day.weekday() >= 5
    ]
    assert found == tuple(wanted)
    assert len(found) == 52


@pytest.mark.parametrize(
    ("zone", "hours", "day", "wanted"),
    [  # both changes of 2026, in hours and offsets that were looked up
        ("Europe/Paris", ("01:00", "04:00"), "2026-03-29", ("2026-03-29T01:00+01:00", "2026-03-29T04:00+02:00")),
        ("Europe/Paris", ("01:00", "04:00"), "2026-10-25", ("2026-10-25T01:00+02:00", "2026-10-25T04:00+01:00")),
        ("Europe/Paris", ("02:30", "02:45"), "2026-10-25", ("2026-10-25T02:30+02:00", "2026-10-25T02:45+01:00")),
        ("Europe/Paris", ("02:30", "03:15"), "2026-03-29", ("2026-03-29T03:00+02:00", "2026-03-29T03:15+02:00")),
        ("Europe/Paris", ("01:00", "02:30"), "2026-03-29", ("2026-03-29T01:00+01:00", "2026-03-29T03:30+02:00")),
        ("Europe/Paris", ("22:00", "02:30"), "2026-03-28", ("2026-03-28T22:00+01:00", "2026-03-29T03:30+02:00")),
        ("Europe/Paris", ("22:00", "02:30"), "2026-10-24", ("2026-10-24T22:00+02:00", "2026-10-25T02:30+01:00")),
        ("Europe/Paris", ("12:00", "12:00"), "2026-10-24", ("2026-10-24T12:00+02:00", "2026-10-25T12:00+01:00")),
        ("Europe/Paris", ("20:00", "24:00"), "2026-10-24", ("2026-10-24T20:00+02:00", "2026-10-25T00:00+02:00")),
        ("America/New_York", ("01:30", "03:30"), "2026-03-08", ("2026-03-08T01:30-05:00", "2026-03-08T03:30-04:00")),
        ("America/New_York", ("01:30", "03:30"), "2026-11-01", ("2026-11-01T01:30-04:00", "2026-11-01T03:30-05:00")),
        ("Australia/Lord_Howe", ("01:00", "02:15"), "2026-10-04", ("2026-10-04T01:00+10:30", "2026-10-04T02:45+11:00")),
        ("Australia/Lord_Howe", ("01:45", "03:00"), "2026-04-05", ("2026-04-05T01:45+11:00", "2026-04-05T03:00+10:30")),
        ("America/Havana", ("23:00", "00:30"), "2026-03-07", ("2026-03-07T23:00-05:00", "2026-03-08T01:30-04:00")),
        ("America/Havana", ("23:00", "00:30"), "2026-10-31", ("2026-10-31T23:00-04:00", "2026-11-01T00:30-05:00")),
        ("Asia/Kathmandu", ("17:00", "20:00"), "2026-03-29", ("2026-03-29T17:00+05:45", "2026-03-29T20:00+05:45")),
    ],
)
def test_hours_over_a_change_of_clocks(zone: str, hours: tuple[str, str], day: str, wanted: tuple[str, str]) -> None:
    """Everything that the hours may mean is protected, and the same holds under `dates`."""
    assert weekly(zone, list(NAMES), hours, day, day) == (tuple(map(ms, wanted)),)
    assert spans({"dates": [day], "from": hours[0], "to": hours[1]}, zone=ZoneInfo(zone)) == (tuple(map(ms, wanted)),)


def test_a_whole_day_is_as_long_as_it_is() -> None:
    """It has 23 or 25 hours, and starts at 01:00 if midnight is skipped."""
    hour = 3_600_000
    lengths = [
        span[1] - span[0]
        for day in ("2026-03-28", "2026-03-29", "2026-10-25")
        for span in spans(day, zone=ZoneInfo("Europe/Paris"))
        if not isinstance(span, int)
    ]
    assert lengths == [24 * hour, 23 * hour, 25 * hour]
    assert spans("2026-03-08[America/Havana]") == ((ms("2026-03-08T01:00-04:00"), ms("2026-03-09T00:00-04:00")),)


CLOCKS = st.integers(0, 1439)


@given(data=st.data(), zone=st.sampled_from(CHANGING), year=st.integers(2006, 2026), begin=CLOCKS, end=CLOCKS)
def test_weekly_minute_by_minute(data: st.DataObject, zone: str, year: int, begin: int, end: int) -> None:
    """On each of the days, the minutes from the first reading of `from` to the last of `to` are protected."""
    near = data.draw(st.sampled_from(changes_of(zone, year)) | st.dates(date(year, 1, 1), date(year, 12, 31)))
    first = near - timedelta(days=data.draw(st.integers(0, 2)))
    last = first + timedelta(days=data.draw(st.integers(0, 2)))
    names = data.draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    literal, protected = Minutes(ZoneInfo(zone), first, last), set[int]()
    for number in range((last - first).days + 1):
        day = datetime.fromisoformat(str(first + timedelta(days=number)))
        if NAMES[day.weekday()] in names:
            ended = day + (end if end > begin else end + 1440) * MINUTE
            protected |= set(range(literal.first(day + begin * MINUTE), literal.last(ended), MINUTE_MS))
    hours = tuple(f"{minute // 60:02}:{minute % 60:02}" for minute in (begin, end))
    if not protected:
        with pytest.raises(WrongTimesError, match="it contains no time"):
            weekly(zone, names, (hours[0], hours[1]), str(first), str(last))
        return
    found = weekly(zone, names, (hours[0], hours[1]), str(first), str(last))
    intervals = [each for each in found if not isinstance(each, int)]
    assert {minute for start, stop in intervals for minute in range(start, stop, MINUTE_MS)} == protected
    assert all(stop < start for (_, stop), (start, _) in pairwise(intervals)), "ascending, and joined where they meet"


PARIS = ZoneInfo("Europe/Paris")


@pytest.mark.parametrize(
    ("landmark", "found"),
    [
        (5, 5),
        ([7, 9], (7, 9)),
        ("2026-03-29T17:00Z", ms("2026-03-29T17:00Z")),
        ("2026-03-29T17:00", ms("2026-03-29T17:00+02:00")),
        ("2026-03-29T17:00+05:30", ms("2026-03-29T11:30Z")),
        ("2026-03-29T17:00[Asia/Tokyo]", ms("2026-03-29T08:00Z")),
        (["2026-03-29T17:00Z", "2026-03-29T18:00Z"], (ms("2026-03-29T17:00Z"), ms("2026-03-29T18:00Z"))),
        ("2026-03-29T17:00Z/2026-03-29T18:00Z", (ms("2026-03-29T17:00Z"), ms("2026-03-29T18:00Z"))),
        ("2026-03-28[Asia/Tokyo]/2026-03-29", (ms("2026-03-28T00:00+09:00"), ms("2026-03-30T00:00+02:00"))),
        ([0, "1970-01-01T01:00"], None),
        ([0, "1970-01-02"], (0, ms("1970-01-03T00:00+01:00"))),
        ("2026-12-24", (ms("2026-12-24T00:00+01:00"), ms("2026-12-25T00:00+01:00"))),
        ({"dates": ["2026-12-24"]}, (ms("2026-12-24T00:00+01:00"), ms("2026-12-25T00:00+01:00"))),
        ({"dates": ["2026-12-24", "2026-12-25"]}, (ms("2026-12-24T00:00+01:00"), ms("2026-12-26T00:00+01:00"))),
        (
            {"weekly": ["Saturday"], "first": "2026-01-01", "last": "2026-01-09", "zone": "UTC"},
            (ms("2026-01-03T00:00Z"), ms("2026-01-04T00:00Z")),
        ),
    ],
)
def test_each_form(landmark: object, found: Span | None) -> None:
    """Each form gives integers; times without a zone use the given one."""
    if found is None:
        with pytest.raises(WrongTimesError, match="use a start before the end"):
            spans(landmark, zone=PARIS)
    else:
        assert spans(landmark, zone=PARIS) == (found,)


def test_first_and_last_are_inclusive() -> None:
    """They are the days on which spans begin; a span that begins on the last day ends after it."""
    (found,) = weekly("UTC", ["fri"], ("22:00", "06:00"), "2026-01-02", "2026-01-02")
    assert found == (ms("2026-01-02T22:00Z"), ms("2026-01-03T06:00Z"))


def test_a_moment_that_is_there_twice_is_both() -> None:
    """A local time that occurs twice becomes two moments."""
    assert spans("2026-10-25T02:30", zone=PARIS) == (ms("2026-10-25T00:30Z"), ms("2026-10-25T01:30Z"))


@given(st.lists(st.integers(0, 30) | st.tuples(st.integers(0, 30), st.integers(1, 9)).map(lambda at: (at[0], sum(at)))))
def test_joining_changes_no_step(found: list[Span]) -> None:
    """At any step length, the same steps are landmarks; joined spans are in order and separate."""
    together = joined(found)
    for step_ms in (1, 2, 3, 7):
        assert aligned(together, step_ms) == aligned(found, step_ms)
    assert joined(reversed(together)) == together


@pytest.mark.parametrize("landmarks", [None, 5, [], [1, [2, 3]], [True, None, [1], [[]]], [[["x"]]]])
def test_what_is_plain_is_left_alone(landmarks: object) -> None:
    """It is what records have, even if wrong; policies say what is wrong."""
    assert is_plain(landmarks)


@pytest.mark.parametrize("landmark", ["x", {}, ["x", 5], [5, "x"]])
def test_what_is_said_is_not_plain(landmark: object) -> None:
    """This is any text or object anywhere, however wrong."""
    assert not is_plain([5, landmark])


NOT_FOUND = FileNotFoundError(2, "No such file or directory")


def faults(*landmarks: object, zone: tzinfo | None = None) -> list[tuple[str, str]]:
    """Return the member and message of everything that is wrong."""

    def missing(_: str) -> bytes:
        raise NOT_FOUND

    with pytest.raises(WrongTimesError) as raised:
        spans_of(landmarks, zone, missing)
    return [(wrong.member, wrong.message) for wrong in raised.value.wrongs]


def test_every_fault_is_told_at_once() -> None:
    """Each has its member, what was found, and the remedy."""
    day = "use a day, such as 2026-01-31"
    assert faults(
        "2026-03-29T17:00",
        {"weekly": [], "from": "9", "zone": "Mars", "first": "2026-02-01", "last": 7, "until": 3},
        {"weekly": ["sat"], "zone": "UTC", "first": "2026-02-01", "last": "2026-01-01"},
        {"dates": ["2026-02-30", "2026-01-01T00:00"], "zone": "UTC"},
        {"ics": "none.ics"},
        {"ics": 5, "zone": "Mars"},
    ) == [
        ("0", f'found "2026-03-29T17:00"; {ZONE_NEEDED}'),
        ("1.until", "found an unknown member; omit it; known members are weekly, from, to, zone, first, last"),
        ("1.weekly", 'found []; use a list of days, such as ["sat","sun"]'),
        ("1.from", 'found "9"; use a time of day, such as 17:00; `from` and `to` must be set together'),
        ("1.to", "found nothing; use a time of day, such as 17:00; `from` and `to` must be set together"),
        ("1.zone", 'found "Mars"; use a zone from the IANA database, such as Europe/Paris'),
        ("1.last", f"found 7; {day}"),
        ("2.last", 'found "2026-01-01"; use a day on or after `first`'),
        ("3.dates.0", 'found "2026-02-30"; use ISO 8601, such as 2026-01-31T08:00:00+01:00, or 2026-01-31 for a day'),
        ("3.dates.1", f'found "2026-01-01T00:00"; {day}'),
        ("4.ics", 'found "none.ics"; there is no such file; specify an iCalendar file'),
        ("5.zone", 'found "Mars"; use a zone from the IANA database, such as Europe/Paris'),
        ("5.ics", "found 5; specify an iCalendar file"),
    ]


@pytest.mark.parametrize(
    "landmark",
    [
        None,
        True,
        {},
        [1, 2, 3],
        [True, 5],
        -1,
        [5, 5],
        [9, 7],
        LAST_TIMESTAMP_MS + 1,
        {"weekly": "sat", "zone": "UTC", "first": "2026-01-01", "last": "2026-01-31"},
        {"weekly": [["sat"]], "zone": "UTC", "first": "2026-01-01", "last": "2026-01-31"},
        {"dates": {}, "zone": "UTC"},
        {"dates": [], "zone": "UTC"},
        {"ics": ""},
        {"ics": "\0"},
        {"weekly": ["sun"], "from": "24:00", "to": "03:00", "zone": "UTC", "first": "2026-03-29", "last": "2026-03-29"},
        {"weekly": ["sat"], "zone": "UTC", "first": "2026-01-04", "last": "2026-01-05"},
        "1970-01-01[Asia/Tokyo]",
        "x" * 1000,
    ],
)
def test_what_is_no_landmark(landmark: object) -> None:
    """There is one fault for each, and never a traceback."""
    ((member, message),) = faults(landmark)
    assert member.startswith("0")
    assert len(message) < 250


def test_hours_that_are_skipped_are_no_time() -> None:
    """02:00 to 03:00 is refused if its only day skips it; on other days of the same landmark it is protected."""
    skipped = {"weekly": ["sun"], "from": "02:00", "to": "03:00", "zone": "Europe/Paris", "first": "2026-03-29"}
    assert "it contains no time" in faults({**skipped, "last": "2026-03-29"})[0][1]
    assert spans({**skipped, "last": "2026-04-05"}) == ((ms("2026-04-05T00:00Z"), ms("2026-04-05T01:00Z")),)


def test_at_most_as_many_intervals_as_a_row_can_hold() -> None:
    """The limit is for all landmarks together; hours of every day until the year 9999 are refused immediately."""
    every: dict[str, Any] = {
        "weekly": list(NAMES),
        "from": "01:00",
        "to": "02:00",
        "zone": "UTC",
        "first": "1970-01-01",
    }
    most = date(1970, 1, 1) + timedelta(days=MOST_INTERVALS - 1)
    assert len(spans({**every, "last": str(most)})) == MOST_INTERVALS
    assert faults({**every, "last": "9999-12-28"}, 5) == [("0", "found more than 65,536 intervals in total; use fewer")]


def test_no_parser_of_calendars_is_loaded_without_one() -> None:
    """A worker reads policies when it starts and loads no more code than it needs."""
    loaded = (
        "import sys, stream_app.calendar.policy as policy\n"
        "policy.in_integers({'protection': {'landmarks': ['2026-01-01[UTC]']}}, open)\n"
        "print([name for name in ('icalendar', 'dateutil') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", loaded], capture_output=True, check=True, text=True).stdout == "[]\n"
