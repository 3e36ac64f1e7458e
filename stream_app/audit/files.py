"""Reads the ledger and its releases from JSON Lines files alternately, so that neither gets far ahead."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

from stream_app.audit.auditor import Auditor

LONGEST_LINE: Final = 1024 * 1024  # bytes; a longer line is not a record and is not kept in memory
BLOCK: Final = 128 * 1024  # bytes read from one file before the other has its turn

UNCOMMITTED: Final = b'{"ledger":"uncommitted"}'
"""The first line printed by `read ledger --uncommitted`, whose output also contains aborted entries."""

Feed = Callable[[Sequence[bytes]], None]  # accepts records as they arrive, in batches
Progress = Callable[[int, int], None]
"""Called with the amount read and the total: bytes of files or offsets of topics."""


class UncommittedError(Exception):
    """A ledger that contains aborted entries, which an audit would count as forks and as spent epsilon."""

    def __init__(self) -> None:
        super().__init__(
            "was read with --uncommitted, which is only for `left`; pass the output of `read ledger` "
            "without that option"
        )


class LineReader:
    """Feeds a file's lines block by block, without line ends or empty lines; `size` is in bytes."""

    def __init__(self, file: BinaryIO, size: int, feed: Feed) -> None:
        self._file = file
        self._size = max(size, 1)
        self._feed = feed
        self._rest = b""  # the beginning of a line that has not ended yet
        self._passing = False  # whether that line is too long for a record: only its start is fed
        self.read = 0  # bytes
        self.count = 0  # lines fed
        self.ended = False

    @property
    def share(self) -> float:
        """The part of the file read so far, from 0 to 1, or 2 after its end, so that this file never lags behind."""
        return 2.0 if self.ended else self.read / self._size

    def turn(self) -> None:
        """Read the next block and feed the lines that end in it; at the end of the file, feed the last line."""
        block = self._file.read(BLOCK)
        self.read += len(block)
        self.ended = not block
        text = self._rest + block
        lines = text.split(b"\n")
        rest = lines.pop()
        if self._passing:
            self._passing = not lines
            del lines[:1]
            rest = b"" if self._passing else rest
        if self.ended or len(rest) > LONGEST_LINE:
            self._passing = not self.ended
            lines.append(rest)
            rest = b""
        self._rest = rest
        if b"\r" in text:
            lines = [line.rstrip(b"\r") for line in lines]
        found = [line for line in lines if line]
        if UNCOMMITTED in found:
            raise UncommittedError
        self.count += len(found)
        self._feed(found)


def read_files(auditor: Auditor, ledger: Path, releases: Path | None, progress: Progress | None = None) -> int:
    """Feed the files to `auditor` and return the number of ledger lines; raises the same errors as `read_lines`."""
    sides = [(ledger, auditor.entries)]
    sides += [] if releases is None else [(releases, auditor.releases)]
    return _read(sides, progress)[0].count


def read_lines(path: Path, feed: Feed, progress: Progress | None = None) -> None:
    """Feed the lines of one file; raises `UncommittedError`, or `OSError` if the file cannot be read."""
    _read([(path, feed)], progress)


def _read(sides: Sequence[tuple[Path, Feed]], progress: Progress | None) -> list[LineReader]:
    with ExitStack() as stack:
        sizes = [path.stat().st_size for path, _ in sides]
        files = [stack.enter_context(path.open("rb")) for path, _ in sides]
        readers = [LineReader(file, size, feed) for file, size, (_, feed) in zip(files, sizes, sides, strict=True)]
        while not all(reader.ended for reader in readers):
            min(readers, key=lambda reader: reader.share).turn()
            if progress is not None:
                progress(sum(reader.read for reader in readers), sum(sizes))
    return readers


def read_records(path: Path, feed: Callable[[bytes], None]) -> None:
    """Feed the lines of one file one by one; raises the same errors as `read_lines`."""

    def feed_each(records: Sequence[bytes]) -> None:
        for record in records:
            feed(record)

    read_lines(path, feed_each)
