"""``send FILE``: send events from a file to the events topic."""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from aiokafka.errors import KafkaError

from stream_app.cli import UsageError
from stream_app.cli.shared.answers import NO_ANSWER, REFUSED, add_wait, checked_wait, outcome_told, unheard
from stream_app.cli.shared.arguments import add_config
from stream_app.cli.shared.configured import reaching, settings_of
from stream_app.cli.shared.doubtful import add_accept, refuse_doubts, tell_clamped
from stream_app.cli.shared.eventfile import EventFile, add_mapping, events, record_key, rereadable
from stream_app.cli.shared.progress import progress, tracked
from stream_app.cli.shared.rejected import explained
from stream_app.deciding.context import DefaultPolicy
from stream_app.deciding.landmarksmet import LandmarksMet
from stream_app.formats import wire
from stream_app.kafka.client.sending import Event, Sent, send_events
from stream_app.kafka.outcome import Starts, ends_of, outcome_of
from stream_app.replaying.doubts import CHECKS
from stream_app.replaying.run import rehearsed
from stream_app.setup.configuration import default_policies, limits_of
from stream_app.setup.settings import InvalidSettingsError, Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.epilog = (
        "The whole file is read and decided here first, by the policies that this machine knows, to see what --accept "
        "lists; nothing of that is kept or sent. A pipe waits meanwhile in a temporary file (TMPDIR) without a name. "
        "What is sent goes out as it is read only if every check is accepted."
    )
    add_mapping(parser)
    add_wait(parser)
    add_accept(parser)
    add_config(parser)
    parser.add_argument("--json", action="store_true", help="print the count as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Send all; 0 when every event was acknowledged, with ``--wait`` 1 where one is refused, 3 without all answers."""
    if arguments.wait is not None:
        checked_wait(arguments.wait)
    settings = settings_of(arguments)
    defaults = _defaults(settings)
    met = LandmarksMet(defaults)
    with _looked_at(arguments, settings, defaults) as file:
        code = send_and_tell(arguments, met.sent(tracked(file, "send", file.far)), met.document)
    if met.sentence and not arguments.json:
        _warn(met.sentence)
    return code


@contextmanager
def _looked_at(
    arguments: argparse.Namespace, settings: Settings, defaults: Sequence[DefaultPolicy]
) -> Iterator[EventFile]:
    """Give the file, in which nothing looks wrong that was not accepted; raises `UsageError` before anything is sent.

    The memory that a look takes is that of its series, and of what their open steps count.
    """
    if set(CHECKS) <= set(arguments.accept):
        yield events(arguments)
        return
    with rereadable(arguments, Path(tempfile.gettempdir())) as file:
        answered = rehearsed(tracked(file, "look", file.far), defaults, limits_of(settings))
        tell_clamped(answered, "send")
        sentences = explained(file, answered.first)
        refuse_doubts(answered, arguments.accept, file.name, "sent", sentences)
        yield file


def _warn(text: str) -> None:
    print(f"landmark-stream send: {text}", file=sys.stderr)


def _so_far(sent: Sent) -> str:
    """Say what the topic holds of a sending that did not come to its end; empty where that is nothing."""
    told = f"{sent.events:,} events were sent"
    if sent.unknown:
        return f"{told}; of {sent.unknown:,} more nobody knows"
    return f"{told}, and no others" if sent.events else ""


def _defaults(settings: Settings) -> Sequence[DefaultPolicy]:
    """Return the default policies where this machine has them: whoever sends need not."""
    try:
        return default_policies(settings)
    except InvalidSettingsError:
        return ()


def send_and_tell(
    arguments: argparse.Namespace, found: Iterable[bytes], more: Callable[[], Mapping[str, int]] = dict
) -> int:
    """Send event records as the settings say and print how many, for programs with ``more`` of what was sent."""
    settings = settings_of(arguments)
    separator = settings.member_separator
    acknowledged = Sent()
    starts: Starts = {}
    keyed = (Event(record_key(event, separator), event) for event in found)
    with reaching(settings):
        if arguments.wait is not None:
            with unheard(settings):
                starts = asyncio.run(ends_of(settings))
        try:
            asyncio.run(send_events(settings, keyed, acknowledged))
        except (KeyboardInterrupt, KafkaError):
            if told := _so_far(acknowledged):
                print(f"landmark-stream {arguments.command}: {told}", file=sys.stderr)
            raise
    sent = acknowledged.events
    if arguments.wait is None:
        print(wire.dump({"sent": sent, **more()}).decode() if arguments.json else f"{sent} events sent")
        return 0
    if not arguments.json:
        print(f"{sent} events sent", flush=True)
    try:
        with reaching(settings), progress("answers") as shown:
            moved = (lambda done: shown(done, sent)) if shown else (lambda _: None)
            outcome = asyncio.run(outcome_of(settings, acknowledged, starts, arguments.wait, moved))
    except UsageError as error:
        raise UsageError(
            f"all events are sent, so send none again; what became of them cannot be told: {error}"
        ) from None
    if arguments.json:
        print(wire.dump({**outcome.document(), **more()}).decode())
    else:
        print("\n".join(outcome_told(outcome, arguments.wait)))
    return REFUSED if outcome.rejects else NO_ANSWER if outcome.answered < sent else 0
