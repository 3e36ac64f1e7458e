"""Data of an evaluation: series of raw readings of one kind, declared kinds of values, packaged data.

The package ``bokeh_sampledata`` supplies one data set per kind of value. Glucose and ride are also used by the demo,
which names their origin. ``commits.txt.gz`` (public domain) holds the times of 4,916 commits of one GitHub user up to
April 2017; whether there was a commit in six hours stands in for the contacts of the source papers. Ranges are declared
without looking at the readings.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from functools import partial
from hashlib import blake2b
from itertools import islice
from typing import Any, NamedTuple

from stream_app.demo.data import GLUCOSE, HOUR_MS, RIDE, glucose, lines, ride
from stream_app.formats import wire
from stream_app.formats.records import Observation
from stream_app.privacy.values import Raw

SHARE_WRONG = "share wrong"  # unit of errors of categories, from 0 to 1

SLOT_MS = 6 * HOUR_MS
COMMITS = {"kind": "category", "categories": [False, True]}


class Reading(NamedTuple):
    """A raw value, as a plain tuple that can be sent to other processes. Its repr shows only the time."""

    timestamp_ms: int
    value: Raw

    def __repr__(self) -> str:
        # PRIVACY: nothing that prints a reading shows its value, not even a traceback.
        return f"Reading({self.timestamp_ms})"


@dataclass(frozen=True, slots=True)
class DataSet:
    """Series sorted by time, with at most one reading per step and every reading of the declared kind."""

    name: str
    unit: str  # unit of the errors
    epsilon: float
    step_ms: int
    value: Mapping[str, Any]  # the member ``value`` of a policy
    series: Mapping[str, Sequence[Reading]] = field(repr=False)

    @classmethod
    def of(cls, observations: Iterable[Observation], declared: "DataSet") -> "DataSet":
        """Return ``declared`` with these observations, sorted, keeping only the first of each step."""
        by_series: dict[str, dict[int, Reading]] = {}
        for one in sorted(observations, key=lambda one: one.timestamp_ms):
            steps = by_series.setdefault(one.series, {})
            steps.setdefault(one.timestamp_ms // declared.step_ms, Reading(one.timestamp_ms, one.value))
        return replace(declared, series={name: tuple(steps.values()) for name, steps in sorted(by_series.items())})

    def first(self, steps: int) -> "DataSet":
        """Return the first ``steps`` steps that have a reading, for every series."""
        return replace(self, series={name: tuple(islice(found, steps)) for name, found in self.series.items()})

    def __len__(self) -> int:
        return sum(len(found) for found in self.series.values())

    def stated(self) -> dict[str, Any]:
        """Return the declaration of the data set, as results contain it."""
        named = {"name": self.name, "unit": self.unit, "epsilon": self.epsilon}
        return {**named, "step": self.step_ms, "value": self.value}

    def digest(self) -> str:
        """Return a digest of the whole data set, including the raw values."""
        digest = blake2b(digest_size=16, person=b"evaluation-data")
        parts = [list(self.stated().values()), *([name, *map(tuple, found)] for name, found in self.series.items())]
        for part in parts:
            digest.update(wire.dump(part) + b"\n")
        return digest.hexdigest()


def commits() -> Iterator[tuple[int, bool]]:
    """Return, for each six-hour slot from the first commit on, whether it contains a commit."""
    times_ms = [int(parsedate_to_datetime(line.strip()).timestamp()) * 1000 for line in lines("commits.txt.gz")]
    found = {time_ms // SLOT_MS for time_ms in times_ms}
    return ((slot * SLOT_MS, slot in found) for slot in range(min(found), max(found) + 1))


def _set(declared: DataSet, readings: Callable[[], Iterator[tuple[int, Any]]], steps: int) -> DataSet:
    found = (Observation(declared.name, at_ms, Raw(value)) for at_ms, value in readings())
    return DataSet.of(found, declared).first(steps)


PACKAGED: Mapping[str, Callable[[int], DataSet]] = {
    "glucose": partial(_set, DataSet("glucose", "mg/dl", 1.0, 300_000, GLUCOSE, {}), glucose),
    "ride": partial(_set, DataSet("ride", "m", 10.0, 1_000, RIDE, {}), ride),
    "commits": partial(_set, DataSet("commits", SHARE_WRONG, 10.0, SLOT_MS, COMMITS, {}), commits),
}
"""The first steps of each set; a step is five minutes, one second or six hours."""
