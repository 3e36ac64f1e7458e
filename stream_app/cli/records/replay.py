"""``replay``: decide a file of events without Kafka; under a worker's ``--key``, byte for byte as that worker would."""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from stream_app.cli import UsageError
from stream_app.cli.shared.eventfile import add_mapping, events
from stream_app.cli.shared.progress import tracked
from stream_app.formats import wire
from stream_app.replaying.folder import KEY_NAME, ReplayFolder, ReplayFolderError
from stream_app.replaying.run import Answered, Records, Wanted, replay
from stream_app.setup import keyfile
from stream_app.setup.configuration import limits_of, policies_in
from stream_app.setup.settings import InvalidSettingsError, Settings


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
    if answered.unruled:
        raise UsageError(_unruled(arguments))
    return 0


def _run(arguments: argparse.Namespace) -> Answered:
    with ExitStack() as stack:
        folder = stack.enter_context(ReplayFolder.claimed(arguments.out))
        records = _records(arguments, stack)
        settings = Settings.load(arguments.config) if arguments.config else Settings.model_construct()
        policies = () if arguments.policies is None else policies_in(arguments.policies, limits_of(settings))
        if arguments.key and policies:
            # Two measurements of one value at two scales, or under two policies, cost both their budgets.
            _warn(
                "if this key is in production use, deciding its events under other policies spends budget that no "
                "ledger of production shows; use a key of its own"
            )
        answered = replay(folder, records, Wanted(settings, policies, arguments.key, arguments.replace), tracked)
    for note in answered.notes:
        _warn(note)
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
