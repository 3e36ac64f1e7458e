"""Options that several commands take, and the words for what is wrong with them."""

import argparse
import re
from datetime import datetime
from pathlib import Path

from stream_app.cli import UsageError

LAST_PORT = 65_535
INTEGER = re.compile(r"-?[0-9]{1,18}", re.ASCII)  # beyond it, no timestamp and no count


ENDED = (
    "one of its processes was ended from outside, as systems do when memory is short; give fewer --jobs, or make room"
)
"""Why work beside this process was given up."""


def add_config(parser: argparse.ArgumentParser) -> None:
    """Declare ``--config``."""
    parser.add_argument("--config", type=Path, help="settings (default: landmark-stream.toml, if it is there)")


def natural(text: str) -> int:
    """Return a whole number; raises `argparse.ArgumentTypeError` for what is none from 0 on."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 on")
    return int(text)


def positive(text: str) -> int:
    """Return a whole number; raises `argparse.ArgumentTypeError` for what is none above 0."""
    if not text.isascii() or not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def port(text: str) -> int:
    """Return a port, 0 for any free one; raises `argparse.ArgumentTypeError` for what is none."""
    if not text.isascii() or not text.isdigit() or int(text) > LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; write a whole number from 0 to {LAST_PORT}")
    return int(text)


def milliseconds_of(text: str) -> int | None:
    """Return milliseconds since 1970-01-01 UTC, of whole milliseconds or of ISO 8601; None for anything else.

    Raises:
        UsageError: for a time without an offset from UTC.
    """
    if INTEGER.fullmatch(text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        raise UsageError("a timestamp without offset from UTC; write one, as in 2026-01-31T08:00:00+01:00")
    # Exact: floats of seconds would misplace milliseconds.
    elapsed = moment - datetime.fromisoformat("1970-01-01T00:00:00+00:00")
    return (elapsed.days * 86_400 + elapsed.seconds) * 1000 + elapsed.microseconds // 1000


def moment_of(argument: str, text: str, *, negative: bool = True) -> int:
    """Return the milliseconds that an argument names; raises `UsageError`, also for what is before 1970 if unwanted."""
    found = milliseconds_of(text)
    if found is None or (found < 0 and not negative):
        raise UsageError(f"{argument}: {text!r} is no moment; write integer ms, or ISO 8601 with offset")
    return found
