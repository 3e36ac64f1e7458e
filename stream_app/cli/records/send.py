"""``send FILE``: send events from a file to the events topic."""

import argparse
import asyncio
from collections.abc import Iterable

from stream_app.cli.shared.arguments import add_config
from stream_app.cli.shared.configured import reaching, settings_of
from stream_app.cli.shared.eventfile import add_mapping, events, series_key
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
    shown = tracked(events(arguments), "send")
    return send_and_tell(arguments, (Event(series_key(event), event) for event in shown))


def send_and_tell(arguments: argparse.Namespace, found: Iterable[Event]) -> int:
    """Send events as the settings say and print how many."""
    settings = settings_of(arguments)
    with reaching(settings):
        sent = asyncio.run(send_events(settings, found))
    print(wire.dump({"sent": sent}).decode() if arguments.json else f"{sent} events sent")
    return 0
