"""Transitions give a zone's clock offsets, as `zoneinfo` does, and policies get them from their zone."""

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from stream_app.calendar.localtime import YEARS, transitions
from stream_app.calendar.policy import in_integers
from tests.calendar.test_policy import PARAMETERS, ms, no_file

ZONES = ["Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca", "UTC"]


@pytest.mark.parametrize("zone", ZONES)
def test_offsets_are_those_of_zoneinfo(zone: str) -> None:
    """At random moments of the years, and within a millisecond of each change, the offset equals zoneinfo's."""
    clocks, first = ZoneInfo(zone), ms("2015-05-05T00:00Z")
    found = transitions(clocks, first)
    assert [moment for moment, _ in found] == sorted({moment for moment, _ in found})
    assert all(one[1] != other[1] for one, other in pairwise(found))
    rng = np.random.default_rng(1)
    moments = list(map(int, rng.integers(first, ms("2035-05-04T00:00Z"), 2_000)))
    moments += [moment + by for moment, _ in found[1:] for by in (-1, 0, 1)]
    for moment in moments:
        offset = found[max(0, bisect_right(found, (moment, 10**9)) - 1)][1]
        local = datetime.fromtimestamp(moment // 1000, UTC).astimezone(clocks)
        assert timedelta(milliseconds=offset) == local.utcoffset()


def test_twenty_years_of_paris() -> None:
    """There are two changes a year, and the first entry is at the given day."""
    found = transitions(ZoneInfo("Europe/Paris"), ms("2026-01-01T00:00+01:00"))
    assert len(found) == 1 + 2 * YEARS
    assert found[0] == (ms("2026-01-01T00:00+01:00"), 3_600_000)
    assert found[1] == (ms("2026-03-29T01:00Z"), 7_200_000)


def record(protection: Any = None, **value: Any) -> dict[str, Any]:
    """Return a policy record for a statistic by hour."""
    number = {**PARAMETERS["value"], "statistic": "mean", "by": "hour", **value}
    return {"series": "a", **PARAMETERS, "protection": {"level": "event", **(protection or {})}, "value": number}


def test_a_policy_gets_the_transitions_of_its_zone() -> None:
    """They begin at the moment known to the tool, or on a given day; integers and UTC stay unchanged."""
    paris = {"zone": "Europe/Paris"}
    after = ms("2026-05-01T00:00Z")
    found, wrongs = in_integers(record(paris), no_file, after)
    assert not wrongs
    assert "zone" not in found["protection"]
    assert found["value"]["transitions"][:2] == [[after, 7_200_000], [ms("2026-10-25T01:00Z"), 3_600_000]]
    named, wrongs = in_integers(record(paris, transitions={"first": "2010-01-01"}), no_file)
    assert not wrongs
    assert named["value"]["transitions"][0] == [ms("2010-01-01T00:00+01:00"), 3_600_000]
    alone, wrongs = in_integers(record(transitions={"first": "2010-01-01", "zone": "Europe/Paris"}), no_file)
    assert (alone["value"], wrongs) == (named["value"], [])
    for kept in (record(), record(transitions=[[0, 3_600_000]])):
        assert in_integers(kept, no_file, after) == (kept, [])
    for known in ((), (after,)):  # UTC needs no first day
        utc, wrongs = in_integers(record({"zone": "UTC"}), no_file, *known)
        assert (utc["value"], wrongs) == (record()["value"], [])
    without = {**record(paris), "value": PARAMETERS["value"]}
    assert in_integers(without, no_file)[0]["value"] == PARAMETERS["value"]


@pytest.mark.parametrize(
    ("protection", "transitions_form", "members"),
    [
        ({"zone": "Europe/Paris"}, None, ["value.transitions"]),
        ({"zone": "Europe/Paris"}, {}, ["value.transitions"]),
        ({}, {"first": "2026-01-01"}, ["value.transitions.zone"]),
        ({}, {"first": "soon", "zone": "Mars"}, ["value.transitions.zone", "value.transitions.first"]),
        ({}, {"years": 3, "zone": "UTC", "first": "2026-01-01"}, ["value.transitions.years"]),
        ({}, "Europe/Paris", ["value.transitions"]),
    ],
)
def test_what_is_wrong_is_told_by_its_member(protection: Any, transitions_form: Any, members: list[str]) -> None:
    """No clock decides where transitions begin; errors name unknown zones, days and members."""
    value = {} if transitions_form is None else {"transitions": transitions_form}
    assert [wrong.member for wrong in in_integers(record(protection, **value), no_file)[1]] == members
