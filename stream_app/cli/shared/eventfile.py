"""Files of events: JSON Lines as they are, or CSV with a mapping to observations."""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

from stream_app.cli import UsageError
from stream_app.cli.shared.arguments import INTEGER, milliseconds_of
from stream_app.deciding.members import member_of
from stream_app.formats import wire
from stream_app.formats.records import MemberRecord


def add_mapping(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """Declare FILE, which may be left away unless it is ``needed``, and the mapping of CSV columns."""
    text = "JSON Lines of event records, or CSV (by its ending, .csv)"
    parser.add_argument("file", type=Path, nargs=None if needed else "?", help=text)
    series = parser.add_mutually_exclusive_group()
    series.add_argument("--series", help="CSV: the series of all rows")
    series.add_argument("--series-column", metavar="COLUMN", help="CSV: the column of the series")
    parser.add_argument("--timestamp-column", metavar="COLUMN", help="CSV: integer ms, or ISO 8601 with offset")
    columns = "CSV: one, or latitude,longitude, or the keys of counts, or the parts of a vector"
    parser.add_argument("--value-columns", metavar="COLUMN[,COLUMN...]", help=columns)


def events(arguments: argparse.Namespace) -> Iterator[bytes]:
    """Yield the bytes of each event record; raises `UsageError` naming field and remedy."""
    path: Path = arguments.file
    try:
        if path.suffix.lower() == ".csv":
            yield from _csv_events(arguments, path)
        else:
            with path.open("rb") as lines:
                yield from (line.rstrip(b"\r\n") for line in lines if line.strip())
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path}: cannot be read ({type(error).__name__}); give a UTF-8 file") from None


def record_key(event: bytes, separator: str | None) -> bytes | None:
    """Return the record key of an event: its series, or its member where a separator names members; None: none."""
    found = wire.decode(event)
    if isinstance(found, MemberRecord):
        return found.member.encode()
    return member_of(found.series, separator).encode() if found.series else None


def _csv_events(arguments: argparse.Namespace, path: Path) -> Iterator[bytes]:
    if not arguments.timestamp_column or not arguments.value_columns:
        raise UsageError("a CSV file needs --timestamp-column and --value-columns")
    if arguments.series is None and arguments.series_column is None:
        raise UsageError("a CSV file needs --series or --series-column")
    columns = arguments.value_columns.split(",")
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        wanted = [arguments.timestamp_column, *columns, *([arguments.series_column] if arguments.series_column else [])]
        missing = [name for name in wanted if name not in (reader.fieldnames or ())]
        if missing:
            # PRIVACY: the names it has are not shown: without a header they would be the first row's raw values.
            found = len(reader.fieldnames or ())
            raise UsageError(f"{path}: no column {', '.join(missing)} among the {found} that its first line names")
        for row in reader:
            yield wire.dump(
                {
                    "type": "observation",
                    "series": arguments.series if arguments.series is not None else row[arguments.series_column],
                    "timestamp": _timestamp(row[arguments.timestamp_column]),
                    "value": _value(row, columns),
                }
            )


def _timestamp(cell: str | None) -> object:
    """Return milliseconds; a cell that is no timestamp stays as it is and makes the record malformed."""
    return milliseconds_of((cell or "").strip())


def _value(row: dict[str, str], columns: list[str]) -> object:
    """Return one value, or a location, counts or a vector; text that is no number stays text (a category)."""
    if len(columns) == 1:
        return _number(row[columns[0]])
    return {name: _number(row[name]) for name in columns}


def _number(cell: str | None) -> object:
    text = (cell or "").strip()
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if INTEGER.fullmatch(text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text
