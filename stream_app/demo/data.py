"""The demo's input: real series that the package ``bokeh_sampledata`` brings, each under two schemes.

Origin: ``CGM.csv.gz`` is 52,281 readings of one person's continuous glucose monitor, given to the Bokeh project as
public-domain data; ``cycling.csv.gz`` is a recorded bicycle ride with GPS, one position a second (CC0-1.0). The
terms of both stand in that package's licence files.

Landmarks, ranges and budgets below are made up for the demo and use no reading: taken from raw values they would leak.
"""

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from stream_app.formats import wire

HOUR_MS = 3_600_000
RIDE_START_MS = 1_600_000_000_000  # the ride carries elapsed time only
DEGREES_PER_SEMICIRCLE = 180 / 2**31  # the unit of positions in FIT files

Reading = tuple[int, float | dict[str, float]]  # a timestamp in milliseconds and a raw value


@dataclass(frozen=True, slots=True)
class DemoSeries:
    """A series of the demo: what it publishes and under which policy; readings come in time order."""

    name: str
    unit: str
    policy: dict[str, Any]
    readings: tuple[Reading, ...]

    @property
    def step_ms(self) -> int:
        """Return the length of a step."""
        return int(self.policy["protection"]["step"])

    def events(self) -> Iterator[bytes]:
        """Yield the policy, then every observation, as event records."""
        yield wire.dump({"type": "policy", "series": self.name, "version": 1, **self.policy})
        for timestamp_ms, value in self.readings:
            yield wire.dump({"type": "observation", "series": self.name, "timestamp": timestamp_ms, "value": value})


def demo_series() -> tuple[DemoSeries, ...]:
    """Return both data sets, each under Adaptive and under Balanced at the same epsilon."""
    readings = tuple(glucose()), tuple(ride())
    appointment = int(datetime(2010, 5, 12, 9, tzinfo=UTC).timestamp()) * 1000
    glucose_policy = {
        "epsilon": 1.0,
        "protection": {"level": "landmark", "landmarks": [[appointment, appointment + HOUR_MS]], "step": 300_000},
        "value": {"kind": "number", "lower": 40, "upper": 400, "resolution": 1},
    }
    ride_policy = {
        "epsilon": 10.0,
        "protection": {"level": "landmark", "landmarks": [[RIDE_START_MS, RIDE_START_MS + 60_000]], "step": 1_000},
        "value": {
            "kind": "location",
            "radius": 200,
            "resolution": 1,
            "bounds": {"south": -11.8, "west": 166.8, "north": -11.5, "east": 167.1},
        },
    }
    return tuple(
        DemoSeries(f"{name}-{scheme}", unit, {**policy, "scheme": {"name": scheme}}, readings)
        for name, unit, policy, readings in (
            ("glucose", "mg/dl", glucose_policy, readings[0]),
            ("ride", "m", ride_policy, readings[1]),
        )
        for scheme in ("adaptive", "balanced")
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
    """Yield the lines of a data file by its place: importing the package's modules would load pandas."""
    path = files("bokeh_sampledata") / "_data" / name
    with path.open("rb") as packed, gzip.open(packed, "rt", newline="") as found:
        yield from found


def _rows(name: str) -> Iterator[dict[str, str]]:
    yield from csv.DictReader(lines(name))
