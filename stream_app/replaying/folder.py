"""The folder of `replay`: its own key, what its latest run decided, and which run may follow that one.

Noise depends on the cells, so two runs under one key show which values of their inputs differ, at any epsilon. The
noise key is therefore made of the folder's own key and of the whole input, and only an input that begins with all
records of the latest run goes on under it. Files are written under other names and put in place one after the other,
`replay.json` first: wherever a crash cuts that, no output lies there whose input `replay.json` does not name, so nobody
can go on with another input.
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
"""In the order in which they are put in place: no release shows before its ledger."""
DIGEST_BYTES = 32


class ReplayFolderError(Exception):
    """A run may not go on in this folder; the message says why and what to do.

    ``why`` alone names no option of the command; "" where the message is whole without one.
    """

    def __init__(self, message: str, why: str = "") -> None:
        self.why = why
        super().__init__(message)


class BusyFolderError(ReplayFolderError):
    """Another run is at work in the folder; nothing of it is to be moved or replaced."""


class Digest:
    """BLAKE2b, keyed, over what decisions depend on: first the configuration, then the records in order."""

    def __init__(self, secret: bytes, context: Context) -> None:
        """Take in default policies and configuration; ``secret`` keys the hash: it tells nothing of the input."""
        self._state = blake2b(key=secret, digest_size=DIGEST_BYTES, person=b"landmark-replay")
        self.records = 0
        # PRIVACY: true landmarks under dummies count too, which no digest without a key may hold: over one draw of two
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
        """Return the digest of all that was taken in."""
        return self._state.hexdigest()


@dataclass(frozen=True, slots=True)
class ReplayRun:
    """What a run decided, and under which key; `replay.json` holds that of the latest one."""

    key: str  # fingerprint of the noise key, as the ledger has it
    first: str  # digest of the first run's input: it makes the key, where the key is the folder's
    configuration: str  # digest of default policies and configuration alone
    digest: str  # digest of all records, and of the above
    records: int


class Read(NamedTuple):
    """An input that was read once: its digests, and that of the records which the latest run had."""

    configuration: str
    digest: str
    records: int
    before: str | None  # None: it has fewer


def read(records: Iterable[bytes], secret: bytes, context: Context, latest: ReplayRun | None) -> Read:
    """Read an input whole; nothing of it is decided."""
    taken = Digest(secret, context)
    wanted = latest.records if latest else 0
    configuration = taken.hex()
    before = configuration if wanted == 0 else None
    for record in records:
        taken.take(record)
        if taken.records == wanted:
            before = taken.hex()
    return Read(configuration, taken.hex(), taken.records, before)


class ReplayFolder:
    """The folder of one `replay`; no other one may use it meanwhile."""

    def __init__(self, path: Path) -> None:
        """Look at a folder; ``claimed`` makes these."""
        self.path = path
        self._own_key_is_new = False
        ledger, releases, _ = (path / name for name in OUTPUTS)
        if ledger.exists():  # a run that decided nothing may be followed by any other
            self.holds = any(each.exists() and each.stat().st_size > 0 for each in (ledger, releases))
        else:
            self.holds = releases.exists() or (path / RECORD_NAME).exists()
        self.latest = self._latest() if self.holds else None

    @classmethod
    @contextmanager
    def claimed(cls, path: Path) -> Iterator[Self]:
        """Make the folder where there is none and keep other runs out of it; raises `ReplayFolderError`, `OSError`."""
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
        """Take away what a run that failed put there: a key that nothing was decided under, and new folders."""
        _beside(self.path / KEY_NAME).unlink(missing_ok=True)
        if self._own_key_is_new and not any((self.path / name).exists() for name in (RECORD_NAME, *OUTPUTS)):
            (self.path / KEY_NAME).unlink(missing_ok=True)
        for each in made:
            try:
                each.rmdir()
            except OSError:  # something of somebody else lies in it
                return

    def _latest(self) -> ReplayRun | None:
        try:
            fields: Any = wire.load((self.path / RECORD_NAME).read_bytes())
            found = ReplayRun(**fields)
            bytes.fromhex(found.first)
        except (FileNotFoundError, ValueError, TypeError):  # a damaged one tells as little as none
            return None
        return found

    def own_key(self, epoch_ms: int | None) -> KeyRing:
        """Return the folder's key, a new one where it holds nothing; raises `KeyFileError`, `ReplayFolderError`."""
        path = self.path / KEY_NAME
        if not path.exists():
            if self.holds:
                raise self.refused(f"its {KEY_NAME} is missing: it is lost, or the run used --key")
            self.spare_key(None)  # whole before it has its name: a crash leaves no part of a key there
            _beside(path).rename(path)
            keyfile.settle(self.path)
            self._own_key_is_new = True
        try:
            keyfile.load(path)
        except keyfile.KeyFileError as error:
            # PRIVACY: another key beside what was decided under this one is a second measurement, so nobody gets one
            # unasked; nor does what can still be read of a damaged key make noise, since it may be known. ``replaced``
            # keeps the file, as private as it was: a backup may still mend it, and its ledger holds until it is read.
            why = f"{error}" + ("" if self.holds else "; the folder has no ledger, unless the ledger was moved")
            raise ReplayFolderError(f"--out {self.path}: {why}. Or {_REMEDY}", why) from None
        return keyfile.load(path, epoch_ms)

    def spare_key(self, epoch_ms: int | None) -> KeyRing:
        """Return a new key, which ``replaced`` makes the folder's."""
        path = _beside(self.path / KEY_NAME)
        path.unlink(missing_ok=True)
        try:
            keyfile.create(path)
        except keyfile.KeyFileError as error:
            raise keyfile.KeyFileError(self.path / KEY_NAME, error.problem) from None  # of which the user knows
        return keyfile.load(path, epoch_ms)

    def check(self, found: Read, keys: KeyRing) -> None:
        """Raise `ReplayFolderError` for an input that may not follow the latest run, under the keys of that run."""
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
        """Return the error that says why this run may not go on here."""
        held, plain = (f"contains a ledger, and {each}. {_RULE}" for each in (why, without_options or why))
        return ReplayFolderError(f"--out {self.path}: {held}; {_REMEDY}", plain)

    @contextmanager
    def writing(self) -> Iterator[dict[str, Any]]:
        """Open the outputs beside their places, by name; they stay there until ``settle``."""
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
        """Move all old files to the first number that none of them has yet and return it; a spare key takes its place.

        A crash in the midst leaves files that still refuse a run without ``--replace``, or none.
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
        """Put what was written in place: first what it was decided of, then the ledger, then releases and rejects."""
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
