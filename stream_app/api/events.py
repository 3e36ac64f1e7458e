"""`read_events`: reads a file in any supported format into rows for `release`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from stream_app.api.given import Error, path_of, told
from stream_app.api.tables import Table
from stream_app.formats import wire
from stream_app.mapping.cells import FileError
from stream_app.mapping.events import MappedFile
from stream_app.mapping.form import MappingError
from stream_app.mapping.members import mapping_of, read_mapping
from stream_app.plain import NOT_UTF8


def read_events(  # noqa: PLR0913 - as many as `convert` has options, all but one by name
    file: str | Path,
    *,
    mapping: str | None = None,
    series: str | None = None,
    series_column: str | None = None,
    timestamp_column: str | Sequence[str] | None = None,
    time_format: str | None = None,
    zone: str | None = None,
    stamp: Literal["start", "end"] | None = None,
    value_columns: str | Sequence[str] | Mapping[str, str] | None = None,
    where: str | Sequence[str] | None = None,
    single: str | Sequence[str] | None = None,
    words: str | Mapping[str, float] | None = None,
    missing: str | Sequence[str] | None = None,
    multiply: str | float | None = None,
    differences: bool | None = None,
    separator: str | None = None,
    decimal: Literal[".", ","] | None = None,
    no_header: bool | None = None,
    records: str | None = None,
) -> Table:
    """Return the events in a file, oldest first: rows of ``series``, ``timestamp`` (ms) and ``value``.

    The arguments are the options of `landmark-stream convert`. ``mapping`` names a built-in mapping or a TOML file; the
    other arguments override it. A value with several parts is a dict. `release` accepts the rows as they are.

    The rows contain raw values, so protect them as you protect the file. The table's ``note`` says what was skipped.

    Raises:
        Error: for an invalid mapping, and for a file that cannot be read or does not fit the mapping.
    """
    given: dict[str, Any] = {name: value for name, value in locals().items() if name not in {"file", "mapping"}}
    path = path_of(file, "file", "a file of readings")
    try:
        with told():
            mapped = MappedFile(mapping_of(given, None if mapping is None else read_mapping(mapping)))
            with path.open("rb") as found:
                events: list[Any] = [wire.load(event) for _, event in mapped.events(found)]
    except MappingError as error:
        raise Error(error.faults) from None
    except FileError as error:
        raise Error.of("file", error.of(path)) from None
    except UnicodeDecodeError:
        raise Error.of("file", f"{path}: {NOT_UTF8}") from None
    rows = ({name: event[name] for name in ("series", "timestamp", "value")} for event in events)
    return Table(rows, note="; ".join((*mapped.told(), *mapped.told_of_events())))
