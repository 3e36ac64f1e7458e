"""Milliseconds in words, and back."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.calendar.words import (
    DAY_MS,
    UNITS,
    days_cut,
    duration_in_words,
    length_ms,
    moment_as_seconds,
    moment_in_words,
    step_as_seconds,
)
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS


@given(st.integers(0, LAST_TIMESTAMP_MS))
def test_a_moment_is_read_back(moment_ms: int) -> None:
    """Python's own ISO 8601 reader returns the same moment, to the millisecond."""
    elapsed = datetime.fromisoformat(moment_in_words(moment_ms)) - datetime.fromisoformat("1970-01-01T00:00Z")
    assert (elapsed.days * 86_400 + elapsed.seconds) * 1000 + elapsed.microseconds // 1000 == moment_ms


@given(st.integers(0, LAST_TIMESTAMP_MS))
def test_a_duration_is_read_back(duration_ms: int) -> None:
    """The sum of its parts."""
    words = duration_in_words(duration_ms).replace(",", "").split()
    units = dict(UNITS)
    assert sum(int(count) * units[unit] for count, unit in zip(words[::2], words[1::2], strict=True)) == duration_ms


def test_they_are_short() -> None:
    """Units without information are omitted; if a zone is named, its clocks are used."""
    assert moment_in_words(1338534000000) == "2012-06-01T07:00Z"
    assert moment_in_words(1338534000001) == "2012-06-01T07:00:00.001Z"
    assert moment_in_words(1338534005000, ZoneInfo("Europe/Paris")) == "2012-06-01T09:00:05+02:00"
    assert moment_in_words(LAST_TIMESTAMP_MS, ZoneInfo("Asia/Tokyo")) == "9999-12-31T23:59:59.999Z"
    assert duration_in_words(0) == "0 ms"
    assert duration_in_words(5_430_000) == "1 h 30 min 30 s"
    assert duration_in_words(86_400_000 * 1000) == "1,000 d"


@pytest.mark.parametrize("seconds", [60, 300, 900, 3600, 86_400, 604_800])
def test_what_looks_like_seconds(seconds: int) -> None:
    """Common steps in seconds do, unless they are whole seconds as milliseconds too; in milliseconds none do."""
    assert bool(step_as_seconds(seconds)) == bool(seconds % 1000)
    assert not step_as_seconds(seconds * 1000)


def test_what_is_said_of_seconds() -> None:
    """It says what the number is, and how to write what may have been meant."""
    said = "3600 looks like seconds: in milliseconds it is 3 s 600 ms; for 1 h, use 3600000"
    assert step_as_seconds(3600) == said
    assert not any(map(step_as_seconds, (1, 5, 10, 40, 100, 250, 500, 1000, 30_000)))
    said = "1338534000 looks like seconds: in milliseconds it is 1970-01-16T11:48:54Z; for 2012-06-01T07:00Z, use "
    assert moment_as_seconds(1338534000) == said + "1338534000000"
    assert not any(map(moment_as_seconds, (0, 5, 36_000_000, 1338534000000, LAST_TIMESTAMP_MS)))


BERLIN = ZoneInfo("Europe/Berlin")
WINTER_MS, SUMMER_MS, HOUR_MS = 1_773_964_800_000, 1_783_814_400_000, 3_600_000
"""2026-03-20 and 2026-07-12, both at 00:00 UTC."""


@pytest.mark.parametrize(
    ("start_ms", "zone", "days", "offset_ms", "said"),
    [
        (
            WINTER_MS,
            BERLIN,
            1,
            0,
            'start at 01:00 in Europe/Berlin, so they are not calendar days there; with "offset":"23h"',
        ),
        (
            SUMMER_MS,
            BERLIN,
            1,
            0,
            'start at 02:00 in Europe/Berlin, so they are not calendar days there; with "offset":"22h"',
        ),
        (WINTER_MS, BERLIN, 7, 4 * DAY_MS, '"offset":"95h"'),
        (
            WINTER_MS,
            ZoneInfo("Asia/Kolkata"),
            1,
            0,
            'start at 05:30 in Asia/Kolkata, so they are not calendar days there; with "off',
        ),
        (
            WINTER_MS,
            BERLIN,
            1,
            None,
            "steps of 1 d start at 01:00 in Europe/Berlin, so they are not calendar days there",
        ),
    ],
)
def test_steps_of_days_that_are_not_those_of_the_zone(
    start_ms: int, zone: tzinfo, days: int, offset_ms: int | None, said: str
) -> None:
    """The message names the offset that would make them so, which is right at that moment."""
    found = days_cut(days * DAY_MS, start_ms, zone, offset_ms)
    assert said in found
    assert ("offset" in found) == (offset_ms is not None)
    if offset_ms is not None:
        wanted = length_ms(found.split('"')[3])
        assert wanted is not None
        moved_ms = start_ms - offset_ms + wanted
        assert not days_cut(days * DAY_MS, moved_ms - days * DAY_MS, zone, wanted)


def test_other_steps_are_nobodys_days() -> None:
    """These are hours, and days that start at midnight there."""
    assert not days_cut(HOUR_MS, WINTER_MS, BERLIN, 0)
    assert not days_cut(DAY_MS, WINTER_MS, UTC, 0)
    assert not days_cut(DAY_MS, WINTER_MS - HOUR_MS, BERLIN, 23 * HOUR_MS)


def test_days_that_start_at_midnight_in_one_season() -> None:
    """No offset follows the clocks, so a warning about one season's days is not given in the other."""
    assert not days_cut(DAY_MS, SUMMER_MS - HOUR_MS, BERLIN, 23 * HOUR_MS)
    assert not days_cut(DAY_MS, WINTER_MS - 2 * HOUR_MS, BERLIN, 22 * HOUR_MS)
