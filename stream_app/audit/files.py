"""Ledger and releases from JSON Lines files, read side by side so that neither runs far ahead of the other."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

from stream_app.audit.auditor import Auditor

LONGEST_LINE: Final = 1024 * 1024
"""Bytes of a line; a longer one is no record, and is not held in memory."""
TURN: Final = 256
"""Lines read of one file before the other may have its turn."""

Progress = Callable[[int, int], None]
"""Told of the bytes read and of the bytes there are."""


class _Lines:
    """The lines of a file, without their ends and without empty ones."""

    def __init__(self, file: BinaryIO, size: int, feed: Callable[[bytes], None]) -> None:
        self._file = file
        self._size = max(size, 1)
        self._feed = feed
        self.read = 0  # bytes
        self.count = 0  # lines fed
        self.ended = False

    @property
    def share(self) -> float:
        """How much of the file was read; above everything once it ended."""
        return 2.0 if self.ended else self.read / self._size

    def turn(self) -> None:
        """Feed up to `TURN` lines."""
        readline, feed = self._file.readline, self._feed
        for _ in range(TURN):
            line = readline(LONGEST_LINE)
            if not line:
                self.ended = True
                return
            self.read += len(line)
            if not line.endswith(b"\n"):
                self._skip()
            line = line.rstrip(b"\r\n")
            if line:
                self.count += 1
                feed(line)

    def _skip(self) -> None:
        """Pass over the rest of a line that is too long to be a record."""
        while line := self._file.readline(LONGEST_LINE):
            self.read += len(line)
            if line.endswith(b"\n"):
                return


def read_files(auditor: Auditor, ledger: Path, releases: Path | None, progress: Progress | None = None) -> int:
    """Feed the files to `auditor`; return how many lines the ledger has.

    Raises:
        OSError: a file cannot be read.
    """
    with ExitStack() as stack:
        sides = []
        for path, feed in ((ledger, auditor.entry), (releases, auditor.release)):
            if path is not None:
                sides.append(_Lines(stack.enter_context(path.open("rb")), path.stat().st_size, feed))
        total = sum(path.stat().st_size for path in (ledger, releases) if path is not None)
        while not all(side.ended for side in sides):
            min(sides, key=lambda side: side.share).turn()
            if progress is not None:
                progress(sum(side.read for side in sides), total)
        return sides[0].count
