"""Rows of a frame as event records, byte for byte as `replay` and `send` make them of a CSV file."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from math import isfinite
from typing import Any, Final, NamedTuple

from stream_app.api.errors import Error
from stream_app.api.given import LEAST_INTEGER, in_json, is_text, keyed, unboxed
from stream_app.api.parts import moment_ms
from stream_app.api.tables import Row
from stream_app.formats import wire
from stream_app.privacy.policy import Fault


class Columns(NamedTuple):
    """Where a frame has what: the columns of series, time, value and, for collected data, contributors."""

    series: str = "series"
    timestamp: str = "timestamp"
    value: str | Sequence[str] = "value"
    contributor: str | None = None

    @property
    def values(self) -> tuple[str, ...]:
        """The columns of the value."""
        return (self.value,) if isinstance(self.value, str) else tuple(self.value)


SEED_BYTES: Final = 32
TYPES: Final = frozenset(
    {"observation", "contribution", "policy", "landmarks", "watermark", "intrusion", "close", "member"}
)
"""Record types: a plain row that has one is a record as it stands."""


def events_of(rows: Sequence[Row], columns: Columns, series: str | None, *, seeds: bool) -> list[bytes]:
    """Return the event records of rows; ``series`` is that of all rows, None: a column has them.

    ``seeds`` gives watermarks and intrusions without a seed one by their place, where it is mixed with a secret key.

    A row with a ``type`` of `TYPES` is an event record as it stands, such as a watermark; its time may be a datetime.

    Raises:
        Error: for columns that no row has, and the first time that is none; it names no value.
    """
    _named(columns, series)
    missing = list(_missing(rows, columns, series))
    if missing:
        raise Error(missing)
    events = (_event(row, nth, columns, series) for nth, row in enumerate(rows))
    return [wire.dump(_seeded(event, nth) if seeds else event) for nth, event in enumerate(events)]


def _named(columns: Columns, series: str | None) -> None:
    """Check that arguments are names; raises `Error` with each that is none."""
    names: dict[str, Any] = {
        "series": "" if series is None else series or None,
        "series_column": columns.series,
        "timestamp_column": columns.timestamp,
        "value_columns": columns.value,
        "contributor_column": columns.contributor or "",
    }
    several = names["value_columns"]
    if isinstance(several, Sequence) and not isinstance(several, str) and len(several) > 0:
        names |= {"value_columns": "", **{f"value_columns.{nth}": each for nth, each in enumerate(several)}}
    wrong = [argument for argument, name in names.items() if not isinstance(name, str) or not is_text(name)]
    if wrong:
        raise Error(Fault(argument, "is no name; give a text, for several value columns a list") for argument in wrong)


def _missing(rows: Sequence[Row], columns: Columns, series: str | None) -> Iterator[Fault]:
    untyped = [row for row in rows if not _is_record(row)]
    known = {name for row in untyped for name in row}
    wanted = {"timestamp_column": [columns.timestamp], "value_columns": [*columns.values]}
    if series is None:
        wanted["series_column"] = [columns.series]
    if columns.contributor is not None:
        wanted["contributor_column"] = [columns.contributor]
    if not untyped:
        return
    for argument, names in wanted.items():
        if lacking := [name for name in names if name not in known]:
            remedy = ", or name that of all rows with series=" if argument == "series_column" else ""
            # PRIVACY: its names are not shown: read from a file without a header they are the first row's values.
            yield Fault(argument, f"no column {', '.join(lacking)} among the {len(known)} there are; name it{remedy}")


def _is_record(row: Row) -> bool:
    found = row.get("type")
    return isinstance(found, str) and found in TYPES


def _event(row: Row, nth: int, columns: Columns, series: str | None) -> dict[str, Any]:
    if _is_record(row):
        timed = {"timestamp": _timestamp(row["timestamp"], nth)} if "timestamp" in row else {}
        named = {"series": series} if series is not None and "series" not in row else {}
        return {name: _plain(found) for name, found in keyed({**row, **named, **timed}).items()}
    names = columns.values
    value = _plain(row.get(names[0])) if len(names) == 1 else {name: _plain(row.get(name)) for name in names}
    whose = series if series is not None else _plain(row.get(columns.series))
    place = {"series": whose, "timestamp": _timestamp(row.get(columns.timestamp), nth)}
    if columns.contributor is not None:
        return {"type": "contribution", **place, "member": _plain(row.get(columns.contributor)), "value": value}
    return {"type": "observation", **place, "value": value}


def _seeded(event: dict[str, Any], nth: int) -> dict[str, Any]:
    if event["type"] not in {"watermark", "intrusion"} or "seed" in event:
        return event
    # PRIVACY: anybody can guess this seed, and nothing is drawn from it: the run mixes it with the folder's secret key
    # first. A random one would make the same rows another input, which the folder refuses.
    return {**event, "seed": blake2b(b"%d" % nth, digest_size=SEED_BYTES, person=b"landmark-row").hexdigest()}


def _timestamp(found: Any, nth: int) -> int:
    found = unboxed(found)
    if isinstance(found, str):
        try:
            found = datetime.fromisoformat(found)
        except ValueError:
            found = None
    if isinstance(found, datetime):
        return moment_ms(found, f"row {nth}")
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    if not isinstance(found, int) or isinstance(found, bool) or not LEAST_INTEGER <= found < -LEAST_INTEGER:
        remedy = "has no time; write a datetime with a zone, ISO 8601 with an offset, or integer milliseconds"
        raise Error.of(f"row {nth}", remedy)
    return found


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; what is no number there is null, which the decision refuses as any null."""
    value = unboxed(value)
    if isinstance(value, int):
        value = in_json(value)
    if isinstance(value, int | float):
        return value if isfinite(value) else None
    if isinstance(value, str):
        return value if is_text(value) else None
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in keyed(value).items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    try:
        return wire.load(wire.dump(value))  # a day or an identifier, as a text
    except (TypeError, ValueError):
        return None
