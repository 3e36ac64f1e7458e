"""The records of the heads from a file, in full: they come before the ledger's."""

from collections.abc import Callable, Sequence
from pathlib import Path

from stream_app.audit.files import read_lines


def read_head_file(path: Path, feed: Callable[[bytes], None]) -> None:
    """Feed the lines of a file; raises `OSError` when it cannot be read."""

    def feed_all(records: Sequence[bytes]) -> None:
        for record in records:
            feed(record)

    read_lines(path, feed_all)
