"""Frames of pandas, polars and plain lists of dicts, in and out. No library is needed, nor loaded before its use."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, Union

from stream_app.analysis.rows import by_column
from stream_app.api.errors import Error
from stream_app.api.views import Html, Page, plain_table, rich_table, shown, table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from rich.console import RenderableType

Row = Mapping[str, Any]
Library = Literal["pandas", "polars", "rows"]
Frame: TypeAlias = Union["pd.DataFrame", "pl.DataFrame", "Table", Iterable[Row]]
"""What is taken wherever rows are: a frame of pandas or polars, a table of this library, or dicts, one a row."""


class Table(Page, Sequence[Row]):
    """Rows of results; ``frame`` has them in the library that the input came in.

    A row has a key for each column that says something of it. ``note`` is what to know of them, and stands below.
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
        """The rows in the library of the input: a frame of pandas or polars, or a list of dicts."""
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
        """Return a frame of pandas; raises `Error` where it is not installed."""
        try:
            import pandas as pd  # noqa: PLC0415 - optional, and slow to load
        except ImportError:
            raise Error.of("pandas", _MISSING.format("pandas")) from None
        return pd.DataFrame(by_column(self._rows, self.columns))

    def to_polars(self) -> "pl.DataFrame":
        """Return a frame of polars; raises `Error` where it is not installed."""
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


_MISSING: Final = "is not installed; pip install {0}, or use rows()"


def library_of(frame: object) -> Library:
    """Return the library of a frame; what belongs to none is rows."""
    if isinstance(frame, Table):
        return frame._library  # noqa: SLF001 - the class' own
    of = type(frame).__module__.split(".", maxsplit=1)[0]
    return "pandas" if of == "pandas" else "polars" if of == "polars" else "rows"


def rows_of(frame: Frame) -> list[Row]:
    """Return the rows of a frame; raises `Error` for what is none.

    Missing values of pandas are left out of their rows, times stay as the library has them, and a named index of pandas
    is a column.
    """
    found: Any = frame
    match library_of(frame):
        case "pandas" if not isinstance(frame, Table) and hasattr(found, "columns"):
            index = [name for name in found.index.names if name is not None and name not in found.columns]
            named = found.reset_index(index) if index else found
            if len({str(name) for name in named.columns}) < len(named.columns):
                raise Error.of("frame", "has two columns of one name; rename one of them")
            present = {name: named[name].notna().tolist() for name in named.columns}
            columns = {str(name): (named[name].tolist(), present[name]) for name in named.columns}
            places = range(len(named))
            return [{name: values[nth] for name, (values, there) in columns.items() if there[nth]} for nth in places]
        case "polars" if not isinstance(frame, Table) and hasattr(found, "iter_rows"):
            return [
                {name: value for name, value in row.items() if value is not None} for row in found.iter_rows(named=True)
            ]
        case "polars" if hasattr(found, "collect"):
            raise Error.of("frame", "is lazy; collect() it first")
        case _:
            pass
    rows = list(found) if isinstance(found, Iterable) and not isinstance(found, str | bytes | Mapping) else None
    if rows is None or not all(isinstance(row, Mapping) for row in rows):
        raise Error.of("frame", "is no frame; give one of pandas or polars, or a list of dicts, one a row")
    return [{name: value for name, value in row.items() if value is not None} for row in rows]
