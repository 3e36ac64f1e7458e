"""What is wrong with a file of events: its columns, its times and its bytes, in words that hold no value of it."""

import re
from collections.abc import Sequence
from typing import BinaryIO, Final

from stream_app.plain import nearest

ISO = "2026-01-31T08:00:00+01:00"
ZONE = f"names no zone; write one, as in {ISO}, or Z for UTC"
SURPLUS: Final = "\0cells beyond the columns"
"""The key of such cells in a row: no column has that name."""

# PRIVACY: a message shows an example of the form that was found, never the time itself.
_FORMS: Final[tuple[tuple[str, str, str], ...]] = (
    (r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "2012-01-02", ZONE),
    (r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?", "2012-01-02 03:04", ZONE),
    (
        r"[0-9]{1,2}[/.-][0-9]{1,2}[/.-][0-9]{2,4}([ T,]+[0-9:. ]+([AaPp][Mm])?)?",
        "02/01/2012",
        f"may be of January or of February; write ISO 8601 with offset, as in {ISO}",
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
    (r"[0-9]{9,10}\.[0-9]+", "1325473440.5", "is in seconds; write whole milliseconds: times 1,000"),
    (r"[0-9]{16}", "1325473440000000", "is in microseconds; write milliseconds: divide by 1,000"),
    (r"[0-9]{19}", "1325473440000000000", "is in nanoseconds; write milliseconds: divide by 1,000,000"),
)
_KNOWN: Final = tuple((re.compile(form, re.ASCII), example, remedy) for form, example, remedy in _FORMS)
_SEPARATORS: Final = {";": '";"', "\t": "tabs", "|": '"|"'}


def time_fault(text: str) -> str:
    """Return what is wrong with a time in a form that people use, but no file of events has; empty for others."""
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
    return f"{found}; the first line names the columns: is it a row of data?"


def too_many_cells(row: dict[str, str], names: Sequence[str]) -> str:
    """Return what is wrong with a row that has more cells than there are columns."""
    cells = len(row) - 1 + len(row[SURPLUS])
    return (
        f"has {cells} cells, and the first line names {len(names)} columns; write numbers with a point, "
        "or quote cells that hold a comma"
    )


def encoding_fault(name: str, found: BinaryIO) -> str:
    """Return what is wrong with a file that is no text of UTF-8."""
    begins = found.read(4)
    if begins.startswith((b"\xff\xfe", b"\xfe\xff")):
        return f"{name}: is text of UTF-16; save it as UTF-8"
    if begins.startswith(b"PK"):
        return f"{name}: is a workbook or an archive, no text; save the sheet as CSV of UTF-8"
    if begins.startswith(b"\x1f\x8b"):
        return f"{name}: is compressed; unpack it first"
    found.seek(0)
    for number, line in enumerate(found, 1):
        try:
            line.decode()
        except UnicodeDecodeError:
            return f"{name}:{number}: is no text of UTF-8; save the file as UTF-8"
    return f"{name}: is no text of UTF-8; save it as UTF-8"
