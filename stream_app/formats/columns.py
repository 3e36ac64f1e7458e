"""Many records at once: observations from bytes, the same as by `wire` one by one, and columns as JSON."""

from collections.abc import Callable, Iterable
from math import nan
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import orjson

from stream_app.formats.encoding import HASH_BYTES
from stream_app.formats.records import Records
from stream_app.formats.wire import LARGEST_RECORD_BYTES
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS

Column = npt.NDArray[np.float64] | npt.NDArray[np.int64] | npt.NDArray[np.bool_]
_HEX = 2 * HASH_BYTES


class Observations(NamedTuple):
    """The observations among some records, a column a member, in their order."""

    at: list[int]
    """Their numbers among the records."""
    series: list[str]
    times_ms: list[int]
    numbers: list[float]
    """Raw values; NaN for what is no number."""
    apart: set[str]
    """Series that other records name, too."""

    def __repr__(self) -> str:
        # PRIVACY: what prints it, a traceback too, shows no value.
        return f"<{len(self.at)} observations>"


def observations(
    records: Records, key_of: Callable[[str], bytes] | None, collected: frozenset[bytes] = frozenset()
) -> Observations:
    """Return the observations whose key is that of their series by ``key_of``; None: no key is asked for.

    Whatever is none, or would be refused whatever is known of its series, is left out; all of them may be, where most
    records have keys of ``collected`` series.
    """
    if key_of is not None and collected:
        # PRIVACY: the key alone tells what is read: the text of a value must not choose how its record is decided.
        plain = [nth for nth, key in enumerate(records.keys) if key not in collected]
        if 2 * len(plain) < len(records):  # contributions are not read for the few others, if these are none either
            few = _some(records, plain, key_of)
            return few if not few.at else _some(records, range(len(records)), key_of)
    return _all(records, key_of) or _some(records, range(len(records)), key_of)


def _all(records: Records, key_of: Callable[[str], bytes] | None) -> Observations | None:
    """Return `observations` if nothing is left out, else None: what is asked of all at once takes half the time."""
    values = cast("list[bytes]", records.values)  # what is none is no sized one, which the types do not show
    names: list[str] = []
    times: list[int] = []
    raws: list[object] = []
    types: set[object] = set()
    try:
        if max(map(len, values)) > LARGEST_RECORD_BYTES:
            return None
        for record in map(orjson.loads, values):
            names.append(record["series"])
            times.append(record["timestamp"])
            raws.append(record["value"])
            types.add(record.get("type", "observation"))
    except (KeyError, TypeError, ValueError):
        return None
    if (
        types != {"observation"}
        or set(map(type, names)) != {str}
        or set(map(type, times)) != {int}
        or min(times) < 0
        or max(times) > LAST_TIMESTAMP_MS
        or (key_of is not None and list(map(key_of, names)) != records.keys)
    ):
        return None
    return Observations(list(range(len(names))), names, times, _numbers(raws), set())


def _some(records: Records, numbers: Iterable[int], key_of: Callable[[str], bytes] | None) -> Observations:
    """Return `observations` among the records of these numbers, record by record."""
    at: list[int] = []
    names: list[str] = []
    times: list[int] = []
    raws: list[object] = []
    apart: set[str] = set()
    for number in numbers:
        key, value = records.keys[number], records.values[number]
        if value is None or len(value) > LARGEST_RECORD_BYTES:
            continue
        try:
            record = orjson.loads(value)
        except orjson.JSONDecodeError:
            continue
        if type(record) is not dict:
            continue
        get = record.get
        series, time_ms = get("series"), get("timestamp")
        if type(series) is not str:
            continue
        if (
            type(time_ms) is not int
            or not 0 <= time_ms <= LAST_TIMESTAMP_MS
            or get("type", "observation") != "observation"
            or "value" not in record
            or (key_of is not None and key != key_of(series))
        ):
            apart.add(series)
            continue
        at.append(number)
        names.append(series)
        times.append(time_ms)
        raws.append(record["value"])
    return Observations(at, names, times, _numbers(raws), apart)


def _numbers(raws: list[Any]) -> list[float]:
    # PRIVACY: what is no number takes as long as one, so that the time does not tell what a substitute hides.
    return [raw if type(raw) is float or type(raw) is int else nan for raw in raws]


def texts(column: Column) -> list[str]:
    """Return the JSON of each number or truth value."""
    first = column[:1]
    if column.dtype != np.float64 and (column == first).all():  # -0.0, which equals 0.0, is another text
        return [_dumped(first)[1:-1]] * len(column)
    return _dumped(column)[1:-1].split(",")


def lists(rows: Column) -> list[str]:
    """Return the JSON of the numbers of each row of a matrix, without brackets."""
    return _dumped(rows)[2:-2].split("],[")


def _dumped(column: Column) -> str:
    return orjson.dumps(np.ascontiguousarray(column), option=orjson.OPT_SERIALIZE_NUMPY).decode()


def quoted(series: list[str]) -> list[str]:
    """Return the JSON of each text."""
    # A line break in a text is escaped, so those that stand there part the texts.
    return orjson.dumps(series, option=orjson.OPT_INDENT_2)[4:-2].decode().split(",\n  ")


def hashes(digests: bytes) -> list[str]:
    """Return hashes that stand one after the other, each in hex."""
    whole = digests.hex()
    return [whole[at : at + _HEX] for at in range(0, len(whole), _HEX)]
