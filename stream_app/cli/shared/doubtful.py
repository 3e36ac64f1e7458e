"""Signs of wrong input: unreadable rows, and doubts about a whole file, which ``--accept`` overrides."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import BinaryIO, Final

from stream_app.cli import UsageError
from stream_app.plain import NOT_UTF8, PRIVATE
from stream_app.replaying.doubts import ALIASES, CHECKS, unaccepted
from stream_app.replaying.processing import RunResult

_BINARY: Final = {
    b"PK\x03\x04": "is a workbook or an archive; save the sheet as CSV in UTF-8, or unpack the archive",
    b"\x1f\x8b": "is compressed; unpack it first",
    b"BZh": "is compressed; unpack it first",
    b"\xfd7zXZ": "is compressed; unpack it first",
    b"\x28\xb5\x2f\xfd": "is compressed; unpack it first",
    b"PAR1": "is Parquet; convert it to CSV or JSON Lines",
    b"\xff\xfe": "is text in UTF-16; save it as UTF-8",
    b"\xfe\xff": "is text in UTF-16; save it as UTF-8",
}
"""The first bytes of files that are not UTF-8 text."""


def binary_fault(name: str, begins: bytes) -> str:
    """Return what is wrong with a file, judging by its first bytes; return "" if those bytes may be text."""
    known = next((said for mark, said in _BINARY.items() if begins.startswith(mark)), "")
    if not known and b"\0" in begins[:2]:  # UTF-16 without byte order mark
        known = _BINARY[b"\xff\xfe"]
    return known and f"{name}: {known}"


def encoding_fault(name: str, found: BinaryIO) -> str:
    """Return what is wrong with a file that is not UTF-8 text."""
    for number, line in enumerate(found, 1):
        try:
            line.decode()
        except UnicodeDecodeError:
            return f"{name}:{number}: {NOT_UTF8}"
    return f"{name}: {NOT_UTF8}"


def add_accept(parser: argparse.ArgumentParser) -> None:
    """Add ``--accept``."""
    checks = "; ".join(f"{name}: {fails}".replace("%", "%%") for name, fails in CHECKS.items())
    what = "continue even if this check fails; otherwise the command stops before it does anything; may be repeated"
    parser.add_argument(
        "--accept",
        action="append",
        choices=sorted([*CHECKS, *ALIASES]),
        default=[],
        metavar="CHECK",
        help=f"{what}. {checks}",
    )


def refuse_doubts(answered: RunResult, accepted: Sequence[str], name: str, done: str, more: Iterable[str] = ()) -> None:
    """Raise a `UsageError` that lists each failed check that was not accepted; ``more`` explains refused rows."""
    found = unaccepted(answered.doubts, accepted)
    if not found:
        return
    lines = [f"{name}: {_joined(doubt.found, f'if this is intended, add --accept {doubt.check}')}" for doubt in found]
    if {"order", "refused", "substituted"} & {doubt.check for doubt in found}:
        lines += more
    raise UsageError("\n".join([*lines, f"{name}: nothing was {done}"]))


def _joined(found: str, more: str) -> str:
    """Return two clauses as one sentence, or as two sentences if the first is a question."""
    return f"{found} {more[0].upper()}{more[1:]}" if found.endswith("?") else f"{found}; {more}"


def tell_clamped(answered: RunResult, command: str) -> None:
    """Tell the owner of the input how many input values are clamped."""
    # PRIVACY: the number of raw values that lie outside the range, or are no values, is not a released value. It goes
    # to the standard error of whoever runs the command on these values, with a mark; no output, log, metric or report
    # has it.
    ranges, rows = answered.rows.ranges, answered.rows.count
    if ranges.outside:
        told = f"{ranges.outside:,} of {ranges.values:,} values lie outside the range of their policy and are clamped"
        print(f"landmark-stream {command}: {PRIVATE}: {told}", file=sys.stderr)
    if ranges.substituted:
        told = f"the policy's substitute replaces {ranges.substituted:,} of {rows:,} values"
        print(f"landmark-stream {command}: {PRIVATE}: {told}", file=sys.stderr)
