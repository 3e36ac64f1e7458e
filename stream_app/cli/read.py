"""``read releases|ledger|rejects``: print committed records, one JSON object a line."""

import argparse
import asyncio
import sys
from typing import Any

from stream_app import wire
from stream_app.cli.configured import add_config, reaching, settings_of
from stream_app.kafka.reading import committed_records
from stream_app.kafka.topics import TopicNames
from stream_app.settings import Settings

HELP = "read releases, ledger or rejects"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("topic", choices=("releases", "ledger", "rejects"))
    add_config(parser)
    parser.add_argument("--series", help="only this series")
    parser.add_argument("--limit", type=int, help="stop after so many records")
    parser.add_argument("--follow", action="store_true", help="go on for ever")
    parser.add_argument("--json", action="store_true", help="accepted for symmetry: output is JSON Lines always")


def run(arguments: argparse.Namespace) -> int:
    """Print; 0 at the end of the topic."""
    settings = settings_of(arguments)
    with reaching(settings):
        asyncio.run(_read(arguments, settings))
    return 0


async def _read(arguments: argparse.Namespace, settings: Settings) -> None:
    names = TopicNames.of(settings.prefix, settings.application)
    topic: str = getattr(names, arguments.topic)
    shown = 0
    async for record in committed_records(settings, topic, follow=arguments.follow):
        if shown == arguments.limit:
            break
        if arguments.series is not None:
            found: Any = wire.load(record.value)
            if found["series"] != arguments.series:
                continue
        shown += 1
        sys.stdout.buffer.write(record.value + b"\n")
        if arguments.follow:
            sys.stdout.flush()
