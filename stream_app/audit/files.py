"""Ledger and releases from JSON Lines files, read side by side so that neither runs far ahead of the other."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

from stream_app.audit.auditor import Auditor

LONGEST_LINE: Final = 1024 * 1024
"""Bytes of a line; a longer one is no record, and is not held in memory."""
REPORTED: Final = 1000
"""Lines between two reports of progress."""

Progress = Callable[[int, int], None]
"""Told of the bytes read and of the bytes there are."""


class _Lines:
    """The lines of a file, without their ends and without empty ones."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = max(size, 1)
        self.read = 0  # bytes
        self.ended = False

    @property
    def share(self) -> float:
        """How much of the file was read; above everything once it ended."""
        return 2.0 if self.ended else self.read / self._size

    def next(self) -> bytes | None:
        while line := self._file.readline(LONGEST_LINE):
            self.read += len(line)
            if not line.endswith(b"\n"):
                for more in iter(lambda: self._file.readline(LONGEST_LINE), b""):
                    self.read += len(more)
                    if more.endswith(b"\n"):
                        break
            line = line.rstrip(b"\r\n")
            if line:
                return line
        self.ended = True
        return None


def read_files(auditor: Auditor, ledger: Path, releases: Path | None, progress: Progress | None = None) -> int:
    """Feed the files to `auditor`; return how many lines the ledger has.

    Raises:
        OSError: a file cannot be read.
    """
    with ExitStack() as stack:
        opened = [stack.enter_context(path.open("rb")) for path in (ledger, releases) if path is not None]
        sizes = [path.stat().st_size for path in (ledger, releases) if path is not None]
        sides = [_Lines(file, size) for file, size in zip(opened, sizes, strict=True)]
        total = sum(sizes)
        count = 0
        for turn, (side, line) in enumerate(_in_step(sides)):
            if side is sides[0]:
                count += 1
                auditor.entry(line)
            else:
                auditor.release(line)
            if progress is not None and turn % REPORTED == 0:
                progress(sum(each.read for each in sides), total)
        if progress is not None:
            progress(total, total)
        return count


def _in_step(sides: list[_Lines]) -> Iterator[tuple[_Lines, bytes]]:
    """Yield lines of whichever side is behind, by the share of its bytes."""
    while True:
        side = min(sides, key=lambda each: each.share)
        if side.ended:
            return
        line = side.next()
        if line is not None:
            yield side, line
