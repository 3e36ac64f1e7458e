"""``send FILE``: send events from a file to the events topic."""

import argparse
import asyncio
from collections.abc import Iterable

from stream_app.cli.shared.arguments import add_config
from stream_app.cli.shared.configured import reaching, settings_of
from stream_app.cli.shared.eventfile import add_mapping, events, record_key
from stream_app.cli.shared.progress import tracked
from stream_app.formats import wire
from stream_app.kafka.client.sending import Event, send_events


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_mapping(parser)
    add_config(parser)
    parser.add_argument("--json", action="store_true", help="print the count as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Send all; 0 when every event was acknowledged."""
    return send_and_tell(arguments, tracked(events(arguments), "send"))


def send_and_tell(arguments: argparse.Namespace, found: Iterable[bytes]) -> int:
    """Send event records as the settings say and print how many."""
    settings = settings_of(arguments)
    separator = settings.member_separator
    with reaching(settings):
        sent = asyncio.run(send_events(settings, (Event(record_key(event, separator), event) for event in found)))
    print(wire.dump({"sent": sent}).decode() if arguments.json else f"{sent} events sent")
    return 0
