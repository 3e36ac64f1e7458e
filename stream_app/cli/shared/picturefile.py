"""``--picture FILE``, as several commands take it: the option, its check before any work, and the writing."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from stream_app.cli import UsageError
from stream_app.files import unwritten
from stream_app.pictures import Draw, PlotError, picture, prepare


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
        raise UsageError(f"--picture {path}: its ending must name the format, such as .png, .svg or .pdf")


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
        raise UsageError(f"{options}{file}: {unwritten(error)}; name a file that can be written") from error
