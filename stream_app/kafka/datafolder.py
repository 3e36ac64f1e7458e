"""A worker's data folder: one worker has it at a time, since two would write into the same local state."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

LOCK: Final = "worker.lock"
_ROOM_BYTES = 1 << 20


class DataFolderError(Exception):
    """A data folder that this worker cannot have: which, why, and the remedy."""

    def __init__(self, folder: Path, found: str, remedy: str) -> None:
        """Keep the three parts as fields and make the sentence of them."""
        super().__init__(f"data_folder {folder}: {found}; {remedy}")
        self.folder = folder
        self.found = found
        self.remedy = remedy


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Make the folder if need be, and have it for oneself; the end of the process, however it ends, gives it free.

    Raises:
        DataFolderError: if another worker of this machine has it, it cannot be written, or its disk is full.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK).open("ab")
    except OSError as error:
        raise DataFolderError(folder, f"cannot be written ({error.strerror})", "name a writable folder") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            remedy = "a second worker of a machine needs a data_folder of its own, and http_port = 0 (any free one)"
            raise DataFolderError(folder, "another worker uses it", remedy) from None
        except OSError as error:
            found = f"cannot be locked ({error.strerror})"
            raise DataFolderError(folder, found, "keep it on a file system that knows locks") from None
        try:
            # A worker that joins the group and has no room would take partitions only to give them back.
            os.posix_fallocate(file.fileno(), 0, _ROOM_BYTES)
            file.truncate(0)
        except OSError as error:
            found = f"has no room for {_ROOM_BYTES:,} bytes ({error.strerror})"
            raise DataFolderError(folder, found, "free space on its disk, or name a folder on a larger one") from None
        yield
