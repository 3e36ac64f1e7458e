"""Converts pandas and polars frames and lists of dicts, and turns their rows into event records.

No library is required, and each one is imported only when it is used. The records are byte-for-byte equal to those of
`replay` and `send`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, Union

from stream_app.analysis.rows import by_column
from stream_app.api.given import LEAST_INTEGER, Error, in_json, is_text, keyed, unboxed
from stream_app.api.parts import moment_ms
from stream_app.api.views import Html, Page, plain_table, rich_table, shown, table
from stream_app.formats import wire
from stream_app.privacy.policy import Fault

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from rich.console import RenderableType


Row = Mapping[str, Any]
Library = Literal["pandas", "polars", "rows"]
Frame: TypeAlias = Union["pd.DataFrame", "pl.DataFrame", "Table", Iterable[Row]]
"""Any input of rows: a pandas or polars frame, a table of this library, or dicts, one per row."""


class Table(Page, Sequence[Row]):
    """Rows of results; ``frame`` returns the rows as an object of the input's library.

    A row has a key for each column that applies to it. ``note`` is a remark about the rows, shown below them.
    """

    def __init__(self, rows: Iterable[Row], library: Library = "rows", title: str = "", note: str = "") -> None:
        self._rows: Final = tuple(rows)
        self._library: Final[Library] = library
        self._title: Final = title
        self.note: Final = note

    @property
    def columns(self) -> list[str]:
        """The names of all columns."""
        return list(dict.fromkeys(name for row in self._rows for name in row))

    @property
    def frame(self) -> Any:
        """The rows as an object of the input's library: a pandas or polars frame, or a list of dicts."""
        match self._library:
            case "pandas":
                return self.to_pandas()
            case "polars":
                return self.to_polars()
            case _:
                return self.rows()

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as dicts."""
        return [dict(row) for row in self._rows]

    def to_pandas(self) -> "pd.DataFrame":
        """Return a pandas frame; raise `Error` if pandas is not installed."""
        try:
            import pandas as pd  # noqa: PLC0415 - optional, and slow to load
        except ImportError:
            raise Error.of("pandas", _MISSING.format("pandas")) from None
        return pd.DataFrame(by_column(self._rows, self.columns))

    def to_polars(self) -> "pl.DataFrame":
        """Return a polars frame; raise `Error` if polars is not installed."""
        try:
            import polars as pl  # noqa: PLC0415 - optional, and slow to load
        except ImportError:
            raise Error.of("polars", _MISSING.format("polars")) from None
        return pl.DataFrame(by_column(self._rows, self.columns), strict=False, infer_schema_length=None)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __getitem__(self, place: Any) -> Any:
        return self._rows[place]

    def __str__(self) -> str:
        return plain_table(self.columns, self._cells(), self._below())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self):,} rows of {', '.join(map(shown, self.columns))}>"

    def html(self) -> Html:
        """Return the first rows as HTML."""
        return table(self._title, self.columns, self._cells(), self._below())

    def __rich__(self) -> "RenderableType":
        return rich_table(self._title, self.columns, self._cells(), self._below())

    def _below(self) -> list[str]:
        return [self.note] if self.note else []

    def _cells(self) -> list[list[Any]]:
        return [[row.get(name) for name in self.columns] for row in self._rows]


_MISSING: Final = "is not installed; run pip install {0}, or use rows()"


def library_of(frame: object) -> Library:
    """Return the library of a frame, or "rows" for anything else."""
    if isinstance(frame, Table):
        return frame._library  # noqa: SLF001 - the class' own
    of = type(frame).__module__.split(".", maxsplit=1)[0]
    return "pandas" if of == "pandas" else "polars" if of == "polars" else "rows"


def rows_of(frame: Frame) -> list[Row]:
    """Return the rows of a frame; raise `Error` for anything else.

    Missing pandas values are omitted from their rows, times keep the library's type, and a named pandas index becomes a
    column.
    """
    found: Any = frame
    match library_of(frame):
        case "pandas" if not isinstance(frame, Table) and hasattr(found, "columns"):
            index = [name for name in found.index.names if name is not None and name not in found.columns]
            named = found.reset_index(index) if index else found
            if len({str(name) for name in named.columns}) < len(named.columns):
                raise Error.of("frame", "has two columns with the same name; rename one of them")
            present = {name: named[name].notna().tolist() for name in named.columns}
            columns = {str(name): (named[name].tolist(), present[name]) for name in named.columns}
            places = range(len(named))
            return [{name: values[nth] for name, (values, there) in columns.items() if there[nth]} for nth in places]
        case "polars" if not isinstance(frame, Table) and hasattr(found, "iter_rows"):
            found = found.iter_rows(named=True)
        case "polars" if hasattr(found, "collect"):
            raise Error.of("frame", "is lazy; collect() it first")
        case _:
            pass
    rows = list(found) if isinstance(found, Iterable) and not isinstance(found, str | bytes | Mapping) else None
    if rows is None or not all(isinstance(row, Mapping) for row in rows):
        raise Error.of("frame", "is not a frame; use a pandas or polars frame, or a list of dicts, one per row")
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


class Columns(NamedTuple):
    """The names of a frame's columns: series, time, value and, for collected data, contributor."""

    series: str = "series"
    timestamp: str = "timestamp"
    value: str | Sequence[str] = "value"
    contributor: str | None = None

    @property
    def of_value(self) -> tuple[str, ...]:
        """The names of the value's columns."""
        return (self.value,) if isinstance(self.value, str) else tuple(self.value)


SEED_BYTES: Final = 32
TYPES: Final = frozenset(
    {"observation", "contribution", "policy", "landmarks", "watermark", "intrusion", "close", "member"}
)
"""Record types; a row with one of these types is already an event record."""


def events_of(rows: Sequence[Row], columns: Columns, series: str | None, *, seeds: bool) -> list[bytes]:
    """Return the event records of rows; ``series`` applies to all rows, or is None if a column names the series.

    With ``seeds``, a watermark or intrusion without a seed gets one derived from its position. Use this only if that
    seed is mixed with a secret key.

    A row with a ``type`` in `TYPES` is already an event record, such as a watermark; its time may be a datetime.

    Raises:
        Error: for columns that no row has, and for the first invalid time; the error names no value.
    """
    _named(columns, series)
    missing = list(_missing(rows, columns, series))
    if missing:
        raise Error(missing)
    events = (_event(row, nth, columns, series) for nth, row in enumerate(rows))
    return [wire.dump(_seeded(event, nth) if seeds else event) for nth, event in enumerate(events)]


def _named(columns: Columns, series: str | None) -> None:
    """Check that arguments are names; raise an `Error` that lists every argument that is not a name."""
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
        raise Error(
            Fault(argument, "is not a column name; use text, or a list for several value columns") for argument in wrong
        )


def _missing(rows: Sequence[Row], columns: Columns, series: str | None) -> Iterator[Fault]:
    untyped = [row for row in rows if not _is_record(row)]
    known = {name for row in untyped for name in row}
    wanted = {"timestamp_column": [columns.timestamp], "value_columns": [*columns.of_value]}
    if series is None:
        wanted["series_column"] = [columns.series]
    if columns.contributor is not None:
        wanted["contributor_column"] = [columns.contributor]
    if not untyped:
        return
    for argument, names in wanted.items():
        if lacking := [name for name in names if name not in known]:
            remedy = ", or set the series of all rows with series=" if argument == "series_column" else ""
            # PRIVACY: the columns' names are not shown: in a file read without a header, they are the first row's
            # values.
            yield Fault(
                argument,
                f"not found among the {len(known)} columns: {', '.join(lacking)}; use a column of the frame{remedy}",
            )


def _is_record(row: Row) -> bool:
    found = row.get("type")
    return isinstance(found, str) and found in TYPES


def _event(row: Row, nth: int, columns: Columns, series: str | None) -> dict[str, Any]:
    if _is_record(row):
        timed = {"timestamp": _timestamp(row["timestamp"], nth)} if "timestamp" in row else {}
        named = {"series": series} if series is not None and "series" not in row else {}
        return {name: _plain(found) for name, found in keyed({**row, **named, **timed}).items()}
    names = columns.of_value
    value = _plain(row.get(names[0])) if len(names) == 1 else {name: _plain(row.get(name)) for name in names}
    whose = series if series is not None else _plain(row.get(columns.series))
    place = {"series": whose, "timestamp": _timestamp(row.get(columns.timestamp), nth)}
    if columns.contributor is not None:
        return {"type": "contribution", **place, "member": _plain(row.get(columns.contributor)), "value": value}
    return {"type": "observation", **place, "value": value}


def _seeded(event: dict[str, Any], nth: int) -> dict[str, Any]:
    if event["type"] not in {"watermark", "intrusion"} or "seed" in event:
        return event
    # PRIVACY: anyone can guess this seed, but nothing is drawn from it: the run first mixes it with the folder's secret
    # key. A random seed would make the same rows a different input, which the folder rejects.
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
        remedy = "has no time; use a datetime with a zone, ISO 8601 with an offset, or integer milliseconds"
        raise Error.of(f"row {nth}", remedy)
    return found


def _plain(value: Any) -> Any:
    """Return a value as JSON; numbers that JSON cannot represent become null, which is refused as usual."""
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
        return wire.load(wire.dump(value))  # a day or an identifier as text
    except (TypeError, ValueError):
        return None
