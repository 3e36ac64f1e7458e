"""``correlate``: create transition matrices from a data file or, without data, with a given strength."""

import argparse
import os
import sys
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Literal, assert_never

import numpy as np

from stream_app.cli import UsageError, mendable
from stream_app.cli.shared.arguments import writable
from stream_app.cli.shared.eventfile import EventFile, add_mapping
from stream_app.cli.shared.terminal import tracked
from stream_app.files import whole
from stream_app.formats import records, wire
from stream_app.formats.records import Observation
from stream_app.loss.correlation import (
    Correlation,
    CorrelationError,
    States,
    Strength,
    by_cells,
    by_grid,
    by_quantiles,
    by_values,
    counted,
    estimated,
)
from stream_app.loss.matrix import MOST_STATES, MatrixError, matrix_document
from stream_app.privacy.values import is_number

STATES = 10
CELL_METRES = 1_000.0
LEAST_CELL_METRES = 0.001
LONGEST_STEP_MS = 2**63 - 1
DATA_OPTIONS = {"by": "quantiles", "cell": CELL_METRES, "key": None, "step": None, "smoothing": 0.0}
"""Options for reading data, with their defaults; without data, these options are refused, not ignored."""
WARNING = (
    "the matrices are exact statistics of the values in the file, without noise: they reveal information about the "
    "people in it. Protect the matrices like the data, learn from public data, or use --strength"
)
Sort = Literal["number", "location", "category"]
"""Types of values from which states are made; counts are reduced to the number for one key."""


@dataclass(slots=True)
class SortedValues:
    """Values of a single type, in file order; the repr omits the values."""

    sort: Sort | None = None
    series: "array[int]" = field(default_factory=lambda: array("q"), repr=False)
    """The series number of each value; series are numbered in order of first appearance."""
    timestamps_ms: "array[int]" = field(default_factory=lambda: array("q"), repr=False)
    numbers: "array[float]" = field(default_factory=lambda: array("d"), repr=False)
    """Numbers, or alternating latitudes and longitudes."""
    categories: list[str | bool] = field(default_factory=list, repr=False)
    names: dict[str, int] = field(default_factory=dict, repr=False)
    left_out: int = 0  # events whose value is missing or of another type than the first

    @classmethod
    def of(cls, events: Iterable[bytes], key: str | None) -> "SortedValues":
        """Return the values of the events; for counts, the value of ``key``.

        Raises `UsageError` if there is no value at all.
        """
        readings = cls()
        for event in events:
            record = wire.decode(event)
            if isinstance(record, Observation):
                readings._add(record, key)
            elif isinstance(record, records.MalformedRecord):
                readings.left_out += 1
        if readings.sort is None:
            remedy = "use numbers, categories, locations, or counts with --key"
            raise UsageError(f"none of {readings.left_out} events has a value that could be a state; {remedy}")
        return readings

    def _add(self, record: Observation, key: str | None) -> None:
        sort, value = _value(record.value, key) or (None, None)
        if sort is None or self.sort not in (None, sort):
            self.left_out += 1
            return
        self.sort = sort
        self.series.append(self.names.setdefault(record.series, len(self.names)))
        self.timestamps_ms.append(record.timestamp_ms)
        if isinstance(value, tuple):
            self.numbers.extend(value)
        elif isinstance(value, float):
            self.numbers.append(value)
        elif value is not None:
            self.categories.append(value)


Value = float | tuple[float, float] | str | bool  # a number, latitude and longitude, or a category


def _value(raw: object, key: str | None) -> tuple[Sort, Value] | None:
    """Return the type and the value of a possible state, or None if ``raw`` cannot be a state."""
    if isinstance(raw, dict):
        if raw.keys() == {"latitude", "longitude"}:
            north, east = _finite(raw["latitude"]), _finite(raw["longitude"])
            if north is None or east is None or abs(north) > 90 or abs(east) > 180:
                return None
            return "location", (north, east)
        if key is None:
            # PRIVACY: the keys are not shown; the publisher's policy names them.
            raise UsageError(
                "counts have one state per key: specify a key with --key, and correlate each key separately"
            )
        raw = raw.get(key)
    if isinstance(raw, str | bool):
        return "category", raw
    number = _finite(raw)
    return None if number is None else ("number", number)


def _finite(raw: object) -> float | None:
    return float(raw) if is_number(raw) and isfinite(raw) else None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        "A matrix learned from private data is itself sensitive: it is a statistic without noise. Learn it from "
        "public data, protect it like the data, or use a strength instead, which needs no data:\n"
        "  landmark-stream correlate --strength 0.5 --states 10 --out household.json\n"
        "Measures of a correlation's strength:\n"
        "  distance          largest total variation distance between two rows: 0 independent, 1 two rows share no "
        "state\n"
        "  carried_of_one    the part of a loss of 1 that remains one timestamp later\n"
        "  most_carried      the limit of the remaining loss as losses grow; null: there is no limit\n"
        "  unbounded_from    the smallest epsilon that, spent at every timestamp, makes the loss grow without limit; "
        "null: none does"
    )
    add_mapping(parser, needed=False)
    parser.add_argument(
        "--strength",
        type=float,
        metavar="S",
        help=("without FILE: a value stays the same with probability S (0..1) and is any value otherwise"),
    )
    parser.add_argument("--states", type=int, default=STATES, help=f"number of states for numbers (default: {STATES})")
    by_help = "how to divide numbers into states (default: quantiles)"
    parser.add_argument("--by", choices=("quantiles", "grid"), default="quantiles", help=by_help)
    cell_help = f"locations: side of a cell (default: {CELL_METRES:g})"
    parser.add_argument("--cell", type=float, default=CELL_METRES, metavar="METRES", help=cell_help)
    parser.add_argument("--key", help="counts: the key whose count is the state")
    step_help = "the policy's step: count only transitions between adjacent steps (default: between any two)"
    parser.add_argument("--step", type=int, metavar="MS", help=step_help)
    smoothing_help = "Laplacian: (p + S) / sum(p + S) (default: 0)"
    parser.add_argument("--smoothing", type=float, default=0.0, metavar="S", help=smoothing_help)
    parser.add_argument("--out", type=Path, metavar="OUT", help="file for the correlation, written with mode 0600")
    parser.add_argument("--json", action="store_true", help="print the correlation file instead of a report")


def run(arguments: argparse.Namespace) -> int:
    """Create matrices and report their strength; raise `UsageError` if the data yield no matrices."""
    if (arguments.strength is None) == (arguments.file is None):
        raise UsageError("specify either a FILE of data, or --strength")
    with mendable(CorrelationError, MatrixError):
        correlation, origin = _given(arguments) if arguments.file is None else _learned(arguments)
    adversary = correlation.adversary()
    directions = ("backward", "forward")
    strength = {name: Strength.of(getattr(adversary, name))._asdict() for name in directions}
    matrices = {name: getattr(correlation, name) for name in directions}
    written = {name: None if matrix is None else matrix_document(matrix) for name, matrix in matrices.items()}
    document = wire.dump({**written, "origin": origin, "strength": strength})
    if arguments.out is not None:
        _write(arguments.out, document)
    if arguments.json:
        print(document.decode())
    else:
        print("\n".join(_lines(origin, strength)))
    if arguments.file is not None:
        print(f"landmark-stream correlate: {WARNING}", file=sys.stderr)
    return 0


def _given(arguments: argparse.Namespace) -> tuple[Correlation, dict[str, Any]]:
    for option, default in DATA_OPTIONS.items():
        found = getattr(arguments, option)
        if found != default:
            raise UsageError(f"--{option}: found {found}, but it is only for a FILE of data; omit it with --strength")
    correlation = Correlation.of_strength(arguments.states, arguments.strength)
    return correlation, {"from": "strength", "states": arguments.states, "strength": arguments.strength}


def _learned(arguments: argparse.Namespace) -> tuple[Correlation, dict[str, Any]]:
    if arguments.step is not None and not 1 <= arguments.step <= LONGEST_STEP_MS:
        raise UsageError(f"--step: found {arguments.step}; use 1 to {LONGEST_STEP_MS}")
    file = EventFile(arguments)
    readings = SortedValues.of(tracked(file, "correlate", file.far), arguments.key)
    by, states = _states(arguments, readings)
    # PRIVACY: exact statistics of raw values leave the program here, outside every guarantee. `WARNING` and `--help`
    # say so, only the owner may read the file, and `--strength` reads no data.
    series, timestamps = np.array(readings.series), np.array(readings.timestamps_ms)
    counts = counted(series, timestamps, states, arguments.step)
    return estimated(counts, arguments.smoothing), {
        "from": "data",
        "states": len(counts),
        "by": by,
        "step": arguments.step,
        "smoothing": arguments.smoothing,
        "series": len(readings.names),
        "values": len(readings.series),
        "transitions": int(counts.sum()),
        "left_out": readings.left_out,
    }


def _states(arguments: argparse.Namespace, readings: SortedValues) -> tuple[str, States]:
    numbers = np.array(readings.numbers)
    match readings.sort:
        case "location":
            if not arguments.cell >= LEAST_CELL_METRES or not np.isfinite(arguments.cell):
                raise UsageError(f"--cell: found {arguments.cell}; use at least {LEAST_CELL_METRES:g} metres")
            return "cells", by_cells(numbers[::2], numbers[1::2], arguments.cell)
        case "category" | None:
            return "categories", by_values(readings.categories)
        case "number":
            if not 2 <= arguments.states <= MOST_STATES:
                raise UsageError(f"--states: found {arguments.states}; use 2 to {MOST_STATES}")
            found = by_quantiles if arguments.by == "quantiles" else by_grid
            return arguments.by, found(numbers, arguments.states)
        case _:
            assert_never(readings.sort)


def _write(path: Path, document: bytes) -> None:
    with writable(f"--out {path}"), whole(path) as beside, beside.open("wb") as file:
        os.fchmod(file.fileno(), 0o600)  # before anything is written
        file.write(document + b"\n")


def _lines(origin: dict[str, Any], strength: dict[str, dict[str, Any]]) -> list[str]:
    if origin["from"] == "data":
        counted_in = f"{origin['transitions']:,} transitions of {origin['series']:,} series"
        lines = [f"{origin['states']} states by {origin['by']}, {counted_in}; {origin['left_out']:,} events left out"]
    else:
        lines = [f"{origin['states']} states of strength {origin['strength']:g}"]
    for direction, found in strength.items():
        most, unbounded = found["most_carried"], found["unbounded_from"]
        limit = "no limit" if most is None else f"at most {most:.4g}"
        constant = f"{unbounded:.4g}" if unbounded else "any epsilon"
        growth = (
            "" if unbounded is None else (f"; spending {constant} at every timestamp makes the loss grow without bound")
        )
        lines.append(
            f"{direction}: {found['carried_of_one']:.4g} of a loss of 1 remains one timestamp later ({limit} for any "
            f"loss){growth}; two rows differ by up to {found['distance']:.4g}"
        )
    return lines
