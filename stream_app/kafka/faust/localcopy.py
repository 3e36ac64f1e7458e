"""Classifies why the local copy of a partition's rows cannot be used.

A damaged copy is discarded and read back from the changelog, which contains all of it. A full disk or a process limit
affects only this machine: another worker can continue.
"""

import errno
import logging
import os
import shutil
from pathlib import Path
from typing import Final

from stream_app.kafka.brokers import DamagedCopyError, LocalStateError
from stream_app.kafka.stops import NO_FILES, file_limit

logger = logging.getLogger(__name__)

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_TABLE_END: Final = bytes.fromhex("f7cff485b741e288")
"""The last bytes of a table: kBlockBasedTableMagicNumber of RocksDB's block_based_table_builder.cc."""
_OPEN = "open"
_MOST_CHARACTERS = 300  # of RocksDB's message


class HoleError(Exception):
    """A copy that has the newest offset but lacks some rows, and that RocksDB opens without an error."""

    def __init__(self, found: str) -> None:
        super().__init__(f"Corruption: {found}")


CopyFault = DamagedCopyError | LocalStateError


def fault_of(path: Path, error: Exception) -> CopyFault:
    """Classify a RocksDB error, which rocksdict raises as a plain exception with RocksDB's message."""
    said = " ".join(str(error).split())[:_MOST_CHARACTERS]
    if _says(said, _FULL):
        return LocalStateError("disk-full", path, f"{said} ({_free(path)})")
    if _says(said, NO_FILES):
        return LocalStateError("file-limit", path, f"{said} ({file_limit()})", passing=True)
    if "lock" in said.lower().replace("block", ""):
        return LocalStateError("local-state", path, said, passing=True)
    return DamagedCopyError(path, "corrupt" if said.startswith("Corruption") else "unreadable", said)


def tables_of(path: Path) -> set[str]:
    """Return the names of the complete tables, before RocksDB deletes the tables that it does not know.

    A table without its last bytes was still being written when the process died: its rows are in the write-ahead log.
    """
    return {file.name for file in path.glob("*.sst") if _is_whole(file)} if path.is_dir() else set()


def check_writes(path: Path) -> None:
    """Check the write-ahead logs of a copy that is about to be opened.

    Raises `HoleError` if an earlier log lost its content or may have lost it, because RocksDB would continue with the
    next log.
    """
    earlier = sorted(path.glob("*.log"))[:-1] if path.is_dir() else []
    if any(file.stat().st_size == 0 for file in earlier):
        raise HoleError("an earlier log of writes is empty")
    mark = path / _OPEN
    # RocksDB's write-ahead logs are not synced to disk: they survive a crash of the process, but not a power loss.
    if mark.is_file() and mark.read_bytes() != _boot():
        raise HoleError("the machine stopped while it was open, and some of its writes may be lost")


def mark_open(path: Path) -> None:
    """Record on disk that a copy is open, with the boot id of the machine."""
    for place, flags in ((path / _OPEN, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), (path, os.O_RDONLY)):
        descriptor = os.open(place, flags, 0o644)
        try:
            if place != path:
                os.write(descriptor, _boot())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def mark_closed(path: Path) -> None:
    """Remove the open mark, because the tables contain the whole copy."""
    (path / _OPEN).unlink(missing_ok=True)


def _boot() -> bytes:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_bytes()
    except OSError:  # without boot ids, a power loss goes unnoticed
        return b""


def _is_whole(table: Path) -> bool:
    with table.open("rb") as opened:
        opened.seek(-min(len(_TABLE_END), table.stat().st_size), os.SEEK_END)
        return opened.read() == _TABLE_END


def remove(path: Path) -> None:
    """Remove a local copy, whether a folder or a file; raises `LocalStateError` if it cannot be removed."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise LocalStateError("local-state", path, f"it cannot be removed: {error.strerror}") from None


def _says(said: str, codes: tuple[int, ...]) -> bool:
    return any(os.strerror(code) in said for code in codes)


def _free(path: Path) -> str:
    try:
        return f"{shutil.disk_usage(path.parent).free:,} bytes free"
    except OSError as error:
        return f"free space unknown: {error.strerror}"
