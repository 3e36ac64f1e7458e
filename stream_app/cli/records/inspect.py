"""``inspect``: describe a file, the gaps in its mapping, and the next command, without processing any record."""

import argparse
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

from stream_app.calendar.words import duration_in_words, moment_in_words
from stream_app.cli import UsageError
from stream_app.cli.shared.arguments import readable
from stream_app.cli.shared.doubtful import binary_fault, encoding_fault
from stream_app.cli.shared.terminal import say, tracked
from stream_app.formats import wire
from stream_app.mapping.cells import FileError
from stream_app.mapping.events import MappedFile
from stream_app.mapping.form import SEPARATORS, FileMapping
from stream_app.mapping.inspection import LANGUAGES, Column, Inspection, inspected
from stream_app.mapping.members import read_mapping
from stream_app.mapping.times import Times

SERIES = "my-series"
RANGE = (
    "`inspect` proposes no lower or upper bound: a policy's range is public, so take it from what the sensor can "
    "show, not from these readings."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = "The output depends on the readings: protect it like the file."
    parser.add_argument("file", type=Path, help="a file exported by a meter, a sensor or a phone")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Inspect the file and return 0; raise `UsageError` if it is unreadable or has no records."""
    path: Path = arguments.file
    found = _inspected(path)
    mapping = read_mapping(found.named[0]) if found.named else found.mapping
    found = replace(found, local=found.local and mapping.zone is None)
    times, newest_first = _times(path, mapping, found)
    command = _command(path, found)
    if arguments.json:
        print(wire.dump(_document(found, times, command)).decode())
        return 0
    say(
        "\n".join(
            [
                *_lines(path, found),
                *_of_times(found, times, newest_first=newest_first),
                *_lacking(found),
                RANGE,
                "",
                f"Next: {command}",
            ]
        )
    )
    return 0


def _inspected(path: Path) -> Inspection:
    try:
        with readable(path), path.open("rb") as file:
            if fault := binary_fault(str(path), file.peek(8)):
                raise UsageError(fault)
            return inspected(file)
    except FileError as error:
        raise UsageError(error.of(path)) from None
    except UnicodeDecodeError:
        with path.open("rb") as file:
            raise UsageError(encoding_fault(str(path), file)) from None


def _times(path: Path, mapping: FileMapping, found: Inspection) -> tuple[Times | None, bool]:
    """Return the times of all rows (None if the mapping has no times), and whether the newest row comes first."""
    values = mapping.value_columns or {"": found.values[0] if found.values else ""}
    if not mapping.timestamp_columns or "" in values.values():
        return None, False
    # In another zone the intervals between rows are the same, except when clocks change.
    whole = replace(
        mapping, value_columns=values, series=SERIES, series_column=None, zone=mapping.zone or ZoneInfo("UTC")
    )
    whole = replace(whole, time_format=mapping.time_format or (found.formats[0] if found.formats else "") or None)
    read = MappedFile(replace(whole, words={}, missing=frozenset(), differences=False, multiply=None, single=()))
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            rows = tracked(read.moments(file), "inspect", lambda: (0 if file.closed else file.tell(), size))
            return Times.of(moment for moment in rows if moment is not None), read.newest_first
    except (FileError, UnicodeDecodeError):
        return None, False


def _lines(path: Path, found: Inspection) -> Iterator[str]:
    marks = "" if found.separator is None else f", separated by {SEPARATORS[found.separator]}"
    header = (
        f"; line {found.header_line} contains the column names"
        if found.header_line
        else "; no line contains column names"
    )
    records = f"; records under {found.mapping.records}" if found.mapping.records else ""
    yield f"{path}: {LANGUAGES[found.form]}{marks}{header if found.form == 'text' else records}"
    width = max((len(column.name) for column in found.columns), default=0)
    for column in found.columns:
        yield f"  {column.name:{width}}  {_sort(column, found):7}  {'  '.join(column.shapes)}".rstrip() + _empty(column)
    if found.named:
        yield f"It has the columns of the mapping {found.named[0]}."


def _sort(column: Column, found: Inspection) -> str:
    return (
        "time"
        if column.name in {*found.times, *found.mapping.timestamp_columns}
        else ("number" if column.name in found.values else "")
    )


def _empty(column: Column) -> str:
    rows, words = column.empty + len(column.cells), f"; words: {', '.join(column.words)}" if column.words else ""
    return (f"  ({column.empty:,} of the first {rows:,} empty)" if column.empty else "") + words


def _of_times(found: Inspection, times: Times | None, *, newest_first: bool) -> Iterator[str]:
    if times is None:
        return
    zone = " as if local times were UTC" if found.local else ""
    first, last = moment_in_words(times.first_ms), moment_in_words(times.last_ms)
    order = ", newest first" if newest_first else ""
    apart = duration_in_words(times.interval_ms)
    yield f"{times.rows:,} rows from {first} to {last}{zone}{order}; most are {apart} apart"
    yield f"gaps: {times.gaps:,}; repeated times: {times.repeated:,}; rows out of order: {times.backwards:,}"


def _lacking(found: Inspection) -> Iterator[str]:
    if found.form == "events":
        return
    if not found.times and not found.mapping.timestamp_columns:
        yield (
            "No column has times in a known format: specify the column with --timestamp-column and its format with "
            "--time-format."
        )
    if len(found.formats) > 1 and not found.named:
        yield f"The day or the month may come first: add --time-format, one of {', '.join(map(repr, found.formats))}."
    if found.local:
        yield "Times have no UTC offset: set their time zone with --zone, as in --zone Europe/Paris."
    if not found.named and not found.mapping.value_columns:
        candidates = ", ".join(found.values) or "none has numbers"
        yield f"Several columns may be the value: choose one with --value-columns ({candidates})."
    of_values = {word for column in found.columns if column.name in found.values for word in column.words}
    if any(column.thousands for column in found.columns if column.name in found.mapping.value_columns.values()):
        yield "A number like 13,600 may mean 13.6 (add --decimal ,) or 13600 (write it without the comma)."
    if of_values and not found.named:
        yield (
            "Specify what these words in the value column mean, with --words or --missing: "
            f"{', '.join(sorted(of_values))}."
        )
    for name in _mixed(found):
        yield f"{name} has several texts: choose one sort of reading with --where {name}=TEXT."
    yield "Set the series with --series, or its column with --series-column."


def _mixed(found: Inspection) -> list[str]:
    """Return the columns that should have the same text throughout a series but have several texts."""
    single = read_mapping(found.named[0]).single if found.named else ()
    return [one.name for one in found.columns if one.name in single and len(set(one.cells)) > 1]


def _command(path: Path, found: Inspection) -> str:
    """Return the command that shows the events, with placeholders for what is still missing."""
    if found.form == "events":
        return f"landmark-stream replay {shlex.quote(str(path))} --out private --policies policies.jsonl"
    words = ["landmark-stream", "convert", str(path), "--series", SERIES]
    mapping = found.mapping
    if found.named:
        words += ["--mapping", found.named[0]]
        words += [word for name in _mixed(found) for word in ("--where", f"{name}=TEXT")]
    else:
        for column in mapping.timestamp_columns or ("COLUMN",):
            words += ["--timestamp-column", column]
        if len(found.formats) > 1 or mapping.time_format:
            words += ["--time-format", mapping.time_format or "FORMAT"]
        values = [f"{part}={column}" if part else column for part, column in mapping.value_columns.items()]
        words += ["--value-columns", ",".join(map(_quoted, values)) or "COLUMN"]
        of_value = {column.name: column for column in found.columns if column.name in mapping.value_columns.values()}
        words += ["--missing", "''"] if any(column.empty for column in of_value.values()) else []
        words += ["--decimal", mapping.decimal] if mapping.decimal != "." else []
        words += ["--records", mapping.records] if mapping.records else []
        words += ["--no-header"] if mapping.no_header else []
    words += ["--zone", "ZONE"] if found.local else []
    return " ".join("\"''\"" if word == "''" else shlex.quote(word) for word in words)


def _quoted(name: str) -> str:
    return f'"{name}"' if "," in name else name


def _document(found: Inspection, times: Times | None, command: str) -> dict[str, object]:
    columns: Sequence[dict[str, object]] = [
        {"name": one.name, "shapes": one.shapes, "empty": one.empty, "words": one.words} for one in found.columns
    ]
    return {
        "form": found.form,
        "separator": found.separator,
        "header_line": found.header_line,
        "records": found.mapping.records,
        "columns": columns,
        "mappings": found.named,
        "times": found.times,
        "values": found.values,
        "formats": found.formats,
        "local": found.local,
        "rows": None if times is None else {name: getattr(times, name) for name in Times.__slots__},
        "next": command,
    }
