"""Reads a ledger, its releases and checkpoints from files, without a broker, key or configuration."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

from stream_app.audit import Auditor
from stream_app.audit.files import Feed, UncommittedError, read_files, read_lines
from stream_app.cli import UsageError, mendable
from stream_app.cli.ledger.headoptions import feed_head_files
from stream_app.cli.shared.arguments import readable
from stream_app.cli.shared.terminal import progress

if TYPE_CHECKING:
    from stream_app.setup.settings import Settings

NANO = 10**9
LARGEST = Decimal(sys.float_info.max)  # far above any configurable lifetime, so every ledger can be audited


def add_lifetime(parser: argparse.ArgumentParser) -> None:
    """Add ``--lifetime``."""
    lifetime_help = (
        "limit on a series' loss over all its policy versions (default: lifetime_epsilon of the configuration; if "
        "that is not set, each series' first epsilon)"
    )
    parser.add_argument("--lifetime", type=_nano, metavar="EPSILON", help=lifetime_help)


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add ``--config``, which `settings_of` reads."""
    config_help = "configuration (default: landmark-stream.toml if it exists; none with --ledger)"
    parser.add_argument("--config", type=Path, help=config_help)


def settings_of(arguments: argparse.Namespace) -> "Settings | None":
    """Return the settings, or None if the ledger is a file and there is no ``--config``."""
    if arguments.ledger is not None and arguments.config is None:
        return None
    # Importing the settings and a Kafka client takes seconds, and reading files needs neither.
    from stream_app.cli.shared.configured import settings_of as found_settings_of  # noqa: PLC0415

    return found_settings_of(arguments)


def lifetime_of(arguments: argparse.Namespace, settings: "Settings | None") -> int | None:
    """Return the lifetime in nano-epsilon; None means each series' first epsilon."""
    given: int | None = arguments.lifetime
    if given is not None or settings is None or settings.lifetime_epsilon is None:
        return given
    return _nano(repr(settings.lifetime_epsilon))


def _nano(text: str) -> int:
    """Return an epsilon in nano-epsilon; raise `argparse.ArgumentTypeError` unless it is a positive float."""
    try:
        epsilon = Decimal(text)
    except InvalidOperation:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not epsilon.is_finite() or not 0 < epsilon <= LARGEST:
        raise argparse.ArgumentTypeError(f"{text} is not above 0, or is too large")
    return int(epsilon * NANO)


def reads_twice(arguments: argparse.Namespace) -> bool:
    """Return whether the ledger will be read a second time."""
    shown = arguments.html is not None or arguments.picture is not None or arguments.plain
    return shown or bool(arguments.correlation or arguments.compose)


@contextmanager
def reading(ledger: Path, asked: str = "") -> Iterator[None]:
    """Turn errors about aborted entries and unreadable files into `UsageError`.

    An error about aborted entries names ``--ledger``; an error about a file names the option in ``asked`` or, if that
    is empty, the file.
    """
    with mendable(UncommittedError, by=f"--ledger {ledger}: "), readable(asked):
        yield


class FileSource:
    """A ledger in a file, together with the named files of releases and signed checkpoints."""

    topic = None  # name of the ledger's topic; a file has none

    def __init__(self, arguments: argparse.Namespace) -> None:
        ledger = arguments.ledger
        if arguments.no_releases:
            raise UsageError("--no-releases: only for topics; omit --releases instead")
        if reads_twice(arguments) and ledger.exists() and not ledger.is_file():
            raise UsageError(
                f"--ledger {ledger}: --html, --plain, --picture, --correlation and --compose read it twice, but a pipe "
                "can be read only once; specify a regular file"
            )
        self._arguments = arguments
        self.has_releases = arguments.releases is not None

    def read(self, auditor: Auditor) -> None:
        """Pass all records to an auditor. A missing partner record is a finding, because the files are complete."""
        ledger = self._arguments.ledger
        feed_head_files(self._arguments, auditor)
        with reading(ledger), progress("audit") as shown:
            lines = read_files(auditor, ledger, self._arguments.releases, shown)
        if lines and not auditor.recognised:
            raise UsageError(f"--ledger {ledger}: none of its {lines} lines is a ledger entry; specify the ledger file")

    def again(self, feed: Feed) -> None:
        """Read the ledger again, because the series to draw are known only after the first reading."""
        with progress("draw") as shown:
            read_lines(self._arguments.ledger, feed, shown)
