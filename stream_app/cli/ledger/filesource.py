"""The part of ``audit`` that reads files; it needs no broker, no key file and no configuration."""

import argparse

from stream_app.audit import Auditor
from stream_app.audit.files import Feed, UncommittedError, read_files, read_lines
from stream_app.cli import UsageError
from stream_app.cli.ledger.headoptions import feed_head_files
from stream_app.cli.shared.progress import progress
from stream_app.files import unread


def reads_twice(arguments: argparse.Namespace) -> bool:
    """Tell whether the ledger will be read a second time."""
    shown = arguments.html is not None or arguments.picture is not None or arguments.plain
    return shown or bool(arguments.correlation or arguments.compose)


class FileSource:
    """A ledger in a file, and the files of releases and heads that are named with it."""

    topic = None  # the name of the ledger's topic: a file has none

    def __init__(self, arguments: argparse.Namespace) -> None:
        """Take the files that the arguments name."""
        ledger = arguments.ledger
        if arguments.no_releases:
            raise UsageError("--no-releases: it is for the topics; leave --releases away instead")
        if reads_twice(arguments) and ledger.exists() and not ledger.is_file():
            raise UsageError(
                f"--ledger {ledger}: --html, --plain, --picture, --correlation and --compose read it twice, which no "
                "pipe can be; name a regular file"
            )
        self._arguments = arguments

    @property
    def has_releases(self) -> bool:
        """Whether releases will be read."""
        return self._arguments.releases is not None

    def read(self, auditor: Auditor) -> None:
        """Feed everything to an auditor. The files are complete, so a missing partner is a finding."""
        ledger = self._arguments.ledger
        feed_head_files(self._arguments, auditor)
        try:
            with progress("audit") as shown:
                lines = read_files(auditor, ledger, self._arguments.releases, shown)
        except OSError as error:
            raise UsageError(f"{error.filename}: {unread(error)}; name a file that can be read") from error
        except UncommittedError as error:
            raise UsageError(f"--ledger {ledger}: {error}") from None
        if lines and not auditor.recognised:
            raise UsageError(f"--ledger {ledger}: none of its {lines} lines is a ledger entry; is it the ledger?")

    def again(self, feed: Feed) -> None:
        """Feed the ledger once more: which series are drawn is known only after the first reading."""
        with progress("draw") as shown:
            read_lines(self._arguments.ledger, feed, shown)
