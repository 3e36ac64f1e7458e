"""``replay``: process a file of events without Kafka.

With a worker's ``--key``, the output is identical to that worker's output, byte for byte.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from stream_app.cli import UsageError, mendable
from stream_app.cli.shared.arguments import writable
from stream_app.cli.shared.doubtful import add_accept, refuse_doubts, tell_clamped
from stream_app.cli.shared.eventfile import EventFile, add_mapping, rereadable
from stream_app.cli.shared.mapped import tell_file
from stream_app.cli.shared.policytimes import PolicyTimes
from stream_app.cli.shared.rejected import explained
from stream_app.cli.shared.terminal import tracked
from stream_app.deciding.context import DefaultPolicy
from stream_app.formats import wire
from stream_app.plain import meant
from stream_app.replaying.folder import KEY_NAME, ReplayFolder, ReplayFolderError
from stream_app.replaying.processing import RunResult
from stream_app.replaying.run import SHARED_KEY, RunRequest, replay
from stream_app.setup import keyfile
from stream_app.setup.configuration import limits_of, policies_in
from stream_app.setup.settings import InvalidSettingsError, Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    add_mapping(parser)
    out_help = (
        "folder for releases, ledger and rejects (.jsonl); if it contains an earlier run, the input must begin with "
        "all records of that run"
    )
    parser.add_argument("--out", type=Path, required=True, help=out_help)
    parser.add_argument("--policies", type=Path, help="default policies as JSON Lines, whose series are globs")
    key_help = f"a worker's key file (default: a key derived from the input and OUT/{KEY_NAME})"
    parser.add_argument("--key", type=Path, help=key_help)
    replace_help = "move the files of OUT to *.1 and process all records again; the budget is then spent twice"
    parser.add_argument("--replace", action="store_true", help=replace_help)
    add_accept(parser)
    parser.add_argument("--config", type=Path, help="configuration (default: safe defaults; no file is read)")
    parser.add_argument("--json", action="store_true", help="print the totals as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Replay the file and return 0 if records were processed; raise `UsageError` for doubts that were not accepted."""
    with mendable(InvalidSettingsError, keyfile.KeyFileError, ReplayFolderError):
        return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    with ExitStack() as stack:
        with writable(f"--out {arguments.out}", "folder"):
            folder = stack.enter_context(ReplayFolder.claimed(arguments.out))
            settings = Settings.load(arguments.config) if arguments.config else Settings.model_construct()
            policies = () if arguments.policies is None else policies_in(arguments.policies, limits_of(settings))
            file = stack.enter_context(rereadable(arguments, arguments.out))
            for default in policies:
                for warning in PolicyTimes(default.glob, default.policy, file.zone).warnings():
                    _warn(warning)
            wanted = RunRequest(settings, policies, arguments.key, arguments.replace, file.zone)

            def checked(answered: RunResult) -> None:
                _refuse(arguments, answered, file, policies)

            answered = replay(folder, lambda: iter(file), wanted, _Progress(file).tracked, checked)
        if arguments.key and policies:
            _warn(SHARED_KEY)
        for note in answered.notes:
            _warn(note)
        return _told(arguments, answered, file)


def _refuse(
    arguments: argparse.Namespace, answered: RunResult, file: EventFile, policies: Sequence[DefaultPolicy]
) -> None:
    """Raise `UsageError` for likely errors in the file, before any output is moved into place."""
    tell_file(file, "replay", answered.rows.series)
    tell_clamped(answered, "replay")
    if answered.unruled and "refused" not in arguments.accept:
        raise UsageError(_unruled(arguments, policies))
    sentences = list(explained(file, answered.rows))
    if answered.refused and "refused" not in arguments.accept:
        raise UsageError("\n".join(("no record was processed; the first was rejected for this reason:", *sentences)))
    step = answered.met.step_sentence(answered.rejected.get("duplicate", 0))
    more = [*([f"{file.name}: {step}"] if step else []), *sentences]
    refuse_doubts(answered, arguments.accept, file.name, "written, and no budget was spent", more)


def _told(arguments: argparse.Namespace, answered: RunResult, file: EventFile) -> int:
    if arguments.json:
        print(wire.dump(answered.document()).decode())
    else:
        if answered.met.sentence:
            _warn(answered.met.sentence)
        if told := answered.met.step_sentence(answered.rejected.get("duplicate", 0)):
            _warn(told)
        print("\n".join(answered.lines()))
        for sentence in explained(file, answered.rows):
            _warn(sentence)
        if not answered.totals["events"]:
            _warn(f"{file.name}: contains no events, so nothing was processed")
    return 0


class _Progress:
    """Shows the progress through a file: in bytes during the first reading, in records during later ones."""

    def __init__(self, file: EventFile) -> None:
        self._file, self._records = file, 0

    def tracked(self, items: Iterator[bytes], what: str) -> Iterable[bytes]:
        """Return the items; on a terminal, show a progress bar."""
        total = self._records
        done = 0

        def counted() -> Iterator[bytes]:
            nonlocal done
            for done, item in enumerate(items, 1):  # noqa: B007 - it is how far the items are
                yield item
            self._records = done

        return tracked(counted(), what, lambda: (done, total) if total else self._file.far())


def _warn(text: str) -> None:
    print(f"landmark-stream replay: {text}", file=sys.stderr)


def _unruled(arguments: argparse.Namespace, policies: Sequence[DefaultPolicy]) -> str:
    """Return the reason why no record was processed, in terms of the user's options."""
    series = f"--series {arguments.series}" if arguments.series else f"a series of {arguments.file}"
    if arguments.policies is None:
        return (
            f"no record was processed: no policy matches {series}; add --policies, or policy records among the events"
        )
    found = (
        f"no record was processed: no policy of {arguments.policies} (--policies) matches {series}; correct the series "
        "or the policy's glob"
    )
    return found + (meant(arguments.series, [each.glob for each in policies]) if arguments.series else "")
