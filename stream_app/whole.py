"""Files that are there whole or not at all: written beside their place, and put in it when they are done."""

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
