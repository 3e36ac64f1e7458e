"""Decode many observations at once, with the same results as `wire`, and encode columns as JSON."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
import orjson

from stream_app.formats.records import Records, Seen
from stream_app.formats.wire import parsed_all
from stream_app.privacy.values import number_of

Column = npt.NDArray[np.float64] | npt.NDArray[np.int64] | npt.NDArray[np.bool_]


class Observations(NamedTuple):
    """The observations among some records, in order, with one column per field."""

    at: list[int]  # their indices among the records
    series: Sequence[str]
    times_ms: Sequence[int]
    numbers: list[float]  # raw values; NaN if not a number
    apart: set[str]  # series that other records also name

    def __repr__(self) -> str:
        # PRIVACY: no printed form, including a traceback, shows a value.
        return f"<{len(self.at)} observations>"


def observations(
    records: Records, key_of: Callable[[str], bytes] | None, collected: frozenset[bytes] = frozenset()
) -> Observations:
    """Return the observations whose key is ``key_of(series)``; without ``key_of``, keys are not checked.

    Other records are omitted, and so are those that would be refused in any state of their series. If most records have
    keys of ``collected`` series, all records may be omitted.
    """
    parsed = parsed_all(records.values) if records.parsed is None else records.parsed
    if key_of is not None and collected:
        # PRIVACY: only the key decides what is read: the text of a value must not choose how its record is processed.
        plain = [nth for nth, key in enumerate(records.keys) if key not in collected]
        if 2 * len(plain) < len(records) and not any(type(parsed[nth]) is tuple for nth in plain):
            return Observations([], (), (), [], set())
    at, apart, seen = list(range(len(parsed))), set(), cast("list[Seen]", parsed)
    if set(map(type, parsed)) != {tuple} or (key_of is not None and [key_of(one[0]) for one in seen] != records.keys):
        at, seen = [], []
        for number, (key, found) in enumerate(zip(records.keys, parsed, strict=True)):
            if not isinstance(found, tuple):
                if isinstance(found, dict) and isinstance(series := found.get("series"), str):
                    apart.add(series)
            elif key_of is None or key == key_of(found[0]):
                at.append(number)
                seen.append(found)
            else:
                apart.add(found[0])
    names, times_ms, values = zip(*seen, strict=True) if seen else ((), (), ())
    return Observations(at, names, times_ms, list(map(number_of, values)), apart)


def texts(column: Column) -> list[str]:
    """Return the JSON text of each number or boolean."""
    first = column[:1]
    if column.tobytes() == first.tobytes() * len(column):  # as bytes, because -0.0 equals 0.0 but has another text
        return [_dumped(first)[1:-1]] * len(column)
    return _dumped(column)[1:-1].split(",")


def lists(rows: Column) -> list[str]:
    """Return the JSON of each matrix row, without brackets."""
    return _dumped(rows)[2:-2].split("],[")


def _dumped(column: Column) -> str:
    return orjson.dumps(np.ascontiguousarray(column), option=orjson.OPT_SERIALIZE_NUMPY).decode()


def quoted(series: list[str]) -> list[str]:
    """Return each string as JSON."""
    # Line breaks within strings are escaped, so real ones separate the strings.
    return orjson.dumps(series, option=orjson.OPT_INDENT_2)[4:-2].decode().split(",\n  ")
