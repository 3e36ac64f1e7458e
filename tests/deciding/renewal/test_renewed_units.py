"""Renewals of series whose steps contain units: future landmarks are units, and steps start at the offset."""

from typing import Any

import pytest

from stream_app.deciding.context import Context
from tests.deciding.renewal.renewing import ROOM, versions
from tests.run import KEYS, Run
from tests.units import landmarks, reading, units

TIMES = (0, 37, 46, 90, 96, 130, 150, 158, 200, 240, 300, 400)


def run_of(protection: dict[str, Any], bound: int, late: list[object] | None = None) -> Run:
    """Return a run of steps of 40 ms, with units of 2 ms, and landmarks that are registered after the first step."""
    record = units(epsilon=1, protection={"level": "landmark", **protection}, renew=[bound])
    registered = [] if late is None else [landmarks(*late)]
    readings = [reading(at, 1) for at in TIMES]
    return Run(Context(KEYS, limits=ROOM)).feed_all([record, *readings[:2], *registered, *readings[2:]])


def kept(run: Run) -> Any:
    """Return the landmarks of the version that renewed the first one."""
    _, second = run.entries("policy")
    return second["parameters"]["protection"].get("landmarks")


@pytest.mark.parametrize("offset", [0, 6, 38])
def test_landmark_units_to_come_stay_where_they_are(offset: int) -> None:
    """Both policy and registered landmarks stay; units are longer or shorter than what their index counts."""
    assert kept(run_of({"offset": offset, "landmarks": [[150, 156]]}, 50)) == [[150, 156]]
    assert kept(run_of({"offset": offset}, 50, [[150, 156]])) == [[150, 156]]
    assert kept(run_of({"offset": offset, "landmarks": [[200, 204]]}, 50, [150])) == [[150, 152], [200, 204]]


def test_landmark_units_that_passed_are_dropped() -> None:
    """No step is left out because of a unit in an earlier step."""
    run = run_of({"landmarks": [[6, 10]]}, 45)
    assert kept(run) is None
    assert [start for start, _ in versions(run)] == [0, 40, 80, 120, 200, 240, 280]


@pytest.mark.parametrize(("bound", "first"), [(6, None), (7, 46), (46, 46), (47, 86)])
def test_a_bound_lies_between_starts_on_the_offset(bound: int, first: int | None) -> None:
    """Steps begin at 6, 46 and 86; a bound at or before the first never separates two decided steps."""
    found = versions(run_of({"offset": 6}, bound))
    assert found[0] == (6, 1)
    assert next((start for start, version in found if version == 2), None) == first
