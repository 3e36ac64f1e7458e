"""Key files: where a noise key lives, readable by its owner alone, and nowhere else.

A file holds the random fingerprint that ledger entries name (it survives ratchet and erasure) and the secret of its
first epoch. Earlier epochs cannot be derived from it.
"""

import os
import secrets  # noqa: TID251 - here keys are made
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

from stream_app import wire
from stream_app.privacy.key import MINIMUM_EPOCH_MS, SECRET_BYTES, KeyRing

FORMAT = 1
FINGERPRINT_BYTES = 8
OWNER_ONLY = 0o600


class KeyFileError(Exception):
    """A key file that cannot be used; `path` and the remedy are in the message, never its content."""

    def __init__(self, path: Path, problem: str) -> None:
        """Keep the path as a field."""
        self.path = path
        super().__init__(f"key file {path}: {problem}")


def create(path: Path) -> KeyRing:
    """Write a new key with mode 0600; raises `KeyFileError` when the path exists: a key is never overwritten."""
    ring = KeyRing(secrets.token_hex(FINGERPRINT_BYTES), 0, secrets.token_bytes(SECRET_BYTES))
    write_private(path, _encode(ring))
    return ring


def load(path: Path, epoch_ms: int | None = None) -> KeyRing:
    """Return the key of a file; ``epoch_ms`` is the configured length of an epoch (None: one for all time).

    Raises `KeyFileError` when the file is missing, readable by others, or no key.
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
    raise KeyFileError(path, f"is no key file of format {FORMAT}; restore it from a backup")


def erase_before(path: Path, epoch: int, epoch_ms: int) -> KeyRing:
    """Destroy the keys of all epochs before ``epoch``: the file then holds that epoch's key.

    The new file replaces the old one whole. Copies, backups and flash blocks outside this file are the operator's.
    """
    ring = load(path, epoch_ms)
    secret = ring.secret_of(epoch)
    if secret is None:
        raise KeyFileError(
            path, f"epochs before {ring.first_epoch} are erased already; name {ring.first_epoch} or later"
        )
    later = replace(ring, first_epoch=epoch, secret=secret)
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    _write(fresh, _encode(later))
    with path.open("r+b") as old:
        fresh.replace(path)  # a crash before here leaves the old key, after here the new one
        _settle(path.parent)
        old.write(bytes(os.fstat(old.fileno()).st_size))  # so that the old blocks hold no key when they are freed
        old.flush()
        os.fsync(old.fileno())
    return later


def _settle(folder: Path) -> None:
    """Have the folder's entries on the disk: a key that a power cut takes away spends twice or stops a worker."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_private(path: Path, content: bytes) -> None:
    """Write a new file with mode 0600; raises `KeyFileError` when the path exists: a key is never overwritten."""
    try:
        _write(path, content)
    except FileExistsError:
        raise KeyFileError(
            path, "exists already, and overwriting a key would lose what it made for ever; choose another path"
        ) from None
    except OSError as error:
        raise KeyFileError(path, f"cannot be written ({error.strerror}); choose a writable folder") from None


def read_private(path: Path) -> bytes:
    """Return what a file holds; raises `KeyFileError` when it is missing or others may read it."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        content = path.read_bytes()
    except OSError as error:
        raise KeyFileError(path, f"cannot be read ({error.strerror}); make one with `keys new`") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise KeyFileError(path, f"mode is {mode:04o}, so others may read it; run `chmod 600` and consider it seen")
    return content


def _encode(ring: KeyRing) -> bytes:
    return wire.dump(
        {"format": FORMAT, "fingerprint": ring.fingerprint, "epoch": ring.first_epoch, "secret": ring.secret.hex()}
    )


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    _settle(path.parent)
