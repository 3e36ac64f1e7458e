"""Files: written whole or not at all, and in plain words why one cannot be read or written."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE
from uuid import uuid4

NO_LOCKS = "keep it on a file system that supports locks"
"""The remedy where a lock cannot be taken."""


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give a path beside a file, of its ending, to write to; what stands there takes the file's place at the end.

    On an error, at Ctrl-C too, nothing of it is left, and the file is as it was; a crash of the machine leaves the old
    file or the new one. The new one has the rights of the old one, and lies where a link leads. Raises `OSError`. What
    is no regular file, such as a pipe, is written as it is.
    """
    place = Path(os.path.realpath(path))  # which knows links in a circle: there is no file then
    if place.exists() and not place.is_file():
        yield path
        return
    beside = place.with_name(f".new-{uuid4().hex}{place.suffix}")
    try:
        # Made here and by nobody else: no link that somebody put there, no file of a run that writes at the same time.
        os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        if place.exists():
            beside.chmod(S_IMODE(place.stat().st_mode))
        yield beside
        _settle(beside)
        beside.replace(place)
        _settle(place.parent)
    except OSError as error:
        if error.filename is None or str(error.filename) == str(beside):
            error.filename = str(path)  # of which the user knows
        raise
    finally:
        beside.unlink(missing_ok=True)


def _settle(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


UNREAD = {
    FileNotFoundError: "there is no such file",
    IsADirectoryError: "it is a folder, not a file",
    NotADirectoryError: "a part of its path is a file, not a folder",
    PermissionError: "you have no permission to read it",
}
UNWRITTEN = UNREAD | {
    FileNotFoundError: "there is no such folder",
    FileExistsError: "it is a file, not a folder",
    PermissionError: "you have no permission to write there",
}


def unread(error: OSError) -> str:
    """Return why a file cannot be read."""
    return UNREAD.get(type(error), f"it cannot be read: {_reason(error)}")


def unwritten(error: OSError) -> str:
    """Return why a file or a folder cannot be written."""
    return UNWRITTEN.get(type(error), f"it cannot be written: {_reason(error)}")


def unusable(error: OSError) -> str:
    """Return why a file or a folder cannot be used, where nobody knows whether it was to be read or written."""
    if isinstance(error, PermissionError):
        return "you have no permission to use it"
    return UNREAD.get(type(error), f"it cannot be used: {_reason(error)}")


def _reason(error: OSError) -> str:
    return (error.strerror or "the system gives no reason").lower()
