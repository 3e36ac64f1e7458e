"""Options that several commands share, and the messages for their errors."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from math import nan
from pathlib import Path

from stream_app.calendar.localtime import milliseconds
from stream_app.cli import UsageError
from stream_app.files import unread, unwritten
from stream_app.pictures import Draw, PlotError, picture, prepare
from stream_app.plain import INTEGER

LAST_PORT = 65_535

ENDED = "one of its processes was killed, as happens when memory runs out; use fewer --jobs, or free memory"
"""The reason to report if work in other processes was abandoned."""


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add ``--config``."""
    parser.add_argument("--config", type=Path, help="configuration (default: landmark-stream.toml if it exists)")


def whole_number(wrong: str, least: int = 0, most: int | None = None) -> Callable[[str], int]:
    """Return a parser for whole numbers within bounds; its error message is the text followed by ``wrong``."""

    def read(text: str) -> int:
        number = int(text) if text.isascii() and text.isdigit() else -1
        if number < least or (most is not None and number > most):
            raise argparse.ArgumentTypeError(f"{text!r} {wrong}")
        return number

    return read


natural = whole_number("is not a whole number of at least 0")
positive = whole_number("is not a whole number above 0", 1)
port = whole_number(f"is not a port; use a whole number from 0 to {LAST_PORT}", 0, LAST_PORT)


def number(wrong: str, least: float, most: float) -> Callable[[str], float]:
    """Return a parser for numbers within bounds; its error message is ``wrong`` with the text inserted."""

    def read(text: str) -> float:
        try:
            found = float(text)
        except ValueError:
            found = nan
        if not least <= found <= most:
            raise argparse.ArgumentTypeError(wrong.format(repr(text)))
        return found

    return read


def milliseconds_of(text: str) -> int | None:
    """Return ms since 1970 from a whole number or ISO 8601, or None for other text.

    Raises `UsageError` for a time without an offset.
    """
    if INTEGER.fullmatch(text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        raise UsageError("a timestamp without a UTC offset; add one, as in 2026-01-31T08:00:00+01:00")
    return milliseconds(moment)


def moment_of(argument: str, text: str, *, negative: bool = True) -> int:
    """Return the milliseconds of an argument; raise `UsageError` for invalid or unwanted negative times."""
    found = milliseconds_of(text)
    if found is None or (found < 0 and not negative):
        raise UsageError(f"{argument}: {text!r} is not a time; use integer ms, or ISO 8601 with offset")
    return found


FILE_OR_INPUT = "specify a readable file, or - for standard input"


@contextmanager
def readable(asked: object = "", remedy: str = "specify a readable file") -> Iterator[None]:
    """Raise `UsageError` for an unreadable file, naming the option in ``asked`` or, if that is empty, the file."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{asked or error.filename}: {unread(error)}; {remedy}") from error


@contextmanager
def writable(asked: str, what: str = "file") -> Iterator[None]:
    """Raise `UsageError` for a file or folder that cannot be written, naming the option in ``asked``."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{asked}: {unwritten(error)}; specify a writable {what}") from error


def add_picture(parser: argparse.ArgumentParser, shows: str) -> None:
    """Add ``--picture``; ``shows`` is its help."""
    parser.add_argument("--picture", type=Path, metavar="FILE", help=shows)


def check_picture(path: Path | None) -> None:
    """Raise `UsageError` if a requested picture has no file ending or matplotlib is missing."""
    if path is None:
        return
    check_ending(path)
    with drawing():
        prepare()


def check_ending(path: Path) -> None:
    """Raise `UsageError` if a file name has no ending to determine the format."""
    if not path.suffix:
        raise UsageError(f"--picture {path}: the file extension must give the format, such as .png, .svg or .pdf")


def write_picture(path: Path, draws: Sequence[tuple[str, Draw]]) -> None:
    """Write plots with their titles; raise `UsageError` for an unknown format or an unwritable file."""
    with drawing():
        picture(path, draws)


@contextmanager
def drawing(options: str = "--picture") -> Iterator[None]:
    """Raise `UsageError`, naming the ``options``, if plots cannot be drawn or written."""
    try:
        yield
    except PlotError as error:
        raise UsageError(f"{options}: {error}") from error
    except OSError as error:
        file = f" {error.filename}" if error.filename else ""
        raise UsageError(f"{options}{file}: {unwritten(error)}; specify a writable file") from error
