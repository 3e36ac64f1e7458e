"""Releases of Landmark Stream as typed values. Needs only Python 3.11.

Unknown members are ignored. A release with an unknown decision or kind of value becomes `Unknown`: you may count and
show such releases, but do not use any number from them.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MS = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Location:
    """A published position in degrees."""

    latitude: float
    longitude: float


@dataclass(frozen=True, slots=True)
class Vector:
    """Numbers by name: the parts of a vector, or the sum and count of a mean."""

    parts: dict[str, float]


Value = float | dict[str, int] | Location | Vector | str | bool
"""By the policy's kind: a number, counts by key, a location, a vector, or a category (a text or a boolean)."""


@dataclass(frozen=True, slots=True)
class Perturbed:
    """A fresh measurement, paid for with budget."""

    series: str
    timestamp: datetime  # start of the step, UTC
    policy: int
    value: Value  # the estimate: what to use
    measurement: Value  # the mechanism's own output; unbiased for numbers and counts
    scale: float | Vector  # of the noise: the value's unit, by part; items; metres; categories: 1 / epsilon
    epsilon_nano: int  # what it cost
    statistic: str | None = None  # of contributors' numbers or of units: sum, mean, share or histogram
    count: int | dict[str, int] | None = None  # how many items or units it is of, where that is public; by local time


@dataclass(frozen=True, slots=True)
class Approximated:
    """A repetition of an earlier step's estimate, without new information."""

    series: str
    timestamp: datetime
    policy: int
    value: Value
    source: datetime  # the step that the value is of


@dataclass(frozen=True, slots=True)
class Withheld:
    """A step that had an event; nothing more is said."""

    series: str
    timestamp: datetime
    policy: int


@dataclass(frozen=True, slots=True)
class Unknown:
    """A decision or kind of value that is newer than this file."""

    series: str
    timestamp: datetime
    decision: str


Release = Perturbed | Approximated | Withheld | Unknown


def parse(record: bytes) -> Release:
    """Return the release in a record's value. Raises ValueError or KeyError if the value is not a release."""
    found: dict[str, Any] = json.loads(record)
    series, timestamp, decision = found["series"], _time(found["timestamp"]), found["decision"]
    value, measurement = (_value(_bins(found, name)) for name in ("value", "measurement"))
    if decision == "perturbed" and value is not None and measurement is not None:
        scale = _value(found["scale"])
        if not isinstance(scale, (float, Vector)):
            raise ValueError("a scale is a number, or numbers by name")
        of, number = found.get("statistic"), found.get("count")
        paid = int(found["epsilon_nano"])
        return Perturbed(series, timestamp, found["policy"], value, measurement, scale, paid, of, number)
    if decision == "approximated" and value is not None:
        return Approximated(series, timestamp, found["policy"], value, _time(found["source"]))
    if decision == "withheld":
        return Withheld(series, timestamp, found["policy"])
    return Unknown(series, timestamp, decision)


def _time(milliseconds: int) -> datetime:
    return EPOCH + milliseconds * MS  # exact; datetime.fromtimestamp goes through a float


def _bins(found: dict[str, Any], name: str) -> Any:
    """Return a member; for a histogram of numbers, its bins by position, from 0 on."""
    member = found.get(name)
    if found.get("statistic") == "histogram" and isinstance(member, list):
        return {str(place): number for place, number in enumerate(member)}
    return member


def _value(found: Any) -> Value | None:
    """Return a value of a known kind, otherwise None."""
    if isinstance(found, (bool, str)):
        return found
    if isinstance(found, (int, float)):
        return float(found)
    if isinstance(found, dict):
        if all(type(items) is int for items in found.values()):
            return found
        if {"latitude", "longitude"} <= found.keys():
            return Location(found["latitude"], found["longitude"])
        if all(type(number) in {int, float} for number in found.values()):
            return Vector({name: float(number) for name, number in found.items()})
    return None
