"""A run: events decided into a folder, under a key of its own or a worker's, after the folder allowed it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Final, NamedTuple

from stream_app.deciding.context import Context, DefaultPolicy
from stream_app.deciding.counters import Collection
from stream_app.deciding.decider import Append, Decider, Headers, Outlets
from stream_app.deciding.landmarksmet import LandmarksMet
from stream_app.deciding.used import MostUsed
from stream_app.formats import wire
from stream_app.formats.records import InputRecord, Intrusion, Watermark
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.reason import REASONS, Reason
from stream_app.replaying.folder import Digest, Read, ReplayFolder, ReplayFolderError, ReplayRun, read
from stream_app.setup import keyfile
from stream_app.setup.configuration import default_policies, limits_of
from stream_app.setup.settings import Settings
from stream_app.words.amount import summed

Records = Callable[[], Iterator[bytes]]
"""Yields the input's records, from the first, each time it is called: they are read twice at least."""
Watched = Callable[[Iterator[bytes], str], Iterable[bytes]]
"""Passes records on as they are taken, and shows how far that is; the text says what is done with them."""


SHARED_KEY: Final = (
    "if this key is in production use, deciding its events under other policies spends budget that no ledger of "
    "production shows; use a key of its own"
)
"""Where a worker's key meets policies of the caller: two measurements of one value cost both their budgets."""


class Wanted(NamedTuple):
    """What a run is to decide by: settings, policies before theirs, the key file of a worker unless it has its own."""

    settings: Settings
    policies: tuple[DefaultPolicy, ...] = ()
    key: Path | None = None
    replace: bool = False
    """Whether what the folder holds may be moved aside."""


class Answered(NamedTuple):
    """What a run came to; amounts are in nano-epsilon."""

    totals: dict[str, int]
    rejected: Mapping[Reason, int]
    met: LandmarksMet
    used: MostUsed
    first: Mapping[Reason, int] = MappingProxyType({})
    """Of each reason the first record that was rejected for it, by its number in the input, from 0 on."""
    notes: tuple[str, ...] = ()
    """What its user should know besides."""

    @property
    def steps(self) -> int:
        """How many steps were decided."""
        return sum(self.totals[decision] for decision in ("perturbed", "approximated", "withheld"))

    @property
    def refused(self) -> bool:
        """Whether there were records, and every one of them was rejected."""
        return self.totals["rejected"] == self.totals["events"] > 0

    @property
    def unruled(self) -> bool:
        """Whether there were events, and no policy was for any of them."""
        return self.rejected.get("no-policy", 0) == self.totals["events"] > 0

    @property
    def backwards(self) -> str:
        """Say that most records came late, as those of an input from new to old do; empty when they did not."""
        late, events = self.rejected.get("late", 0), self.totals["events"]
        if 2 * late <= events:
            return ""
        found = f"{late:,} of {events:,} records came late: records are decided in their order"
        return f"{found}; sort them by time, oldest first, and decide them into another folder"

    def document(self) -> dict[str, object]:
        """Return it for programs: amounts in nano-epsilon."""
        return {**self.totals, **self.met.document(), **self.used.document()}

    def lines(self) -> Iterator[str]:
        """Yield what the run came to: what was used first, the sum that nobody was promised last."""
        if self.used.sentence:
            yield self.used.sentence
        yield ", ".join(f"{count} {name}" for name, count in self.totals.items() if name != "spent_nano")
        yield from self.refusals()
        yield summed(self.totals["spent_nano"], self.steps)

    def refusals(self) -> Iterator[str]:
        """Yield how many records were refused for each reason, what it means and what to do."""
        for reason, count in self.rejected.items():
            yield f"{count} {reason}: {REASONS[reason].meaning}; what to do: {REASONS[reason].remedy}"


Checked = Callable[[Answered], None]
"""Looks at what a run came to before it is put in place; it may raise."""


class _Asked(NamedTuple):
    """The run that is asked for, after a first reading of the input, and the context for it."""

    context: Context
    secret: bytes  # keys the input's digest
    run: ReplayRun
    mixes: bool  # whether seeds of collected steps are mixed with the key, as no worker does
    replaces: bool = False


def replay(
    folder: ReplayFolder,
    records: Records,
    wanted: Wanted,
    watched: Watched = lambda items, _: items,
    checked: Checked = lambda _: None,
) -> Answered:
    """Decide records into a claimed folder: everything is in place, or nothing is changed.

    What ``checked`` raises comes through, and nothing is changed either.

    Raises:
        InvalidSettingsError: with every fault of policies and settings.
        KeyFileError: for a key file that cannot be used.
        ReplayFolderError: unless the folder is empty, or the input begins with all records of its latest run.
        OSError: where the folder cannot be written.
    """
    asked = _asked(folder, records, wanted, watched)
    with folder.writing() as files:
        answered = _decide(asked, records, files, watched)
        checked(answered)
    notes = []
    if asked.replaces:
        number = folder.replaced(own_key=wanted.key is None)
        notes.append(
            f"the earlier files of {folder.path} are now *.{number}. Both runs measure the same events: where "
            "anything of the earlier one was published, both budgets are spent"
        )
        if wanted.key is not None:
            notes.append(
                "under one --key equal values have equal noise: who sees both runs sees which values changed, "
                "whatever epsilon is; publish one of them alone"
            )
    folder.settle(asked.run)
    return answered._replace(notes=(*notes, *answered.notes))


def _asked(folder: ReplayFolder, records: Records, wanted: Wanted, watched: Watched) -> _Asked:
    """Read the input once, and see whether it may follow the folder's latest run, or is to replace it."""
    epoch_ms = wanted.settings.key_epoch_ms
    given = keyfile.load(wanted.key, epoch_ms) if wanted.key else None
    limits = replace(limits_of(wanted.settings), max_future_ms=None)  # a file has no append time to compare with
    defaults = (*wanted.policies, *default_policies(wanted.settings))

    def under(ring: KeyRing, latest: ReplayRun | None) -> tuple[Read, _Asked]:
        context = Context(ring, defaults, limits)
        found = read(watched(records(), "read"), ring.secret, context, latest)
        first = latest.first if latest else found.digest
        if given is None:
            context = replace(context, keys=ring.derived(bytes.fromhex(first)))
        run = ReplayRun(context.keys.fingerprint, first, found.configuration, found.digest, found.records)
        return found, _Asked(context, ring.secret, run, given is None)

    try:
        found, asked = under(given or folder.own_key(epoch_ms), folder.latest)
        folder.check(found, asked.context.keys)
    except ReplayFolderError:
        if not wanted.replace:
            raise
        _, asked = under(given or folder.spare_key(epoch_ms), None)
        return asked._replace(replaces=True)
    return asked


def _decide(asked: _Asked, records: Records, files: Mapping[str, BinaryIO], watched: Watched) -> Answered:
    ledger, releases, rejects = (_lines(file) for file in files.values())
    met, used = LandmarksMet(), MostUsed()

    def counted(key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:
        met.written(value)
        used.written(value)
        ledger(key, value, timestamp_ms, headers)

    def refused(key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:
        found: Any = wire.load(value)
        first.setdefault(found["reason"], found["offset"])
        rejects(key, value, timestamp_ms, headers)

    first: dict[Reason, int] = {}
    outlets = Outlets(counted, releases, refused, None)
    collection = Collection(keyfile.fresh_secret())
    decider = Decider(asked.context, lambda _: None, outlets, collection)
    taken = Digest(asked.secret, asked.context)
    for offset, event in enumerate(watched(records(), "replay")):
        taken.take(event)
        decided = _mixed(asked.context.keys, event) if asked.mixes else event
        decider.decide([InputRecord("landmark.events", 0, offset, 0, None, decided)])
    if taken.hex() != asked.run.digest:
        raise ReplayFolderError("FILE: changed while it was read, nothing is written; try again when it is whole")
    totals = {"events": taken.records} | dict.fromkeys(("perturbed", "approximated", "withheld"), 0)
    for (decision, _, _), found in decider.decisions.items():
        if decision in totals:
            totals[decision] += found
    totals |= {"rejected": sum(decider.rejected.values()), "spent_nano": sum(decider.spent.values())}
    if decider.renewals:
        totals |= {"renewed": decider.renewals.get("begun", 0), "not_renewed": decider.renewals.get("refused", 0)}
    return Answered(totals, decider.rejected, met, used, first, tuple(_left_open(len(collection.readings))))


def _left_open(steps: int) -> Iterator[str]:
    """Yield a note on steps of several readings that the end of the input leaves undecided.

    Those of collected data are left out: of them a step is always open.
    """
    # PRIVACY: how many are open follows from timestamps and watermarks alone, as what has a release does.
    if steps:
        counted = "1 step is still open and has" if steps == 1 else f"{steps:,} steps are still open and have"
        it = "it" if steps == 1 else "them"
        yield f"{counted} no release yet: a later reading closes {it}, or a watermark"


def _mixed(keys: KeyRing, event: bytes) -> bytes:
    """Return a record with its seed mixed with the key: what a seed draws would be equal in two runs otherwise."""
    found = wire.decode(event)
    match found:
        case Watermark():
            document: dict[str, object] = {"type": "watermark", "timestamp": found.timestamp_ms}
        case Intrusion():
            document = {"type": "intrusion"}
        case _:
            return event
    if found.seed is None:
        return event
    return wire.dump({**document, "series": found.series, "seed": keys.mixed(found.seed).hex()})


def _lines(file: BinaryIO) -> Append:
    """Return the outlet that writes a record's value as a line of ``file``."""

    def write(_key: bytes | None, value: bytes, _timestamp_ms: int, _headers: Headers) -> None:
        file.write(value + b"\n")

    return write
