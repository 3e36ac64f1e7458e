"""``replay``: decide a file of events without Kafka, byte for byte as the worker would."""

import argparse
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from rich.console import Console
from rich.progress import track

from stream_app import keyfile, wire
from stream_app.cli import UsageError
from stream_app.cli.eventfile import add_mapping, events
from stream_app.collection import Collection
from stream_app.configuration import default_policies, limits_of, policies_in
from stream_app.context import Context
from stream_app.decider import Append, Decider, Headers, Outlets
from stream_app.outcome import InputRecord
from stream_app.privacy.reason import REASONS, Reason
from stream_app.settings import InvalidSettingsError, Settings

HELP = "decide a file of events without Kafka"
KEY_NAME = "replay.key"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_mapping(parser)
    parser.add_argument("--out", type=Path, required=True, help="folder for releases, ledger and rejects (.jsonl)")
    parser.add_argument("--policies", type=Path, help="JSON Lines of default policies, series a glob")
    parser.add_argument("--key", type=Path, help=f"key file (default: a new one, OUT/{KEY_NAME})")
    parser.add_argument("--config", type=Path, help="configuration (default: safe defaults, no file is looked for)")
    parser.add_argument("--json", action="store_true", help="print the totals as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Replay; 0 when every record was answered, rejects included; raises `UsageError` for input that nothing rules."""
    try:
        context = _context(arguments)
        totals, rejected = _replay(arguments, context)
    except (InvalidSettingsError, keyfile.KeyFileError) as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}; name a folder that can be written") from None
    if arguments.json:
        print(wire.dump(totals).decode())
    else:
        print(", ".join(f"{count} {name}" for name, count in totals.items()))
        for reason, count in rejected.items():
            print(f"{count} {reason}: {REASONS[reason].meaning}; what to do: {REASONS[reason].remedy}")
    if rejected.get("no-policy", 0) == totals["events"] > 0:
        raise UsageError(_unruled(arguments))
    return 0


def _unruled(arguments: argparse.Namespace) -> str:
    """Say why no record was decided, in the words that the user gave."""
    series = f"--series {arguments.series}" if arguments.series else f"a series of {arguments.file}"
    if arguments.policies is None:
        return f"no record was decided: no policy is for {series}; give --policies, or policy records among the events"
    return f"no record was decided: no policy of {arguments.policies} (--policies) is for {series}; write both alike"


def _context(arguments: argparse.Namespace) -> Context:
    arguments.out.mkdir(parents=True, exist_ok=True)
    settings = Settings.load(arguments.config) if arguments.config else Settings.model_construct()
    if arguments.key is None:
        path = arguments.out / KEY_NAME
        if path.exists():
            print(
                f"landmark-stream replay: uses {path} again and replaces its outputs. If earlier ones were published, "
                "other policies or values measure the same events anew, which costs both budgets",
                file=sys.stderr,
            )
        if not path.exists():
            keyfile.create(path)
        keys = keyfile.load(path, settings.key_epoch_ms)
    else:
        keys = keyfile.load(arguments.key, settings.key_epoch_ms)
        if arguments.policies:
            # Two measurements of one value at two scales, or under two policies, cost both their budgets.
            print(
                "landmark-stream replay: if this key is in production use, deciding its events under other policies "
                "spends budget that no ledger of production shows; use a key of its own",
                file=sys.stderr,
            )
    limits = replace(limits_of(settings), max_future_ms=None)  # a file has no append time to compare with
    defaults = default_policies(settings)
    if arguments.policies is not None:
        defaults = (*policies_in(arguments.policies, limits), *defaults)
    return Context(keys, defaults, limits)


def _replay(arguments: argparse.Namespace, context: Context) -> tuple[dict[str, int], Mapping[Reason, int]]:
    stream = events(arguments)
    first = list(islice(stream, 1))  # unusable input leaves the results of an earlier run as they are
    count = 0
    with ExitStack() as stack:
        releases, ledger, rejects = (
            _lines(stack.enter_context((arguments.out / f"{name}.jsonl").open("wb")))
            for name in ("releases", "ledger", "rejects")
        )
        outlets = Outlets(ledger, releases, rejects, None)
        decider = Decider(context, lambda _: None, outlets, Collection(keyfile.fresh_secret()))
        whole = chain(first, stream)
        console = Console(stderr=True)
        shown = track(whole, "replay", console=console) if console.is_terminal else whole
        for offset, event in enumerate(shown):
            decider.decide([InputRecord("landmark.events", 0, offset, 0, None, event)])
            count += 1
    totals = {"events": count} | dict.fromkeys(("perturbed", "approximated", "withheld"), 0)
    for (decision, _, _), found in decider.decisions.items():
        if decision in totals:
            totals[decision] += found
    totals |= {"rejected": sum(decider.rejected.values()), "spent_nano": sum(decider.spent.values())}
    return totals, decider.rejected


def _lines(file: BinaryIO) -> Append:
    """Return the outlet that writes a record's value as a line of ``file``."""

    def write(_key: bytes | None, value: bytes, _timestamp_ms: int, _headers: Headers) -> None:
        file.write(value + b"\n")

    return write
