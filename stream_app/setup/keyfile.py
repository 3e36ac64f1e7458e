"""Key files: the only place where a noise key is stored, readable only by its owner.

A file contains the secret of its first epoch, and the random fingerprint that ledger entries name. The fingerprint
survives ratcheting and erasure. The secrets of earlier epochs cannot be derived from the file.
"""

import fcntl
import os
import resource
import secrets  # noqa: TID251 - here keys are made
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from stream_app.files import NO_LOCKS, unread, unwritten
from stream_app.formats import wire
from stream_app.privacy.noise.key import MINIMUM_EPOCH_MS, SECRET_BYTES, KeyRing

FORMAT = 1
FINGERPRINT_BYTES = 8
OWNER_ONLY = 0o600


class KeyFileError(Exception):
    """Raised for an unusable key file; gives `path` and `problem` with the remedy, never the file's content."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"key file {path}: {problem}")


def fresh_secret() -> bytes:
    """Return 32 random bytes, not saved here, to seed a watermark or hide contributors' names in memory."""
    _forbid_core_dumps()
    return secrets.token_bytes(SECRET_BYTES)


def create(path: Path) -> KeyRing:
    """Write a new key with mode 0600; raise `KeyFileError` if the path exists, so that no key is overwritten."""
    ring = KeyRing(secrets.token_hex(FINGERPRINT_BYTES), 0, fresh_secret())
    write_private(path, _encode(ring))
    return ring


def load(path: Path, epoch_ms: int | None = None) -> KeyRing:
    """Return the key in a file; ``epoch_ms`` is the configured epoch length, or None for a single epoch.

    Raises `KeyFileError` if the file is missing, readable by others, or not a valid key.
    """
    if epoch_ms is not None and epoch_ms < MINIMUM_EPOCH_MS:
        raise KeyFileError(path, f"key_epoch_ms is {epoch_ms}; use at least {MINIMUM_EPOCH_MS} (a day)")
    content = read_private(path)
    try:
        document: Any = wire.load(content)
        ring = KeyRing(document["fingerprint"], document["epoch"], bytes.fromhex(document["secret"]), epoch_ms)
        bytes.fromhex(ring.fingerprint)
        if document["format"] == FORMAT and len(ring.secret) == SECRET_BYTES and ring.first_epoch >= 0:
            return ring
    except (ValueError, KeyError, TypeError):
        pass
    raise KeyFileError(path, f"is not a key file of format {FORMAT}; restore it from a backup")


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Lock a key file as a running worker does, so that nobody can erase its keys in the meantime.

    Raises `KeyFileError` if the file is missing, or if its keys are being erased at this moment.
    """
    with _locked(_real(path), fcntl.LOCK_SH, "its keys are being erased; start again when that is done"):
        yield


@dataclass(frozen=True, slots=True)
class HeldKey:
    """A key file that is locked against erasure but that workers can still use; ``looked_at`` creates instances."""

    path: Path
    ring: KeyRing

    def without(self, epoch: int) -> KeyRing:
        """Return the key ring that an erasure would leave; raise `KeyFileError` if that epoch's key is gone."""
        later = self.ring.erased_before(epoch)
        if later is None:
            first = self.ring.first_epoch
            raise KeyFileError(self.path, f"epochs before {first} are already erased; use {first} or later")
        return later


@dataclass(frozen=True, slots=True)
class ClaimedKey(HeldKey):
    """A key file that no running worker on this machine has read; ``claimed`` creates instances.

    ``path`` is the file itself, never a symbolic link: replacing a link would leave the key in place.
    """

    _file: BinaryIO = field(repr=False)

    def erase_before(self, epoch: int) -> KeyRing:
        """Destroy the keys of all epochs before ``epoch``; the file then contains the key of ``epoch``.

        The new file replaces the old one as a whole. The operator is responsible for copies, backups and flash blocks
        outside this file.
        """
        later, path, old = self.without(epoch), self.path, self._file
        fresh = path.with_name(path.name + ".new")
        try:
            fresh.unlink(missing_ok=True)
            _write(fresh, _encode(later))
        except OSError as error:
            problem = f"{fresh.name} cannot be written next to it ({error.strerror}), so nothing is erased"
            raise KeyFileError(path, f"{problem}; make the folder writable for the user who erases keys") from None
        fresh.replace(path)  # before this line, a crash leaves the old key; then the new
        settle(path.parent)
        old.seek(0)
        old.write(bytes(os.fstat(old.fileno()).st_size))  # so the freed old blocks contain no key
        old.flush()
        os.fsync(old.fileno())
        return later


@contextmanager
def looked_at(path: Path, epoch_ms: int) -> Iterator[HeldKey]:
    """Lock a key file, sharing it with workers, to see what an erasure would leave; may raise `KeyFileError`."""
    with held(path):
        yield HeldKey(path, load(path, epoch_ms))


@contextmanager
def claimed(path: Path, epoch_ms: int) -> Iterator[ClaimedKey]:
    """Lock a key file against all other processes, to erase keys in it.

    A worker that has already read the key would continue to use it. It could write entries that nobody can recompute
    once the key is gone, so no worker on this machine may be using it. Raises `KeyFileError`.
    """
    remedy = "a worker on this machine is using it and would continue with the erased keys; stop the worker first"
    real = _real(path)
    with _locked(real, fcntl.LOCK_EX, remedy) as file:
        yield ClaimedKey(real, load(real, epoch_ms), file)


def _real(path: Path) -> Path:
    """Return the target of a symbolic link; for a broken link, return a path that cannot be opened."""
    return Path(os.path.realpath(path))


@contextmanager
def _locked(path: Path, operation: int, refusal: str) -> Iterator[BinaryIO]:
    """Lock the file at ``path``, reopening it if another file has replaced it in the meantime."""
    while True:
        try:
            file = path.open("r+b" if operation == fcntl.LOCK_EX else "rb")
        except OSError as error:
            remedy = (
                "specify the file created by `keys new`, and run as a user who can read it (and write it, to "
                "erase keys)"
            )
            raise KeyFileError(path, f"{unread(error)}; {remedy}") from None
        with file:
            try:
                fcntl.flock(file, operation | fcntl.LOCK_NB)
            except BlockingIOError:
                raise KeyFileError(path, refusal) from None
            except OSError as error:
                raise KeyFileError(path, f"cannot be locked ({error.strerror}); {NO_LOCKS}") from None
            if path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno())):
                yield file
                return


def settle(folder: Path) -> None:
    """Sync a folder's entries to disk; a worker that lost its key would stop or spend budget twice."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_private(path: Path, content: bytes) -> None:
    """Write a new file with mode 0600; raise `KeyFileError` if it exists, so no key is overwritten."""
    try:
        _write(path, content)
    except FileExistsError:
        raise KeyFileError(
            path, "already exists, and an overwritten key can never be restored; choose another path"
        ) from None
    except OSError as error:
        raise KeyFileError(path, f"{unwritten(error)}; choose a writable folder") from None


def read_private(path: Path) -> bytes:
    """Return a file's content; raise `KeyFileError` if it is missing or readable by others.

    This also disables core dumps of this process and its children, because a dump would contain the content.
    """
    _forbid_core_dumps()
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        content = path.read_bytes()
    except OSError as error:
        raise KeyFileError(path, f"{unread(error)}; create one with `keys new`") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise KeyFileError(
            path, f"mode is {mode:04o}, so other users can read it; run `chmod 600` and treat the key as disclosed"
        )
    return content


def _forbid_core_dumps() -> None:
    """Forbid core dumps of this process and its children, whatever limit this process started with."""
    # PRIVACY: a dump is a copy of keys and raw values on a disk, which `keys erase` does not reach. A handler in
    # kernel.core_pattern is told the limit but is not bound by it (core(5)); systemd-coredump respects it.
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))  # the soft limit is the one in force


def _encode(ring: KeyRing) -> bytes:
    return wire.dump(
        {"format": FORMAT, "fingerprint": ring.fingerprint, "epoch": ring.first_epoch, "secret": ring.secret.hex()}
    )


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink()  # half a key is useless and would block the path
        raise
    settle(path.parent)
