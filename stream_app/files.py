"""Files: written whole or not at all, and in plain words why one cannot be read or written."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give a path beside a file, of its ending, to write to; what stands there takes the file's place at the end.

    On an error, at Ctrl-C too, nothing of it is left, and the file is as it was. Raises `OSError`. What is no regular
    file, such as a pipe, is written as it is.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    beside = path.with_name(f".{path.stem}.new{path.suffix}")
    try:
        yield beside
        beside.replace(path)
    except OSError as error:
        if error.filename is None or str(error.filename) == str(beside):
            error.filename = str(path)  # of which the user knows
        raise
    finally:
        beside.unlink(missing_ok=True)


UNREAD = {
    FileNotFoundError: "there is no such file",
    IsADirectoryError: "it is a folder, no file",
    NotADirectoryError: "a part of its path is a file, no folder",
    PermissionError: "you have no right to read it",
}
UNWRITTEN = {
    FileNotFoundError: "there is no such folder",
    IsADirectoryError: "it is a folder, no file",
    NotADirectoryError: "a part of its path is a file, no folder",
    FileExistsError: "it is a file, no folder",
    PermissionError: "you have no right to write there",
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
        return "you have no right to it"
    return UNREAD.get(type(error), f"it cannot be used: {_reason(error)}")


def _reason(error: OSError) -> str:
    return (error.strerror or "the system says no more").lower()
