"""What looks wrong with an input: rows that cannot be read, and doubts about the whole, which ``--accept`` accepts."""

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from typing import BinaryIO, Final

from stream_app.cli import UsageError
from stream_app.plain import nearest
from stream_app.replaying.doubts import CHECKS, unaccepted
from stream_app.replaying.run import Answered

ISO = "2026-01-31T08:00:00+01:00"
ZONE = f"names no zone; write one, as in {ISO}, or Z for UTC"
SURPLUS: Final = "\0cells beyond the columns"  # the key of such cells in a row: no column has that name

# PRIVACY: a message shows an example of the form that was found, never the time itself.
_FORMS: Final[tuple[tuple[str, str, str], ...]] = (
    (r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "2012-01-02", ZONE),
    (r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?", "2012-01-02 03:04", ZONE),
    *(
        (
            rf"[0-9]{{1,2}}[{mark}][0-9]{{1,2}}[{mark}][0-9]{{2,4}}([ T,]+[0-9:. ]+([AaPp][Mm])?)?",
            f"02{mark}01{mark}2012",
            f"may be of January or of February; write ISO 8601 with offset, as in {ISO}",
        )
        for mark in "/.-"
    ),
    (
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)? ?[A-Za-z][A-Za-z/_ ]+",
        "2012-01-02 03:04 UTC",
        f"names its zone by letters; write Z for UTC, or the offset, as in {ISO}",
    ),
    (
        r"[0-9]{4}[/.][0-9]{1,2}[/.][0-9]{1,2}([ T,]+[0-9:. ]+)?",
        "2012/01/02 03:04",
        f"is no ISO 8601; write it with hyphens and offset, as in {ISO}",
    ),
    (
        r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*[0-9]{4}.*",
        "Mon, 02 Jan 2012 03:04:00 +0100",
        f"is that of mails (RFC 2822); write ISO 8601 with offset, as in {ISO}",
    ),
    (
        r"([0-9]{1,2}\.? )?(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.? .*[0-9]{4}.*",
        "Jan 2 2012 03:04",
        f"is no ISO 8601; write it with offset, as in {ISO}",
    ),
    (
        r"[0-9](\.[0-9]+)?[Ee]\+?[0-9]+",
        "1.33857E+12",
        "was rounded by a spreadsheet; show its column as whole numbers there, and save it anew",
    ),
    (r"[0-9]{12,13}\.[0-9]*", "1338566400000.0", "has a point; write whole milliseconds"),
    (r"[0-9]{9,10}\.[0-9]+", "1325473440.5", "is in seconds; write whole milliseconds: times 1,000"),
    (r"[0-9]{16}", "1325473440000000", "is in microseconds; write milliseconds: divide by 1,000"),
    (r"[0-9]{19}", "1325473440000000000", "is in nanoseconds; write milliseconds: divide by 1,000,000"),
)
_KNOWN: Final = tuple((re.compile(form, re.ASCII), example, remedy) for form, example, remedy in _FORMS)
_ANY_KNOWN: Final = re.compile("|".join(f"(?:{form})" for form, _, _ in _FORMS), re.ASCII)
_SEPARATORS: Final = {";": '";"', "\t": "tabs", "|": '"|"'}


def time_fault(text: str) -> str:
    """Return what is wrong with a time in a form that people use, but no file of events has; empty for others."""
    if not _ANY_KNOWN.fullmatch(text):
        return ""  # asked once for each row, and nearly always so
    return next((f"a time like {example} {remedy}" for form, example, remedy in _KNOWN if form.fullmatch(text)), "")


def missing_columns(missing: Sequence[str], wanted: Sequence[str], names: Sequence[str]) -> str:
    """Return what is wrong where columns are not there, with the one that was perhaps meant."""
    for mark, said in _SEPARATORS.items():
        if len(names) == 1 and set(missing) & {each.strip() for each in names[0].split(mark)}:
            return f"its columns are separated by {said}; save it with commas, and with points in its numbers"
    found = f"no column {', '.join(missing)} among the {len(names)} that it names"
    # PRIVACY: names are shown where they are names for certain: without a header they would be the first row's raw
    # values. A row of data has a time, which has digits, and none of the columns that were asked for.
    if set(wanted) & set(names) or not any(character.isdigit() for name in names for character in name):
        near = [known for name in missing if (known := nearest(name, names))]
        return f"{found}; did you mean {', '.join(near)}?" if near else found
    return f"{found}; the first line names the columns: is it a title, or a row of data?"


def too_many_cells(row: dict[str, str], names: Sequence[str]) -> str:
    """Return what is wrong with a row that has more cells than there are columns."""
    cells = len(row) - 1 + len(row[SURPLUS])
    return (
        f"has {cells} cells, and the first line names {len(names)} columns; write numbers with a point, "
        "or quote cells that hold a comma"
    )


def doubled_column(wanted: Iterable[str], names: Sequence[str]) -> str:
    """Return what is wrong where several columns have a name that was asked for; empty where none has."""
    several = next((name for name in wanted if names.count(name) > 1), None)
    return "" if several is None else f"several columns are called {several}; give each a name of its own"


_BINARY: Final = {
    b"PK\x03\x04": "is a workbook or an archive, no text; save the sheet as CSV of UTF-8",
    b"\x1f\x8b": "is compressed; unpack it first",
    b"BZh": "is compressed; unpack it first",
    b"\xfd7zXZ": "is compressed; unpack it first",
    b"\x28\xb5\x2f\xfd": "is compressed; unpack it first",
    b"PAR1": "is Parquet, no text; write it as CSV or as JSON Lines",
    b"\xff\xfe": "is text of UTF-16; save it as UTF-8",
    b"\xfe\xff": "is text of UTF-16; save it as UTF-8",
}
"""How files begin that hold no line of text of UTF-8."""


def binary_fault(name: str, begins: bytes) -> str:
    """Return what is wrong with a file by its first bytes; empty where these may be text."""
    known = next((said for mark, said in _BINARY.items() if begins.startswith(mark)), "")
    if not known and b"\0" in begins[:2]:  # text of UTF-16 without its mark
        known = _BINARY[b"\xff\xfe"]
    return known and f"{name}: {known}"


def encoding_fault(name: str, found: BinaryIO) -> str:
    """Return what is wrong with a file that is no text of UTF-8."""
    for number, line in enumerate(found, 1):
        try:
            line.decode()
        except UnicodeDecodeError:
            return f"{name}:{number}: is no text of UTF-8; save the file as UTF-8"
    return f"{name}: is no text of UTF-8; save it as UTF-8"


def add_accept(parser: argparse.ArgumentParser) -> None:
    """Declare ``--accept``."""
    checks = "; ".join(f"{name}: {fails}".replace("%", "%%") for name, fails in CHECKS.items())
    what = "go on although this check fails, which else ends the command before anything is done; may be repeated"
    parser.add_argument(
        "--accept", action="append", choices=sorted(CHECKS), default=[], metavar="CHECK", help=f"{what}. {checks}"
    )


def refuse_doubts(answered: Answered, accepted: Sequence[str], name: str, done: str, more: Iterable[str] = ()) -> None:
    """Raise `UsageError` with each check that failed and was not accepted; ``more`` says more of refused rows."""
    found = unaccepted(answered.doubts, accepted)
    if not found:
        return
    lines = [f"{name}: {doubt.found}; if that is meant, add --accept {doubt.check}" for doubt in found]
    if {"order", "refused"} & {doubt.check for doubt in found}:
        lines += more
    raise UsageError("\n".join([*lines, f"{name}: nothing was {done}"]))


def tell_clamped(answered: Answered, command: str) -> None:
    """Tell whoever has the input how many of its values are clamped."""
    # PRIVACY: how many raw values lie outside the range is no released value. It goes to the standard error of whoever
    # runs the command on these values, with a mark; no output, log of a worker, metric or report has it.
    if count := answered.rows.clamped:
        rows = f"{count:,} of {answered.rows.count:,} rows"
        told = f"{rows} have a value outside the range of their policy; it is clamped before noise is added"
        print(f"landmark-stream {command}: PRIVATE, protect this like the raw data: {told}", file=sys.stderr)
