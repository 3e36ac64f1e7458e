"""The raw values of a file of events as columns, for `correlate`."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal, NamedTuple

from stream_app.cli import UsageError
from stream_app.formats import records, wire
from stream_app.formats.records import Observation
from stream_app.privacy.values import is_number

Sort = Literal["number", "location", "category"]


class Value(NamedTuple):
    """A value that has a state: its sort, and the number, both degrees, or the category."""

    sort: Sort
    found: float | tuple[float, float] | str | bool


@dataclass(slots=True)
class Readings:
    """Values of one sort, in the order of the file; its repr shows none."""

    sort: Sort | None = None
    series: "array[int]" = field(default_factory=lambda: array("q"), repr=False)
    """Number of the series, in the order of appearance."""
    timestamps_ms: "array[int]" = field(default_factory=lambda: array("q"), repr=False)
    numbers: "array[float]" = field(default_factory=lambda: array("d"), repr=False)
    """Numbers, or latitude and longitude in turn."""
    categories: list[str | bool] = field(default_factory=list, repr=False)
    names: dict[str, int] = field(default_factory=dict, repr=False)
    left_out: int = 0
    """Events without a value of the sort that the first one has."""

    @classmethod
    def of(cls, events: Iterable[bytes], key: str | None) -> "Readings":
        """Return the values of events; of counts that of ``key``. Records that are no observations do not matter.

        Raises:
            UsageError: for counts without a key, and when there is no value at all.
        """
        readings = cls()
        for event in events:
            record = wire.decode(event)
            if isinstance(record, Observation):
                readings._add(record, key)
            elif isinstance(record, records.Malformed):
                readings.left_out += 1
        if readings.sort is None:
            remedy = "give numbers, categories, locations, or counts with --key"
            raise UsageError(f"no value that could be a state in {readings.left_out} events; {remedy}")
        return readings

    def _add(self, record: Observation, key: str | None) -> None:
        value = _value(record.value, key)
        if value is None or self.sort not in (None, value.sort):
            self.left_out += 1
            return
        self.sort = value.sort
        self.series.append(self.names.setdefault(record.series, len(self.names)))
        self.timestamps_ms.append(record.timestamp_ms)
        if isinstance(value.found, tuple):
            self.numbers.extend(value.found)
        elif isinstance(value.found, float):
            self.numbers.append(value.found)
        else:
            self.categories.append(value.found)


def _value(raw: object, key: str | None) -> Value | None:
    if isinstance(raw, dict):
        if raw.keys() == {"latitude", "longitude"}:
            north, east = _finite(raw["latitude"]), _finite(raw["longitude"])
            if north is None or east is None or abs(north) > 90 or abs(east) > 180:
                return None
            return Value("location", (north, east))
        if key is None:
            # PRIVACY: the keys are not shown; the publisher's policy names them.
            raise UsageError("counts have a state for each key: name one with --key, and correlate each by itself")
        raw = raw.get(key)
    if isinstance(raw, str | bool):
        return Value("category", raw)
    number = _finite(raw)
    return None if number is None else Value("number", number)


def _finite(raw: object) -> float | None:
    return float(raw) if is_number(raw) and isfinite(raw) else None
