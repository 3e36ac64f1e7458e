"""Files that are written completely or not at all, and plain reasons why a file cannot be read or written."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE
from uuid import uuid4

NO_LOCKS = "keep it on a file system that supports locks"
"""The remedy if a lock cannot be acquired."""


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a path next to a file and with its suffix; what is written there replaces the file at the end.

    After an error or Ctrl-C, none of the new content remains, and the file is unchanged. If the machine crashes, either
    the old or the new file remains. The new file has the permissions of the old one, and a link is followed. Raises
    `OSError`. A path that is not a regular file, such as a pipe, is written directly.
    """
    place = Path(os.path.realpath(path))  # accepts links in a circle: there is no file then
    if place.exists() and not place.is_file():
        yield path
        return
    beside = place.with_name(f".new-{uuid4().hex}{place.suffix}")
    try:
        # Created by this process alone: it is not a link that somebody put there, nor the file of a concurrent run.
        os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        if place.exists():
            beside.chmod(S_IMODE(place.stat().st_mode))
        yield beside
        _settle(beside)
        beside.replace(place)
        _settle(place.parent)
    except OSError as error:
        if error.filename is None or str(error.filename) == str(beside):
            error.filename = str(path)  # which the user knows
        raise
    finally:
        beside.unlink(missing_ok=True)


def _settle(path: Path) -> None:
    """Wait until a file, or a folder's list of names, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


UNREAD = {
    FileNotFoundError: "there is no such file",
    IsADirectoryError: "it is a folder, not a file",
    NotADirectoryError: "a part of its path is a file, not a folder",
    PermissionError: "you do not have permission to read it",
}
UNWRITTEN = UNREAD | {
    FileNotFoundError: "there is no such folder",
    FileExistsError: "it is a file, not a folder",
    PermissionError: "you do not have permission to write there",
}


def unread(error: OSError) -> str:
    """Return why a file cannot be read."""
    return UNREAD.get(type(error), f"it cannot be read: {_reason(error)}")


def unwritten(error: OSError) -> str:
    """Return why a file or a folder cannot be written."""
    return UNWRITTEN.get(type(error), f"it cannot be written: {_reason(error)}")


def unusable(error: OSError) -> str:
    """Return why a file or folder cannot be used, if it is unknown whether reading or writing failed."""
    if isinstance(error, PermissionError):
        return "you do not have permission to use it"
    return UNREAD.get(type(error), f"it cannot be used: {_reason(error)}")


def _reason(error: OSError) -> str:
    return (error.strerror or "the system gives no reason").lower()
