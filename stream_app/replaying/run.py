"""A run: events processed into a folder that allows it, under the folder's own key or a worker's."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, tzinfo
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from stream_app.calendar.words import moment_in_words
from stream_app.deciding.context import Context, DefaultPolicy, Limits
from stream_app.deciding.decider import Append, Headers
from stream_app.deciding.landmarksmet import LandmarksMet
from stream_app.privacy.noise.key import KeyRing
from stream_app.replaying.doubts import CheckedRows
from stream_app.replaying.folder import OUTPUTS, Digest, ReadInput, ReplayFolder, ReplayFolderError, ReplayRun, read
from stream_app.replaying.processing import RunResult, processed
from stream_app.setup import keyfile
from stream_app.setup.configuration import default_policies, limits_of
from stream_app.setup.settings import InvalidSettingsError, Problem, Settings
from stream_app.setup.views import joint_faults

Records = Callable[[], Iterator[bytes]]
"""Yields the input's records from the start on each call; they are read at least twice."""
Watched = Callable[[Iterator[bytes], str], Iterable[bytes]]
"""Passes records on as they are read, and shows the progress; the text says what is done with them."""


SHARED_KEY: Final = (
    "publish only one run of these events under this key, here or in production: after a correction of values or "
    "policies, equal values have equal noise, so two runs show which values changed, and both budgets are spent"
)
"""The warning for a key from the caller: two measurements of one value cost both of their budgets."""


class RunRequest(NamedTuple):
    """Settings, policies to put before those in the settings, and a worker's key file (None: the folder's own key)."""

    settings: Settings
    policies: tuple[DefaultPolicy, ...] = ()
    key: Path | None = None
    replace: bool = False  # whether the folder's contents may be moved aside
    zone: tzinfo = UTC  # the clocks by which people read times


Checked = Callable[[RunResult], None]  # checks the result of a run before it is put in place; may raise


class _Request(NamedTuple):
    """The requested run and its context, after a first reading of the input."""

    context: Context
    secret: bytes  # keys the input's digest
    run: ReplayRun
    mixes: bool  # whether seeds of collected steps are mixed with the key; workers never do
    earlier: int = 0  # records in the previous run
    replaces: bool = False


def replay(
    folder: ReplayFolder,
    records: Records,
    wanted: RunRequest,
    watched: Watched = lambda items, _: items,
    checked: Checked = lambda _: None,
) -> RunResult:
    """Process records into a claimed folder; either everything is put in place, or nothing is changed.

    An exception from ``checked`` is passed on, and then nothing is changed either.

    Raises:
        InvalidSettingsError: with every fault of policies and settings.
        KeyFileError: for a key file that cannot be used.
        ReplayFolderError: unless the folder is empty, or the input begins with all records of its latest run.
        OSError: if the folder cannot be written.
    """
    asked = _asked(folder, records, wanted, watched)
    with folder.writing() as files:
        answered = _run(asked, records, files, watched, wanted.zone)
        checked(answered)
    notes = []
    if asked.replaces:
        number = folder.replaced(own_key=wanted.key is None)
        notes.append(
            f"the earlier files of {folder.path} are now *.{number}. Both runs measure the same events: if anything "
            "from the earlier run was published, both budgets are spent"
        )
        if wanted.key is not None:
            notes.append(
                "with the same --key, equal values have equal noise: anyone who sees both runs sees which values "
                "changed, whatever epsilon is; publish only one of the runs"
            )
    folder.settle(asked.run)
    return answered._replace(notes=(*notes, *answered.notes))


def _asked(folder: ReplayFolder, records: Records, wanted: RunRequest, watched: Watched) -> _Request:
    epoch_ms = wanted.settings.key_epoch_ms
    given = keyfile.load(wanted.key, epoch_ms) if wanted.key else None
    limits = replace(limits_of(wanted.settings), max_future_ms=None)  # a file has no append time to compare with
    defaults = (*wanted.policies, *default_policies(wanted.settings))
    if wrong := [
        Problem(f"default policy {defaults[nth].glob!r}: {member}", said)
        for nth, member, said in joint_faults(defaults)
    ]:
        raise InvalidSettingsError(tuple(wrong))

    def under(ring: KeyRing, latest: ReplayRun | None) -> tuple[ReadInput, _Request]:
        context = Context(ring, defaults, limits)
        found = read(watched(records(), "read"), ring.secret, context, latest)
        first = latest.first if latest else found.digest
        if given is None:
            context = replace(context, keys=ring.derived(bytes.fromhex(first)))
        run = ReplayRun(context.keys.fingerprint, first, found.configuration, found.digest, found.records)
        return found, _Request(context, ring.secret, run, given is None, latest.records if latest else 0)

    try:
        found, asked = under(given or folder.own_key(epoch_ms), folder.latest)
        folder.check(found, asked.context.keys)
    except ReplayFolderError:
        if not wanted.replace:
            raise
        _, asked = under(given or folder.spare_key(epoch_ms), None)
        return asked._replace(replaces=True)
    return asked


def _run(asked: _Request, records: Records, files: Mapping[str, BinaryIO], watched: Watched, zone: tzinfo) -> RunResult:
    taken = Digest(asked.secret, asked.context)

    def events() -> Iterator[bytes]:
        for event in watched(records(), "replay"):
            taken.take(event)
            yield event

    rows, met, outputs = CheckedRows(asked.context, asked.earlier), _met(zone), map(_lines, files.values())
    answered = processed(asked.context, events(), rows, met, outputs, mixes=asked.mixes)
    if taken.hex() != asked.run.digest:
        raise ReplayFolderError("FILE: changed while being read, so nothing was written; try again when it is complete")
    answered.rows.repeated(islice(records(), asked.earlier))
    return answered


def rehearsed(
    records: Iterable[bytes], defaults: Sequence[DefaultPolicy], limits: Limits, zone: tzinfo = UTC
) -> RunResult:
    """Process records like a worker that knows only these policies, under a key that is not kept.

    Nothing is written. Records of series without a policy are not counted as rejected: the topic may have a policy.
    """
    keys = KeyRing("", 0, keyfile.fresh_secret())
    context = Context(keys, tuple(defaults), replace(limits, max_future_ms=None))
    rows, met = CheckedRows(context, topic=True), _met(zone)
    return processed(context, records, rows, met, (_nowhere,) * len(OUTPUTS), mixes=False)


def _met(zone: tzinfo) -> LandmarksMet:
    return LandmarksMet(said=partial(moment_in_words, zone=zone))


def _lines(file: BinaryIO) -> Append:

    def write(_key: bytes | None, value: bytes, _timestamp_ms: int, _headers: Headers) -> None:
        file.write(value + b"\n")

    return write


def _nowhere(_key: bytes | None, _value: bytes, _timestamp_ms: int, _headers: Headers) -> None:
    """Discard the output."""
