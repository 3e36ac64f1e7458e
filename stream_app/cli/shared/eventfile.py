"""Files of events: event records as JSON Lines, or any file under a mapping; ``-`` is standard input."""

import argparse
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, tzinfo
from pathlib import Path

from stream_app.cli import UsageError
from stream_app.cli.shared.arguments import readable
from stream_app.cli.shared.doubtful import binary_fault, encoding_fault
from stream_app.deciding.members import member_of
from stream_app.formats import wire
from stream_app.formats.documents import MARK
from stream_app.formats.records import MemberRecord
from stream_app.mapping.cells import FileError
from stream_app.mapping.events import MappedFile
from stream_app.mapping.form import FileMapping, MappingError
from stream_app.mapping.inspection import Inspection, inspected
from stream_app.mapping.members import MEMBERS, mapping_of, read_mapping, shipped
from stream_app.plain import PRIVATE

STDIN = "-"
REMEDY = "specify a file of events"


def add_mapping(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """Add FILE, which is optional unless ``needed``, and the options that map its columns."""
    text = "event records as JSON Lines; with a mapping, also text with columns, JSON or XML; - for standard input"
    parser.add_argument("file", type=Path, nargs=None if needed else "?", help=text)
    add_columns(parser)


def add_columns(parser: argparse.ArgumentParser) -> None:
    """Add the options that map a file: the columns of times, values and series, and their format."""
    group = parser.add_argument_group("mapping of a file to events")
    group.add_argument("--mapping", metavar="NAME", help=f"{', '.join(shipped())}, or a TOML file with these options")
    series = group.add_mutually_exclusive_group()
    series.add_argument("--series", help="the series of all rows")
    series.add_argument("--series-column", metavar="COLUMN", help="the column with the series ids")
    times = "the time column; if given twice, the two cells are joined by a space"
    group.add_argument("--timestamp-column", action="append", metavar="COLUMN", help=times)
    written = "format of the times: directives of strptime, or s, ms, us or ns (default: ISO 8601, or ms)"
    group.add_argument("--time-format", metavar="FORMAT", help=written)
    group.add_argument("--zone", help="the time zone of times without an offset, such as Europe/Paris")
    group.add_argument(
        "--stamp", choices=("start", "end"), help=("whether a time is the start or the end of its interval")
    )
    values = "the value column, or the columns of its parts, as in latitude=lat,longitude=lon"
    group.add_argument("--value-columns", metavar="[PART=]COLUMN,...", help=values)
    where = "use only rows that meet COLUMN=TEXT or COLUMN!=TEXT; if repeated, all conditions must hold"
    group.add_argument("--where", action="append", metavar="CONDITION", help=where)
    single = (
        "a column that must have the same text in all rows of a series, such as a unit; otherwise the file is "
        "refused; '' for none"
    )
    group.add_argument("--single", action="append", metavar="COLUMN", help=single)
    group.add_argument("--words", metavar="TEXT=NUMBER,...", help="words to read as numbers, as in High=400,Low=40")
    missing = "strings that mark a missing value ('' for an empty cell); rows with one are skipped"
    group.add_argument("--missing", metavar="TEXT,...", help=missing)
    group.add_argument("--multiply", metavar="NUMBER", help="exact factor to multiply each value by, as in 0.001")
    grown = "values are readings of a register; use the increase since the previous row"
    group.add_argument("--differences", action="store_true", default=None, help=grown)
    marks = "separator of columns: , ; | or tab (default: the one that fits the names)"
    group.add_argument("--separator", metavar="MARK", help=marks)
    group.add_argument("--decimal", choices=(".", ","), help="the decimal mark of numbers (default: .)")
    numbered = "the file has no header row; columns are numbered from 1"
    group.add_argument("--no-header", action="store_true", default=None, help=numbered)
    records = "JSON: the path to the records, as in results; XML: the name of their elements"
    group.add_argument("--records", metavar="PATH", help=records)


def mapping_in(arguments: argparse.Namespace) -> FileMapping | None:
    """Return the mapping in the options, or None if the options name at most the series.

    Raises `UsageError`.
    """
    given = {name: getattr(arguments, name, None) for name in MEMBERS}
    named = getattr(arguments, "mapping", None)
    if named is None and all(value is None for name, value in given.items() if not name.startswith("series")):
        return None
    try:
        with readable(f"--mapping {named}", "specify a readable TOML file"):
            base = None if named is None else read_mapping(named)
        return mapping_of(given, base)
    except MappingError as error:
        raise UsageError(_faults(error)) from None


def _faults(error: MappingError) -> str:
    return "\n".join(f"{option_of(fault.member)}: {fault.message}" for fault in error.faults)


def option_of(member: str) -> str:
    """Return the option that sets a member of a mapping."""
    return f"--{member.replace('_', '-')}"


class EventFile:
    """The file of events that the arguments name; each reading opens it again."""

    def __init__(self, arguments: argparse.Namespace, opened: Callable[[], io.BufferedReader] | None = None) -> None:
        """Accept the arguments; ``opened`` supplies the bytes if they do not come from the file itself."""
        self.arguments = arguments
        path: Path = arguments.file
        self._stdin = str(path) == STDIN
        self.name = "standard input" if self._stdin else str(path)
        mapping = mapping_in(arguments)
        if mapping is None and path.suffix.lower() == ".csv":
            mapping = FileMapping(series=arguments.series, series_column=arguments.series_column)
        if mapping is None and (arguments.series is not None or arguments.series_column is not None):
            raise UsageError(
                "--series: event records already contain their series; if the file has columns, specify them too, as "
                f"`landmark-stream inspect {self.name}` proposes"
            )
        self.mapping = mapping
        self.mapped: MappedFile | None = None
        """The result of the latest reading with the mapping; None without a mapping."""
        self._opened = opened or self._itself
        self._bytes: io.BufferedReader | None = None
        self._size = 0  # size of the file, once read

    def _itself(self) -> io.BufferedReader:
        if self._stdin:
            return os.fdopen(os.dup(sys.stdin.fileno()), "rb")
        path: Path = self.arguments.file
        return path.open("rb")

    @property
    def is_regular(self) -> bool:
        """Whether the file can be read twice; a missing file is reported when it is read."""
        path: Path = self.arguments.file
        return not self._stdin and (path.is_file() or not path.exists() or path.is_dir())

    @property
    def zone(self) -> tzinfo:
        """The zone in which people read the file's times."""
        return UTC if self.mapping is None or self.mapping.zone is None else self.mapping.zone

    def inspected(self) -> Inspection:
        """Return a description of the file, regardless of its mapping.

        Raises `FileError`, `UnicodeDecodeError`.
        """
        with self._opened() as found:
            return inspected(found)

    def far(self) -> tuple[int, int]:
        """Return the number of bytes read so far and the total, which is 0 if it is unknown."""
        if self._bytes is None or self._bytes.closed:
            return self._size, self._size
        if not self._bytes.seekable():
            return 0, 0
        self._size = os.fstat(self._bytes.fileno()).st_size
        return self._bytes.tell(), self._size

    def placed(self) -> Iterator[tuple[int, bytes]]:
        """Yield each event record with the number of the line on which it ends.

        Raises a `UsageError` that names the line, the column and the remedy.
        """
        try:
            with readable(self.name, REMEDY), self._opened() as found:
                self._bytes = found
                yield from self._lines(found) if self.mapping is None else self._events(found, self.mapping)
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

    def _events(self, found: io.BufferedReader, mapping: FileMapping) -> Iterator[tuple[int, bytes]]:
        if fault := binary_fault(self.name, found.peek(8)):
            raise UsageError(fault)
        try:
            self.mapped = mapped = MappedFile(mapping)
            yield from mapped.events(found)
            if not mapped.count and mapped.left_out:
                # PRIVACY: only the raw data show that all rows lack a value, and how many there are. This is reported
                # like the rows that a mapping omits: to the standard error of whoever has the data, with a mark. The
                # exit status that follows goes to the same person: nothing was published.
                remedy = "check --value-columns, --missing and --where"
                raise UsageError(
                    f"{PRIVATE}: {self.name}: no row became an event; {'; '.join(mapped.told())}; {remedy}"
                )
        except MappingError as error:
            raise UsageError(f"{self.name}: a file with columns needs a mapping\n{_faults(error)}") from None
        except FileError as error:
            raise UsageError(error.of(self.name)) from None


@contextmanager
def rereadable(arguments: argparse.Namespace, folder: Path) -> Iterator[EventFile]:
    """Yield a file of events that can be read twice; a pipe is first copied to a file in ``folder``."""
    direct = EventFile(arguments)
    if direct.is_regular:
        yield direct
        return
    # PRIVACY: a pipe can be read only once. Its raw values are stored in an unnamed file of mode 0600, which is gone
    # when the run ends, however it ends.
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
    """Return an event's record key: its person if a separator is configured, else its series; None without either."""
    found = wire.decode(event)
    if isinstance(found, MemberRecord):
        return found.member.encode()
    return member_of(found.series, separator).encode() if found.series else None
