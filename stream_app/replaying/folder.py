"""The folder of `replay`: its own key, what its latest run processed, and which run may follow.

Noise depends on the cells, so two runs under one key show which values of their inputs differ, at any epsilon. The
noise key is therefore made from the folder's own key and the whole input, and only an input that begins with all
records of the latest run continues under that key. Files are written under other names and put in place one after the
other, `replay.json` first. Wherever a crash interrupts this, `replay.json` names the input of every output in the
folder, so nobody can continue with another input.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, Self

from stream_app.deciding.context import Context
from stream_app.formats import wire
from stream_app.privacy.noise.key import KeyRing
from stream_app.setup import keyfile

KEY_NAME = "replay.key"
RECORD_NAME = "replay.json"
OUTPUTS = ("ledger.jsonl", "releases.jsonl", "rejects.jsonl")
"""The outputs, in the order they are put in place: no release appears before its ledger."""
DIGEST_BYTES = 32


class ReplayFolderError(Exception):
    """A run may not continue in this folder; the message says why and what to do.

    ``why`` is the message without the command's options, or "" if the message names none.
    """

    def __init__(self, message: str, why: str = "") -> None:
        self.why = why
        super().__init__(message)


class BusyFolderError(ReplayFolderError):
    """Another run is using the folder; nothing in it may be moved or replaced."""


class Digest:
    """A keyed BLAKE2b hash of what affects decisions: first the configuration, then the records in order."""

    def __init__(self, secret: bytes, context: Context) -> None:
        """Take in the default policies and the configuration.

        ``secret`` keys the hash, so that it reveals nothing about the input.
        """
        self._state = blake2b(key=secret, digest_size=DIGEST_BYTES, person=b"landmark-replay")
        self.records = 0
        # PRIVACY: true landmarks under dummies count too, which no digest without a key may hold: with one draw for two
        # sets of them, the landmarks of both runs would differ exactly where one of them is true.
        parts = [
            [each.glob, each.digest, *(each.policy.dummies.landmarks.intervals if each.policy.dummies else ())]
            for each in context.defaults
        ]
        self._take(wire.dump([context.fingerprint, parts]))

    def take(self, record: bytes) -> None:
        """Take in the next record."""
        self._take(record)
        self.records += 1

    def _take(self, part: bytes) -> None:
        self._state.update(len(part).to_bytes(8))
        self._state.update(part)

    def hex(self) -> str:
        """Return the digest of everything taken in so far."""
        return self._state.hexdigest()


@dataclass(frozen=True, slots=True)
class ReplayRun:
    """What a run processed, and under which key; `replay.json` contains the latest run."""

    key: str  # fingerprint of the noise key, as in the ledger
    first: str  # digest of the first run's input: it makes the key, if the key is the folder's
    configuration: str  # digest of default policies and configuration alone
    digest: str  # digest of all records, and of the above
    records: int


class ReadInput(NamedTuple):
    """An input that was read once, and its digests; one digest covers only as many records as the latest run had."""

    configuration: str
    digest: str
    records: int
    before: str | None  # None: it has fewer


def read(records: Iterable[bytes], secret: bytes, context: Context, latest: ReplayRun | None) -> ReadInput:
    """Read a whole input without processing it."""
    taken = Digest(secret, context)
    wanted = latest.records if latest else 0
    configuration = taken.hex()
    before = configuration if wanted == 0 else None
    for record in records:
        taken.take(record)
        if taken.records == wanted:
            before = taken.hex()
    return ReadInput(configuration, taken.hex(), taken.records, before)


class ReplayFolder:
    """The folder of one `replay`; no other run may use it at the same time."""

    def __init__(self, path: Path) -> None:
        """Inspect a folder; use ``claimed`` to create instances."""
        self.path = path
        self._own_key_is_new = False
        ledger, releases, _ = (path / name for name in OUTPUTS)
        if ledger.exists():  # any run may follow one that processed nothing
            self.holds = any(each.exists() and each.stat().st_size > 0 for each in (ledger, releases))
        else:
            self.holds = releases.exists() or (path / RECORD_NAME).exists()
        self.latest = self._latest() if self.holds else None

    @classmethod
    @contextmanager
    def claimed(cls, path: Path) -> Iterator[Self]:
        """Create the folder if needed and keep other runs out; may raise `ReplayFolderError` or `OSError`."""
        made = [each for each in (path, *path.parents) if not each.exists()]
        path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        found: Self | None = None
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                message = "another `replay` is using the folder; wait for it"
                raise BusyFolderError(f"--out {path}: {message}", message) from None
            found = cls(path)
            yield found
        except BaseException:
            if found is not None:
                found._leave(made)
            raise
        finally:
            os.close(descriptor)

    def _leave(self, made: list[Path]) -> None:
        """Remove what a failed run put into the folder: a key under which nothing was processed, and new folders."""
        _beside(self.path / KEY_NAME).unlink(missing_ok=True)
        if self._own_key_is_new and not any((self.path / name).exists() for name in (RECORD_NAME, *OUTPUTS)):
            (self.path / KEY_NAME).unlink(missing_ok=True)
        for each in made:
            try:
                each.rmdir()
            except OSError:  # it contains something else
                return

    def _latest(self) -> ReplayRun | None:
        try:
            fields: Any = wire.load((self.path / RECORD_NAME).read_bytes())
            found = ReplayRun(**fields)
            bytes.fromhex(found.first)
        except (FileNotFoundError, ValueError, TypeError):  # damaged is as good as missing
            return None
        return found

    def own_key(self, epoch_ms: int | None) -> KeyRing:
        """Return the folder's key, or a new one if the folder is empty.

        Raises `KeyFileError` or `ReplayFolderError`.
        """
        path = self.path / KEY_NAME
        if not path.exists():
            if self.holds:
                raise self.refused(f"its {KEY_NAME} is missing: it is lost, or the run used --key")
            self.spare_key(None)  # complete before it is named: a crash leaves no partial key there
            _beside(path).rename(path)
            keyfile.settle(self.path)
            self._own_key_is_new = True
        try:
            keyfile.load(path)
        except keyfile.KeyFileError as error:
            # PRIVACY: another key beside what was processed under this one is a second measurement, so nobody gets one
            # unasked; nor does what can still be read of a damaged key make noise, because it may be known.
            # ``replaced`` keeps the file, as private as it was: a backup may still repair it, and its ledger holds
            # until it is read.
            why = f"{error}" + ("" if self.holds else "; the folder has no ledger, unless the ledger was moved")
            raise ReplayFolderError(f"--out {self.path}: {why}. Or {_REMEDY}", why) from None
        return keyfile.load(path, epoch_ms)

    def spare_key(self, epoch_ms: int | None) -> KeyRing:
        """Return a new key, which becomes the folder's key in ``replaced``."""
        path = _beside(self.path / KEY_NAME)
        path.unlink(missing_ok=True)
        try:
            keyfile.create(path)
        except keyfile.KeyFileError as error:
            raise keyfile.KeyFileError(self.path / KEY_NAME, error.problem) from None  # known to the user
        return keyfile.load(path, epoch_ms)

    def check(self, found: ReadInput, keys: KeyRing) -> None:
        """Raise `ReplayFolderError` if an input may not follow the latest run under that run's keys."""
        latest = self.latest
        if latest is None:
            if self.holds:
                raise self.refused(
                    f"it has no readable {RECORD_NAME}: an earlier version wrote the folder, or the file is lost"
                )
        elif latest.key != keys.fingerprint:
            raise self.refused(
                f"its ledger was created under key {latest.key}, but this run uses key {keys.fingerprint}"
            )
        elif latest.configuration != found.configuration:
            raise self.refused(f"--policies, --config, {_OTHERS}", f"policies, configuration, {_OTHERS}")
        elif found.before is None:
            raise self.refused(f"the input has {found.records} records, but the latest run had {latest.records}")
        elif found.before != latest.digest:
            raise self.refused(f"the first {latest.records} records are not those of the latest run")

    def refused(self, why: str, without_options: str = "") -> ReplayFolderError:
        """Return the error that says why this run may not continue here."""
        held, plain = (f"contains a ledger, and {each}. {_RULE}" for each in (why, without_options or why))
        return ReplayFolderError(f"--out {self.path}: {held}; {_REMEDY}", plain)

    @contextmanager
    def writing(self) -> Iterator[dict[str, Any]]:
        """Yield the outputs by name, opened as files next to their final paths; ``settle`` moves them there."""
        files: dict[str, Any] = {}
        try:
            for name in OUTPUTS:
                files[name] = _beside(self.path / name).open("wb")
            yield files
            for file in files.values():
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            for name in files:
                _beside(self.path / name).unlink(missing_ok=True)
            raise
        finally:
            for file in files.values():
                file.close()

    def replaced(self, *, own_key: bool) -> int:
        """Rename all old files with the first unused number; return that number. A spare key becomes the folder's key.

        A crash midway leaves either no old files, or files for which a run without ``--replace`` is still refused.
        """
        names = (*OUTPUTS, KEY_NAME, RECORD_NAME)
        number = 1
        while any((self.path / f"{name}.{number}").exists() for name in names):
            number += 1
        for name in names:
            if (self.path / name).exists():
                (self.path / name).rename(self.path / f"{name}.{number}")
        if own_key:
            _beside(self.path / KEY_NAME).rename(self.path / KEY_NAME)
        keyfile.settle(self.path)
        return number

    def settle(self, run: ReplayRun) -> None:
        """Put the written files in place: first the record of the run, then ledger, releases and rejects."""
        record = _beside(self.path / RECORD_NAME)
        try:
            with record.open("wb") as file:
                file.write(wire.dump(asdict(run)) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            for name in (RECORD_NAME, *OUTPUTS):
                _beside(self.path / name).unlink(missing_ok=True)
            raise
        for name in (RECORD_NAME, *OUTPUTS):
            _beside(self.path / name).replace(self.path / name)
            keyfile.settle(self.path)


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".new")


_OTHERS = "or the key's first epoch differs from that of the latest run"
_RULE = (
    "A run can continue only with an input that begins with all records of the latest run, under the same policies, "
    "configuration and key"
)
_REMEDY = (
    "specify another folder, or add --replace, which moves the old files aside: both runs then publish the same "
    "events, and the budget is spent twice. After a correction, also use another --key: equal noise would show what "
    "changed"
)
