"""Files of events: JSON Lines as they are, or CSV with a mapping to observations; ``-`` is standard input."""

import argparse
import csv
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from stream_app.cli import UsageError
from stream_app.cli.shared.arguments import INTEGER, milliseconds_of, readable
from stream_app.cli.shared.doubtful import (
    SURPLUS,
    binary_fault,
    doubled_column,
    encoding_fault,
    missing_columns,
    time_fault,
    too_many_cells,
)
from stream_app.deciding.members import member_of
from stream_app.formats import wire
from stream_app.formats.documents import MARK
from stream_app.formats.records import MemberRecord

STDIN = "-"
REMEDY = "name a file of events"


def add_mapping(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """Declare FILE, which may be left away unless it is ``needed``, and the mapping of CSV columns."""
    text = "JSON Lines of event records, or CSV (by its ending, .csv); -: standard input, CSV with the columns' options"
    parser.add_argument("file", type=Path, nargs=None if needed else "?", help=text)
    series = parser.add_mutually_exclusive_group()
    series.add_argument("--series", help="CSV: the series of all rows")
    series.add_argument("--series-column", metavar="COLUMN", help="CSV: the column of the series")
    parser.add_argument("--timestamp-column", metavar="COLUMN", help="CSV: integer ms, or ISO 8601 with offset")
    columns = "CSV: one, or latitude,longitude, or the keys of counts, or the parts of a vector"
    parser.add_argument("--value-columns", metavar="COLUMN[,COLUMN...]", help=columns)


class EventFile:
    """The file of events that the arguments name; it can be read as often as it can be opened."""

    def __init__(self, arguments: argparse.Namespace, opened: Callable[[], io.BufferedReader] | None = None) -> None:
        """Take the arguments; ``opened`` gives the bytes where they are not those of the file itself."""
        self.arguments = arguments
        path: Path = arguments.file
        self._stdin = str(path) == STDIN
        self.name = "standard input" if self._stdin else str(path)
        mapped = arguments.timestamp_column or arguments.value_columns
        self.is_csv = bool(mapped) if self._stdin else path.suffix.lower() == ".csv"
        self._opened = opened or self._itself
        self._bytes: io.BufferedReader | None = None
        self._size = 0  # of the file, once it was read

    def _itself(self) -> io.BufferedReader:
        if self._stdin:
            return os.fdopen(os.dup(sys.stdin.fileno()), "rb")
        path: Path = self.arguments.file
        return path.open("rb")

    @property
    def is_regular(self) -> bool:
        """Whether it can be read twice; what is not there is told by reading it."""
        path: Path = self.arguments.file
        return not self._stdin and (path.is_file() or not path.exists() or path.is_dir())

    def far(self) -> tuple[int, int]:
        """Return how many bytes were read, and how many there are, 0 where nobody knows."""
        if self._bytes is None or self._bytes.closed:
            return self._size, self._size
        if not self._bytes.seekable():
            return 0, 0
        self._size = os.fstat(self._bytes.fileno()).st_size
        return self._bytes.tell(), self._size

    def placed(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number of the line that each event record ends on, and the record.

        Raises `UsageError` with the line, the column and the remedy.
        """
        try:
            with readable(self.name, REMEDY), self._opened() as found:
                self._bytes = found
                yield from self._rows(found) if self.is_csv else self._lines(found)
        except UnicodeDecodeError:
            with self._opened() as found:
                raise UsageError(encoding_fault(self.name, found)) from None

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes of each event record."""
        return (record for _, record in self.placed())

    def _lines(self, found: io.BufferedReader) -> Iterator[tuple[int, bytes]]:
        for number, line in enumerate(found, 1):
            if number == 1 and (fault := binary_fault(self.name, line)):
                raise UsageError(fault)
            text = line.removeprefix(MARK) if number == 1 else line
            if text.strip():
                yield number, text.rstrip(b"\r\n")

    def _rows(self, found: io.BufferedReader) -> Iterator[tuple[int, bytes]]:
        arguments = self.arguments
        if not arguments.timestamp_column or not arguments.value_columns:
            raise UsageError("a CSV file needs --timestamp-column and --value-columns")
        if arguments.series is None and arguments.series_column is None:
            raise UsageError("a CSV file needs --series or --series-column")
        reader = self._reader(found)
        names = list(reader.fieldnames or ())
        columns = [name if name in names else name.strip() for name in arguments.value_columns.split(",")]
        wanted = [arguments.timestamp_column, *columns, *([arguments.series_column] if arguments.series_column else [])]
        if not set(wanted) <= set(names):  # a space beside a comma is no part of a name
            reader.fieldnames = names = [name.strip() for name in names]
        if missing := [name for name in wanted if name not in names]:
            raise UsageError(f"{self.name}:1: {missing_columns(missing, wanted, names)}")
        if fault := doubled_column(wanted, names):
            raise UsageError(f"{self.name}:1: {fault}")
        try:
            for row in reader:
                place = f"{self.name}:{reader.line_num}"
                if any(row.get(SURPLUS) or ()):
                    raise UsageError(f"{place}: {too_many_cells(row, names)}")
                series = row[arguments.series_column] if arguments.series is None else arguments.series
                timestamp = self._timestamp(row[arguments.timestamp_column], place)
                parts = {name: _number(row[name]) for name in columns}
                value = parts if columns[1:] else parts[columns[0]]
                event = {"series": series, "timestamp": timestamp, "value": value}
                yield reader.line_num, wire.dump({"type": "observation", **event})
        except csv.Error:
            place = f"{self.name}:{reader.line_num}"
            raise UsageError(f"{place}: a cell is too long, or holds a NUL; is a quote not closed?") from None

    def _reader(self, found: io.BufferedReader) -> "csv.DictReader[str]":
        """Return what reads a CSV file, its first line read; raises `UsageError` where that names nothing."""
        if fault := binary_fault(self.name, found.peek(8)):
            raise UsageError(fault)
        reader = csv.DictReader(io.TextIOWrapper(found, encoding="utf-8-sig", newline=""), restkey=SURPLUS)
        if not reader.fieldnames:
            what = ":1: is an empty line" if reader.line_num else ": is empty"
            raise UsageError(f"{self.name}{what}; the first line names the columns, each other line is an event")
        return reader

    def _timestamp(self, cell: str | None, place: str) -> object:
        """Return milliseconds; a cell that is no time in any form stays none, and makes the record malformed."""
        text = (cell or "").strip()
        if fault := time_fault(text):
            raise UsageError(f"{place}: {self.arguments.timestamp_column}: {fault}")
        try:
            return milliseconds_of(text)
        except UsageError as error:
            raise UsageError(f"{place}: {self.arguments.timestamp_column}: {error}") from None


@contextmanager
def rereadable(arguments: argparse.Namespace, folder: Path) -> Iterator[EventFile]:
    """Give a file of events that can be read twice; what a pipe gives waits in a folder meanwhile."""
    direct = EventFile(arguments)
    if direct.is_regular:
        yield direct
        return
    # PRIVACY: a pipe can be read once. Its raw values wait in a file of mode 0600 without a name, which is gone when
    # the run ends, however it ends.
    with tempfile.TemporaryFile(dir=folder) as spool:
        with readable(direct.name, REMEDY):
            with direct._itself() as found:  # noqa: SLF001 - of its own class
                while block := found.read(1 << 20):
                    spool.write(block)
            spool.flush()

        def again() -> io.BufferedReader:
            spool.seek(0)
            return os.fdopen(os.dup(spool.fileno()), "rb")

        yield EventFile(arguments, again)


def record_key(event: bytes, separator: str | None) -> bytes | None:
    """Return the record key of an event: its series, or its member where a separator names members; None: none."""
    found = wire.decode(event)
    if isinstance(found, MemberRecord):
        return found.member.encode()
    return member_of(found.series, separator).encode() if found.series else None


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
