"""``replay``: decide a file of events without Kafka; under a worker's ``--key``, byte for byte as that worker would."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

from stream_app.cli import UsageError
from stream_app.cli.records.replayfolder import KEY_NAME, Digest, Read, ReplayFolder, ReplayFolderError, ReplayRun, read
from stream_app.cli.shared.eventfile import add_mapping, events
from stream_app.cli.shared.landmarksmet import LandmarksMet
from stream_app.cli.shared.progress import tracked
from stream_app.deciding.context import Context
from stream_app.deciding.counters import Collection
from stream_app.deciding.decider import Append, Decider, Headers, Outlets
from stream_app.deciding.used import MostUsed
from stream_app.formats import wire
from stream_app.formats.records import InputRecord, Intrusion, Watermark
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.reason import REASONS, Reason
from stream_app.setup import keyfile
from stream_app.setup.configuration import default_policies, limits_of, policies_in
from stream_app.setup.settings import InvalidSettingsError, Settings
from stream_app.words.amount import summed

Records = Callable[[], Iterator[bytes]]
"""Yields the input's records, from the first, each time it is called."""


class _Asked(NamedTuple):
    """The run that is asked for, after a first reading of the input, and the context for it."""

    context: Context
    secret: bytes  # keys the input's digest
    run: ReplayRun
    mixes: bool  # whether seeds of collected steps are mixed with the key, as no worker does
    replaces: bool = False


class _Answered(NamedTuple):
    """What a run came to."""

    totals: dict[str, int]
    rejected: Mapping[Reason, int]
    met: LandmarksMet
    used: MostUsed

    @property
    def steps(self) -> int:
        """How many steps were decided."""
        return sum(self.totals[decision] for decision in ("perturbed", "approximated", "withheld"))

    def document(self) -> dict[str, object]:
        """Return it for programs: amounts in nano-epsilon."""
        return {**self.totals, **self.met.document(), **self.used.document()}

    def lines(self) -> Iterator[str]:
        """Yield what the run came to: what was used first, the sum that nobody was promised last."""
        if self.used.sentence:
            yield self.used.sentence
        yield ", ".join(f"{count} {name}" for name, count in self.totals.items() if name != "spent_nano")
        for reason, count in self.rejected.items():
            yield f"{count} {reason}: {REASONS[reason].meaning}; what to do: {REASONS[reason].remedy}"
        yield summed(self.totals["spent_nano"], self.steps)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_mapping(parser)
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="folder for releases, ledger and rejects (.jsonl); one that holds a run takes only an input that begins "
        "with all records of it",
    )
    parser.add_argument("--policies", type=Path, help="JSON Lines of default policies, series a glob")
    parser.add_argument(
        "--key", type=Path, help=f"key file of a worker (default: a key made of the input and of OUT/{KEY_NAME})"
    )
    parser.add_argument(
        "--replace", action="store_true", help="move what OUT holds to *.1 and decide anew; both budgets are spent then"
    )
    parser.add_argument("--config", type=Path, help="configuration (default: safe defaults, no file is looked for)")
    parser.add_argument("--json", action="store_true", help="print the totals as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Replay; 0 when every record was answered, rejects included; raises `UsageError` for input that nothing rules."""
    try:
        answered = _run(arguments)
    except (InvalidSettingsError, keyfile.KeyFileError, ReplayFolderError) as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}; name a folder that can be written") from None
    if arguments.json:
        print(wire.dump(answered.document()).decode())
    else:
        if answered.met.sentence:
            _warn(answered.met.sentence)
        print("\n".join(answered.lines()))
    if answered.rejected.get("no-policy", 0) == answered.totals["events"] > 0:
        raise UsageError(_unruled(arguments))
    return 0


def _run(arguments: argparse.Namespace) -> _Answered:
    with ExitStack() as stack:
        folder = stack.enter_context(ReplayFolder.claimed(arguments.out))
        records = _records(arguments, stack)
        asked = _asked(arguments, folder, records)
        if arguments.key and arguments.policies:
            # Two measurements of one value at two scales, or under two policies, cost both their budgets.
            _warn(
                "if this key is in production use, deciding its events under other policies spends budget that no "
                "ledger of production shows; use a key of its own"
            )
        with folder.writing() as files:
            answered = _replay(asked, records, files)
        if asked.replaces:
            number = folder.replaced(own_key=arguments.key is None)
            _warn(
                f"the earlier files of {folder.path} are now *.{number}. Both runs measure the same events: where "
                "anything of the earlier one was published, both budgets are spent"
            )
            if arguments.key:
                _warn(
                    "under one --key equal values have equal noise: who sees both runs sees which values changed, "
                    "whatever epsilon is; publish one of them alone"
                )
        folder.settle(asked.run)
    return answered


def _warn(text: str) -> None:
    print(f"landmark-stream replay: {text}", file=sys.stderr)


def _unruled(arguments: argparse.Namespace) -> str:
    """Say why no record was decided, in the words that the user gave."""
    series = f"--series {arguments.series}" if arguments.series else f"a series of {arguments.file}"
    if arguments.policies is None:
        return f"no record was decided: no policy is for {series}; give --policies, or policy records among the events"
    return f"no record was decided: no policy of {arguments.policies} (--policies) is for {series}; write both alike"


def _records(arguments: argparse.Namespace, stack: ExitStack) -> Records:
    """Return what reads the input. It is read twice at least: the noise key is made of the whole input."""
    path: Path = arguments.file
    if path.is_file() or not path.exists():
        return lambda: events(arguments)
    # PRIVACY: a pipe can be read once. Its raw values wait in a file without a name, which goes when the run ends.
    spool = tempfile.TemporaryFile(dir=arguments.out)  # noqa: SIM115 - closed by the stack
    stack.callback(spool.close)
    spool.writelines(event + b"\n" for event in events(arguments))

    def again() -> Iterator[bytes]:
        spool.seek(0)
        return (line.rstrip(b"\n") for line in spool)

    return again


def _asked(arguments: argparse.Namespace, folder: ReplayFolder, records: Records) -> _Asked:
    """Read the input once, and see whether it may follow the folder's latest run, or is to replace it."""
    settings = Settings.load(arguments.config) if arguments.config else Settings.model_construct()
    epoch_ms = settings.key_epoch_ms
    given = keyfile.load(arguments.key, epoch_ms) if arguments.key else None
    limits = replace(limits_of(settings), max_future_ms=None)  # a file has no append time to compare with
    defaults = default_policies(settings)
    if arguments.policies is not None:
        defaults = (*policies_in(arguments.policies, limits), *defaults)

    def under(ring: KeyRing, latest: ReplayRun | None) -> tuple[Read, _Asked]:
        context = Context(ring, defaults, limits)
        found = read(tracked(records(), "read"), ring.secret, context, latest)
        first = latest.first if latest else found.digest
        if given is None:
            context = replace(context, keys=ring.derived(bytes.fromhex(first)))
        run = ReplayRun(context.keys.fingerprint, first, found.configuration, found.digest, found.records)
        return found, _Asked(context, ring.secret, run, given is None)

    try:
        found, asked = under(given or folder.own_key(epoch_ms), folder.latest)
        folder.check(found, asked.context.keys)
    except ReplayFolderError:
        if not arguments.replace:
            raise
        _, asked = under(given or folder.spare_key(epoch_ms), None)
        return asked._replace(replaces=folder.holds)
    return asked


def _replay(asked: _Asked, records: Records, files: Mapping[str, BinaryIO]) -> _Answered:
    ledger, releases, rejects = (_lines(file) for file in files.values())
    met, used = LandmarksMet(), MostUsed()

    def counted(key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:
        met.written(value)
        used.written(value)
        ledger(key, value, timestamp_ms, headers)

    outlets = Outlets(counted, releases, rejects, None)
    decider = Decider(asked.context, lambda _: None, outlets, Collection(keyfile.fresh_secret()))
    taken = Digest(asked.secret, asked.context)
    for offset, event in enumerate(tracked(records(), "replay")):
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
    return _Answered(totals, decider.rejected, met, used)


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
