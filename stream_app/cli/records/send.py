"""``send FILE``: send events from a file to the events topic."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

from stream_app.cli.shared.answers import NO_ANSWER, REFUSED, add_wait, checked_wait, outcome_told
from stream_app.cli.shared.arguments import add_config
from stream_app.cli.shared.configured import reaching, settings_of
from stream_app.cli.shared.eventfile import add_mapping, events, record_key, unless_seconds
from stream_app.cli.shared.progress import progress, tracked
from stream_app.deciding.context import DefaultPolicy
from stream_app.deciding.landmarksmet import LandmarksMet
from stream_app.formats import wire
from stream_app.kafka.client.outcome import ends_of, outcome_of
from stream_app.kafka.client.sending import Event, Sent, send_events
from stream_app.setup.configuration import default_policies
from stream_app.setup.settings import InvalidSettingsError, Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_mapping(parser)
    add_wait(parser)
    add_config(parser)
    parser.add_argument("--json", action="store_true", help="print the count as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Send all; 0 when every event was acknowledged, with ``--wait`` 1 where one is refused, 3 without all answers."""
    if arguments.wait is not None:
        checked_wait(arguments.wait)
    met = LandmarksMet(_defaults(settings_of(arguments)))
    file = events(arguments)
    found = tracked(unless_seconds(file, file.name, _warn), "send", file.far)
    code = send_and_tell(arguments, met.sent(found), met.document)
    if met.sentence and not arguments.json:
        _warn(met.sentence)
    return code


def _warn(text: str) -> None:
    print(f"landmark-stream send: {text}", file=sys.stderr)


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
    keyed = (Event(record_key(event, separator), event) for event in found)
    with reaching(settings):
        starts = {} if arguments.wait is None else asyncio.run(ends_of(settings))
        try:
            asyncio.run(send_events(settings, keyed, acknowledged))
        except KeyboardInterrupt:
            _warn(f"{acknowledged.events:,} events were acknowledged, and those being sent may be in the topic, too")
            raise
    sent = acknowledged.events
    if arguments.wait is None:
        print(wire.dump({"sent": sent, **more()}).decode() if arguments.json else f"{sent} events sent")
        return 0
    if not arguments.json:
        print(f"{sent} events sent", flush=True)
    with reaching(settings), progress("answers") as shown:
        moved = (lambda done: shown(done, sent)) if shown else (lambda _: None)
        outcome = asyncio.run(outcome_of(settings, acknowledged, starts, arguments.wait, moved))
    if arguments.json:
        print(wire.dump({**outcome.document(), **more()}).decode())
    else:
        print("\n".join(outcome_told(outcome, arguments.wait)))
    return REFUSED if outcome.rejects else NO_ANSWER if outcome.answered < sent else 0
