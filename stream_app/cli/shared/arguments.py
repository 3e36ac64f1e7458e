"""Options that several commands take, and the words for what is wrong with them."""

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
"""Why work beside this process was given up."""


def add_config(parser: argparse.ArgumentParser) -> None:
    """Declare ``--config``."""
    parser.add_argument("--config", type=Path, help="configuration (default: landmark-stream.toml if it exists)")


def whole_number(wrong: str, least: int = 0, most: int | None = None) -> Callable[[str], int]:
    """Return what reads a whole number within bounds, and says of other text that it is what ``wrong`` says."""

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
    """Return what reads a number within bounds, and says of other text what ``wrong`` says, with the text in it."""

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
    """Return ms since 1970, of whole ones or of ISO 8601, else None; raises `UsageError` for a time without offset."""
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
    """Return the milliseconds that an argument names; raises `UsageError`, also for what is before 1970 if unwanted."""
    found = milliseconds_of(text)
    if found is None or (found < 0 and not negative):
        raise UsageError(f"{argument}: {text!r} is not a time; use integer ms, or ISO 8601 with offset")
    return found


FILE_OR_INPUT = "specify a readable file, or - for standard input"


@contextmanager
def readable(asked: object = "", remedy: str = "specify a readable file") -> Iterator[None]:
    """Raise `UsageError` for a file that cannot be read, by what ``asked`` for it, else by its name."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{asked or error.filename}: {unread(error)}; {remedy}") from error


@contextmanager
def writable(asked: str, what: str = "file") -> Iterator[None]:
    """Raise `UsageError` for a file or folder that cannot be written, by what ``asked`` for it."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{asked}: {unwritten(error)}; specify a writable {what}") from error


def add_picture(parser: argparse.ArgumentParser, shows: str) -> None:
    """Declare the option; ``shows`` is its help."""
    parser.add_argument("--picture", type=Path, metavar="FILE", help=shows)


def check_picture(path: Path | None) -> None:
    """Raise `UsageError` where a picture is asked for that cannot be drawn: without an ending, or matplotlib."""
    if path is None:
        return
    check_ending(path)
    with drawing():
        prepare()


def check_ending(path: Path) -> None:
    """Raise `UsageError` for a file name whose ending names no format."""
    if not path.suffix:
        raise UsageError(f"--picture {path}: the file extension must give the format, such as .png, .svg or .pdf")


def write_picture(path: Path, draws: Sequence[tuple[str, Draw]]) -> None:
    """Write plots with their titles; raises `UsageError` for an unknown format or a file that cannot be written."""
    with drawing():
        picture(path, draws)


@contextmanager
def drawing(options: str = "--picture") -> Iterator[None]:
    """Raise `UsageError` in place of what keeps plots from being drawn or written; ``options`` asked for them."""
    try:
        yield
    except PlotError as error:
        raise UsageError(f"{options}: {error}") from error
    except OSError as error:
        file = f" {error.filename}" if error.filename else ""
        raise UsageError(f"{options}{file}: {unwritten(error)}; specify a writable file") from error
