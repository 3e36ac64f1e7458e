"""The demo's input: real series from the package ``bokeh_sampledata``, each published in two ways.

Origin: ``CGM.csv.gz`` contains 52,281 readings from one person's continuous glucose monitor, given to the Bokeh project
as public-domain data; ``cycling.csv.gz`` is a recorded bicycle ride with GPS, one position per second (CC0-1.0). The
terms of both are in that package's licence files.

The landmarks, ranges and budgets below are made up for the demo and are not based on any reading. If they came from raw
values, they would leak those values.
"""

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib.resources import files
from itertools import pairwise
from typing import Any

from stream_app.formats import wire
from stream_app.privacy.policy import Policy, policy_of

MINUTE_MS = 60_000
HOUR_MS = 3_600_000
DAY_MS = 86_400_000
FIRST_MONDAY_MS = 4 * DAY_MS  # 5 January 1970: weeks start there and every seven days after it
STAY_MS = tuple(int(datetime(2010, 4, day, tzinfo=UTC).timestamp()) * 1000 for day in (20, 22))
"""Two invented days in hospital, set without looking at the readings."""
RIDE_START_MS = 1_600_000_000_000  # ride data has only elapsed time
DEGREES_PER_SEMICIRCLE = 180 / 2**31  # the unit of positions in FIT files

GLUCOSE = {"kind": "number", "lower": 40, "upper": 400, "resolution": 1}
RIDE = {
    "kind": "location",
    "radius": 200,
    "resolution": 1,
    "bounds": {"south": -11.8, "west": 166.8, "north": -11.5, "east": 167.1},
}
"""The declarations of values in the policies of the demo and of the experiments."""
Reading = tuple[int, float | dict[str, float]]  # a timestamp in milliseconds and a raw value


@dataclass(frozen=True)
class DemoSeries:
    """A series of the demo: what it publishes and under which policy, with readings sorted by time."""

    name: str
    unit: str
    policy: dict[str, Any]
    readings: tuple[Reading, ...]

    @cached_property
    def ruling(self) -> Policy:
        """Return the policy as the worker reads it."""
        return policy_of(self.policy, 1)

    @property
    def weekly(self) -> bool:
        """Return whether each release is a statistic of many readings."""
        return self.ruling.units is not None

    def events(self) -> Iterator[bytes]:
        """Yield the policy, then every observation, as event records; for units, a watermark closes the last step."""
        yield wire.dump({"type": "policy", "series": self.name, "version": 1, **self.policy})
        for timestamp_ms, value in self.readings:
            yield wire.dump({"type": "observation", "series": self.name, "timestamp": timestamp_ms, "value": value})
        if self.weekly:
            end_ms = self.ruling.start_of(self.ruling.index_of(self.readings[-1][0]) + 1)
            yield wire.dump({"type": "watermark", "series": self.name, "timestamp": end_ms})

    def repeats(self) -> int:
        """Return how many readings have the same time as the previous reading; steps with units reject them."""
        return sum(one[0] == after[0] for one, after in pairwise(self.readings))

    def answers(self) -> int:
        """Return how many records answer the events: one for each reading, or one for each step of units.

        Readings that a step of units rejects are also answered. Each step has a reading outside the landmarks.
        """
        if not self.weekly:
            return len(self.readings)
        return len({self.ruling.index_of(timestamp_ms) for timestamp_ms, _ in self.readings}) + self.repeats()


def demo_series() -> tuple[DemoSeries, ...]:
    """Return glucose as weekly means and as single readings, and the ride under Adaptive and Balanced.

    The two ways of publishing the same readings have the same epsilon.
    """
    sugar, positions = tuple(glucose()), tuple(ride())
    stay = {"level": "landmark", "landmarks": [list(STAY_MS)]}
    start = {"level": "landmark", "landmarks": [[RIDE_START_MS, RIDE_START_MS + MINUTE_MS]]}
    balanced, adaptive = {"name": "balanced"}, {"name": "adaptive"}
    weeks = {"unit": HOUR_MS, "step": 7 * DAY_MS, "offset": FIRST_MONDAY_MS, "open_steps": 1, "within": "mean"}
    mean = {**GLUCOSE, "statistic": "mean"}
    one_by_one = {"epsilon": 1.0, "protection": {**stay, "step": 5 * MINUTE_MS}, "scheme": balanced, "value": GLUCOSE}
    weekly = {"epsilon": 1.0, "protection": {**stay, **weeks}, "scheme": {"name": "uniform"}, "value": mean}
    moving = {"epsilon": 10.0, "protection": {**start, "step": 1_000}, "value": RIDE}
    return (
        DemoSeries("glucose-weekly", "mg/dl", weekly, sugar),
        DemoSeries("glucose-balanced", "mg/dl", one_by_one, sugar),
        DemoSeries("ride-adaptive", "m", {**moving, "scheme": adaptive}, positions),
        DemoSeries("ride-balanced", "m", {**moving, "scheme": balanced}, positions),
    )


def glucose() -> Iterator[Reading]:
    """Yield the glucose readings, in mg/dl."""
    for row in _rows("CGM.csv.gz"):
        moment = datetime.fromisoformat(row["datetime"]).replace(tzinfo=UTC)
        yield int(moment.timestamp()) * 1000, float(row["glucose"])


def ride() -> Iterator[Reading]:
    """Yield the positions of the ride, in degrees."""
    for second, row in enumerate(_rows("cycling.csv.gz")):
        latitude = round(float(row["position_lat"]) * DEGREES_PER_SEMICIRCLE, 7)
        longitude = round(float(row["position_long"]) * DEGREES_PER_SEMICIRCLE, 7)
        yield RIDE_START_MS + second * 1000, {"latitude": latitude, "longitude": longitude}


def lines(name: str) -> Iterator[str]:
    """Yield the lines of a data file, found by its path, because importing the package's modules would load pandas."""
    path = files("bokeh_sampledata") / "_data" / name
    with path.open("rb") as packed, gzip.open(packed, "rt", newline="") as found:
        yield from found


def _rows(name: str) -> Iterator[dict[str, str]]:
    yield from csv.DictReader(lines(name))
