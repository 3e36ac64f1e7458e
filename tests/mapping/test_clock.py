"""Times in files, compared with how pandas and the zone database read them."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stream_app.mapping.cells import DatedRow, FileError
from stream_app.mapping.clock import Clock, Moments
from stream_app.mapping.members import mapping_of
from tests.mapping.mapped import events

PARIS = ZoneInfo("Europe/Paris")
YEARS = [
    ("Europe/Paris", 5),
    ("America/Los_Angeles", 60),
    ("Australia/Lord_Howe", 30),  # whose clocks go back by half an hour
    ("Asia/Kolkata", 60),
    ("America/Havana", 60),  # at midnight
    ("Atlantic/Azores", 30),
]


def moments(*local: str, zone: ZoneInfo = PARIS) -> list[int | None]:
    """Return the moments of local times of one series, one per row."""
    rows = [DatedRow(nth, "s", datetime.fromisoformat(text), ()) for nth, text in enumerate(local, 1)]
    return [found.moment_ms for found in Moments(zone).of(rows)]


def ms(text: str) -> int:
    """Return the milliseconds of a time with its offset."""
    return int(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.mark.parametrize(("zone", "minutes"), YEARS)
def test_a_year_of_local_times_is_read_as_pandas_infers_it(zone: str, minutes: int) -> None:
    """Every moment of a year is recovered from the clock time, even in the hour that occurs twice."""
    start = datetime(2024, 1, 1, tzinfo=UTC)
    exact = pd.date_range(start, start + timedelta(days=366), freq=f"{minutes}min").tz_convert(zone)
    local = exact.tz_localize(None)
    assert (local.tz_localize(zone, ambiguous="infer") == exact).all()
    rows = [DatedRow(nth, "s", one.to_pydatetime(), ()) for nth, one in enumerate(local)]
    found = [one.moment_ms for one in Moments(ZoneInfo(zone)).of(rows)]
    assert found == [int(one.timestamp() * 1000) for one in exact]


@given(st.lists(st.integers(0, 600), min_size=2, max_size=60, unique=True), st.sampled_from(["a", "b"]))
@example([180, 181, 241], "a")
def test_readings_of_an_autumn_night_come_back_whatever_is_missing(minutes: list[int], other: str) -> None:
    """They do if the order shows the pass; if a time occurs twice and none steps back, nothing may be read."""
    start = datetime(2024, 10, 26, 21, tzinfo=UTC)
    exact = [start] + [start + timedelta(minutes=one) for one in sorted(minutes) if one]
    local = [one.astimezone(PARIS).replace(tzinfo=None) for one in exact]
    rows = [DatedRow(nth, "s", one, ()) for nth, one in enumerate(local)]
    rows = [each for row in rows for each in (row, DatedRow(row.number + 1000, other, row.number, ()))]
    twice = [nth for nth, one in enumerate(local) if one.hour == 2]
    second = [nth for nth in twice if exact[nth] >= datetime(2024, 10, 27, 1, tzinfo=UTC)]
    told = not second or (second[0] in twice[1:] and local[second[0]] <= local[second[0] - 1])
    shown = [local[nth] for nth in twice]
    try:
        found = [one.moment_ms for one in Moments(PARIS).of(rows) if one.row.series == "s"]
    except FileError:
        assert shown == sorted(shown)
        assert len(set(shown)) < len(shown)
        return
    if told:
        assert found == [int(one.timestamp() * 1000) for one in exact]


def test_a_file_that_begins_in_the_hour_that_comes_twice() -> None:
    """Later rows show the pass if they step back; if they do not, nothing shows it."""
    assert moments("2024-10-27T02:45", "2024-10-27T02:00", "2024-10-27T03:00") == [
        ms("2024-10-27T02:45+02:00"),
        ms("2024-10-27T02:00+01:00"),
        ms("2024-10-27T03:00+01:00"),
    ]
    with pytest.raises(FileError, match="it is the first row") as found:
        moments("2024-10-27T02:30", "2024-10-27T02:45", "2024-10-27T03:00")
    assert found.value.number == 1


def test_rows_that_step_back_twice_are_refused() -> None:
    """Such rows are not in order of time, so no pass is known."""
    with pytest.raises(FileError, match="go back in time more than once"):
        moments("2024-10-27T01:45", "2024-10-27T02:45", "2024-10-27T02:30", "2024-10-27T02:15", "2024-10-27T03:00")


def test_a_time_that_the_clocks_skip_is_refused() -> None:
    """The error names its row, without showing the time."""
    with pytest.raises(FileError, match=re.escape("clocks in Europe/Paris skip this time")) as found:
        moments("2024-03-31T01:30", "2024-03-31T02:00")
    assert found.value.number == 2


@pytest.mark.parametrize(
    ("text", "members", "expected"),
    [
        ("1709251200000", {}, "2024-03-01T00:00:00+00:00"),
        ("1709251200", {"time_format": "s"}, "2024-03-01T00:00:00+00:00"),
        ("1709251200.25", {"time_format": "s"}, "2024-03-01T00:00:00.250+00:00"),
        ("1709251200000000", {"time_format": "us"}, "2024-03-01T00:00:00+00:00"),
        ("1709251200000999999", {"time_format": "ns"}, "2024-03-01T00:00:00+00:00"),
        ("20240301000000", {"time_format": "%Y%m%d%H%M%S", "zone": "UTC"}, "2024-03-01T00:00:00+00:00"),
        ("04-01-2024 12:04 AM", {"time_format": "%m-%d-%Y %I:%M %p", "zone": "Europe/Paris"}, "2024-04-01T00:04+02:00"),
        ("2024-03-01 24:00", {"zone": "Europe/Paris"}, "2024-03-02T00:00+01:00"),
        ("2024-03-01 08:00:00 +0100", {"time_format": "%Y-%m-%d %H:%M:%S %z"}, "2024-03-01T08:00:00+01:00"),
        ("2024-03-01T08:00:00+05:30", {"zone": "Europe/Paris"}, "2024-03-01T08:00:00+05:30"),
    ],
)
def test_times_in_their_forms(text: str, members: dict[str, str], expected: str) -> None:
    """Each form gives the moment that it states, exact to the millisecond."""
    assert events(f"time,kwh\n{text},1\n", **members) == [(ms(expected), 1)]


@pytest.mark.parametrize("text", ["noon", "", "2024-13-01T00:00:00Z", "5.5"])
def test_what_is_no_time_becomes_a_malformed_record(text: str) -> None:
    """Only that row is refused, under its number."""
    assert events(f"time,kwh\n{text},1\n1709251200000,2\n") == [(None, 1), (1709251200000, 2)]


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("2024-03-01 08:00", "--zone Europe/Paris"),
        ("02/01/2024", "--time-format '%d/%m/%Y %H:%M'"),
        ("2024-03-01 08:00 UTC", "--zone UTC"),
        ("1709251200000000", "--time-format us"),
    ],
)
def test_a_time_in_a_form_that_needs_more_names_the_option(text: str, remedy: str) -> None:
    """The message also shows an example instead of the text that was found."""
    with pytest.raises(FileError, match=re.escape(remedy)) as found:
        Clock(mapping_of({})).stamp([text])
    assert text not in found.value.message


def test_the_end_of_an_interval_is_the_moment_before_it() -> None:
    """Midnight therefore belongs to the day that ends."""
    assert events("time,kwh\n2024-03-02T00:00Z,1\n", stamp="end") == [(ms("2024-03-02T00:00:00+00:00") - 1, 1)]
