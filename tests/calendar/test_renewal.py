"""Renewals as people write them, compared with dates walked day by day and with `zoneinfo` clocks."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.calendar.localtime import WrongTimesError
from stream_app.calendar.policy import MOST_RENEWALS, renewals

PARIS = {"zone": "Europe/Paris"}


def ms(text: str) -> int:
    """Return the milliseconds of a time with an offset."""
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def test_every_month_at_local_midnight() -> None:
    """The offset follows the season; `until` is inclusive."""
    found = renewals({"every": "month", **PARIS, "until": "2026-05-01"}, after_ms=ms("2026-01-10T12:00:00Z"))
    assert found == tuple(
        map(
            ms, ("2026-02-01T00:00+01:00", "2026-03-01T00:00+01:00", "2026-04-01T00:00+02:00", "2026-05-01T00:00+02:00")
        )
    )


def test_a_bound_at_the_time_itself_is_over() -> None:
    """A period that begins at that moment has already begun."""
    now = ms("2026-02-01T00:00+01:00")
    assert renewals({"every": "month", **PARIS, "until": "2026-03-31"}, now) == (ms("2026-03-01T00:00+01:00"),)
    assert renewals({"every": "month", **PARIS, "until": "2026-02-28"}, now - 1) == (now,)


@pytest.mark.parametrize(
    ("form", "bounds"),
    [
        (
            {"every": "month", "first": "2026-01-31", "until": "2026-04-30"},
            ["2026-01-31T00:00+01:00", "2026-02-28T00:00+01:00", "2026-03-31T00:00+02:00", "2026-04-30T00:00+02:00"],
        ),
        (
            {"every": "year", "first": "2024-02-29T06:00", "until": "2026-02-28T06:00"},
            ["2024-02-29T06:00+01:00", "2025-02-28T06:00+01:00", "2026-02-28T06:00+01:00"],
        ),
        ({"every": "year", "first": "2024-02-29T06:00", "until": "2025-02-28T05:59:59"}, ["2024-02-29T06:00+01:00"]),
        (  # 02:30 does not exist on the 29th, and is there twice on 25 October
            {"every": "day", "first": "2026-03-28T02:30", "until": "2026-03-30"},
            ["2026-03-28T02:30+01:00", "2026-03-29T03:30+02:00", "2026-03-30T02:30+02:00"],
        ),
        (
            {"every": "day", "first": "2026-10-25T02:30", "until": "2026-10-26"},
            ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"],
        ),
        (  # a first bound with an offset is a moment; the later ones are at what clocks of the zone show then
            {"every": "week", "first": "2026-03-25T11:00:00Z", "until": "2026-04-01T10:00:00Z"},
            ["2026-03-25T12:00+01:00", "2026-04-01T12:00+02:00"],
        ),
    ],
)
def test_bounds_follow_the_clocks_of_the_zone(form: dict[str, object], bounds: list[str]) -> None:
    """If a month lacks the day, its last day is used; each bound is counted from the first one."""
    assert renewals({**PARIS, **form}) == tuple(map(ms, bounds))


ZONES = st.sampled_from(["Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"])


@given(
    zone=ZONES, day=st.dates(date(2020, 1, 1), date(2024, 12, 31)), days=st.integers(1, 900), hour=st.integers(0, 23)
)
def test_periods_begin_where_the_calendar_says(zone: str, day: date, days: int, hour: int) -> None:
    """They begin at local midnights after a time, on Mondays, firsts or New Year's Days, found by walking days."""
    clocks = ZoneInfo(zone)
    after = datetime(day.year, day.month, day.day, hour, tzinfo=UTC)
    last = day + timedelta(days=days)
    begins: dict[str, Callable[[date], bool]] = {
        "day": lambda _: True,
        "week": lambda each: each.weekday() == 0,
        "month": lambda each: each.day == 1,
        "year": lambda each: (each.month, each.day) == (1, 1),
    }
    for every, is_first in begins.items():
        walked = (day + timedelta(days=number - 1) for number in range(days + 2))
        wanted = [
            begun
            for each in walked
            if is_first(each)
            and (begun := datetime(each.year, each.month, each.day, tzinfo=clocks)).astimezone(UTC) > after
        ]
        form = {"every": every, "zone": zone, "until": last.isoformat()}
        if wanted:
            found = renewals(form, int(after.timestamp() * 1000))
            assert found == tuple(int(each.timestamp() * 1000) for each in wanted)
        else:
            with pytest.raises(WrongTimesError, match="no renewal"):
                renewals(form, int(after.timestamp() * 1000))


def test_at_most_a_thousand() -> None:
    """A thousand days are accepted; one more is refused with the remedy."""
    form = {"every": "day", "zone": "UTC", "first": "2026-01-01"}
    last = date(2026, 1, 1) + timedelta(days=MOST_RENEWALS - 1)
    assert len(renewals({**form, "until": last.isoformat()})) == MOST_RENEWALS
    with pytest.raises(WrongTimesError, match="until: found more than 1,000 renewals; renew less often"):
        renewals({**form, "until": (last + timedelta(days=1)).isoformat()})


def test_every_fault_is_told() -> None:
    """Each is reported with its member, what was found, and the remedy."""
    with pytest.raises(WrongTimesError) as raised:
        renewals({"every": "fortnight", "zone": "Paris", "first": "soon", "to": "2026"})
    assert [(wrong.member, wrong.found) for wrong in raised.value.wrongs] == [
        ("to", "an unknown member"),
        ("every", '"fortnight"'),
        ("zone", '"Paris"'),
        ("until", "nothing"),
        ("first", '"soon"'),
    ]
    with pytest.raises(WrongTimesError, match="first: found nothing; add the first bound"):
        renewals({"every": "day", "zone": "UTC", "until": "2026-01-01"})


def test_the_end_of_the_calendar_ends_them() -> None:
    """No bound is so late that a local time could leave the calendar, and nothing overflows."""
    found = renewals({"every": "year", "zone": "UTC", "first": "9998-12-30", "until": "9999-12-28"})
    assert found == (ms("9998-12-30T00:00+00:00"),)
    assert len(renewals({"every": "year", "zone": "UTC", "first": "9990-06-01", "until": "9999-12-28"})) == 10
