"""``send FILE``: send events from a file to the events topic."""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from stream_app.calendar.words import moment_in_words
from stream_app.cli.shared.answers import add_wait, checked_wait, send_and_tell
from stream_app.cli.shared.arguments import add_config
from stream_app.cli.shared.configured import settings_of
from stream_app.cli.shared.doubtful import add_accept, refuse_doubts, tell_clamped
from stream_app.cli.shared.eventfile import EventFile, add_mapping, rereadable
from stream_app.cli.shared.mapped import tell_file
from stream_app.cli.shared.rejected import explained
from stream_app.cli.shared.terminal import tracked
from stream_app.deciding.context import DefaultPolicy
from stream_app.deciding.landmarksmet import LandmarksMet
from stream_app.plain import some_of
from stream_app.replaying.doubts import CHECKS
from stream_app.replaying.run import rehearsed
from stream_app.setup.configuration import default_policies, limits_of
from stream_app.setup.settings import InvalidSettingsError, Settings
from stream_app.words.amount import quoted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        "The whole file is first read and processed on this machine, with the policies known here, for the checks "
        "that --accept lists. Nothing from this pass is kept or sent. Meanwhile, a pipe is stored in an unnamed "
        "temporary file (TMPDIR). Records are sent only if every check passes or is accepted; they are sent while the "
        "file is read."
    )
    add_mapping(parser)
    add_wait(parser)
    add_accept(parser)
    add_config(parser)
    parser.add_argument("--json", action="store_true", help="print the count as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Send all events and return 0 once each is acknowledged.

    With ``--wait``, return 1 if an event is refused and 3 if an answer is missing.
    """
    if arguments.wait is not None:
        checked_wait(arguments.wait)
    settings = settings_of(arguments)
    defaults = _defaults(settings)
    with _looked_at(arguments, settings, defaults) as file:
        met = LandmarksMet(defaults, partial(moment_in_words, zone=file.zone))
        code = send_and_tell(arguments, met.sent(tracked(file, "send", file.far)), met.document)
    if met.sentence and not arguments.json:
        print(f"landmark-stream send: {met.sentence}", file=sys.stderr)
    return code


@contextmanager
def _looked_at(
    arguments: argparse.Namespace, settings: Settings, defaults: Sequence[DefaultPolicy]
) -> Iterator[EventFile]:
    """Check the file, then yield it; raise `UsageError` for unaccepted doubts, before anything is sent.

    The check needs memory for the series and for the counts of their open steps.
    """
    if set(CHECKS) <= set(arguments.accept):
        yield EventFile(arguments)
        return
    with rereadable(arguments, Path(tempfile.gettempdir())) as file:
        answered = rehearsed(tracked(file, "look", file.far), defaults, limits_of(settings), file.zone)
        tell_file(file, "send", answered.rows.series)
        tell_clamped(answered, "send")
        refuse_doubts(answered, arguments.accept, file.name, "sent", explained(file, answered.rows))
        if arguments.wait is None and (unruled := answered.rows.unruled):
            print(f"landmark-stream send: {_unruled(unruled)}", file=sys.stderr)
        yield file


def _unruled(series: Sequence[str]) -> str:
    """Describe what happens to series for which this machine has no policy."""
    names = some_of([quoted(name) for name in series], "series")
    unless = (
        "a worker rejects their events (no-policy) unless a policy has already been sent; --wait waits for the "
        "worker's answer"
    )
    return f"no policy for {names} is known here: {unless}"


def _defaults(settings: Settings) -> Sequence[DefaultPolicy]:
    """Return this machine's default policies, or none if they are unusable, because sending needs no policies."""
    try:
        return default_policies(settings)
    except InvalidSettingsError:
        return ()
