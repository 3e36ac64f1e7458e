"""The data that the package ``bokeh_sampledata`` brings, one set a kind of value.

Glucose and ride are those of the demo, whose origin stands there. ``commits.txt.gz`` (public domain) holds the times of
4,916 commits of one GitHub user up to April 2017: whether there was one in six hours stands in for the contacts of the
source papers. Ranges are declared without a look at the readings.
"""

from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from stream_app.demo.data import HOUR_MS, glucose, lines, ride
from stream_app.evaluation.dataset import SHARE_WRONG, DataSet
from stream_app.formats.records import Observation
from stream_app.privacy.values import Raw

SLOT_MS = 6 * HOUR_MS
GLUCOSE = {"kind": "number", "lower": 40, "upper": 400, "resolution": 1}
RIDE = {
    "kind": "location",
    "radius": 200,
    "resolution": 1,
    "bounds": {"south": -11.8, "west": 166.8, "north": -11.5, "east": 167.1},
}
COMMITS = {"kind": "category", "categories": [False, True]}


def glucose_set(steps: int) -> DataSet:
    """Return the first glucose readings, one in five minutes."""
    return _set(DataSet("glucose", "mg/dl", 1.0, 300_000, GLUCOSE, {}), glucose(), steps)


def ride_set(steps: int) -> DataSet:
    """Return the first positions of the ride, one a second."""
    return _set(DataSet("ride", "m", 10.0, 1_000, RIDE, {}), ride(), steps)


def commits_set(steps: int) -> DataSet:
    """Return whether there was a commit, six hours after six hours from the first."""
    times_ms = [int(parsedate_to_datetime(line.strip()).timestamp()) * 1000 for line in lines("commits.txt.gz")]
    found = {time_ms // SLOT_MS for time_ms in times_ms}
    slots = ((slot * SLOT_MS, slot in found) for slot in range(min(found), max(found) + 1))
    return _set(DataSet("commits", SHARE_WRONG, 10.0, SLOT_MS, COMMITS, {}), slots, steps)


PACKAGED: Mapping[str, Callable[[int], DataSet]] = {
    "glucose": glucose_set,
    "ride": ride_set,
    "commits": commits_set,
}


def _set(declared: DataSet, readings: Iterator[tuple[int, Any]], steps: int) -> DataSet:
    found = (Observation(declared.name, at_ms, Raw(value)) for at_ms, value in readings)
    return DataSet.of(found, declared).first(steps)
