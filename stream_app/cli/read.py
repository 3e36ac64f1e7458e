"""``read releases|ledger|rejects|heads``: print committed records, one JSON object a line."""

import argparse
import asyncio
import sys
from fnmatch import fnmatchcase
from typing import Any

from stream_app import wire
from stream_app.cli import UsageError
from stream_app.cli.configured import add_config, reaching, settings_of
from stream_app.cli.moment import milliseconds_of
from stream_app.kafka.reading import committed_records
from stream_app.kafka.topics import TopicNames
from stream_app.settings import Settings

HELP = "read releases, ledger, rejects or heads"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("topic", choices=("releases", "ledger", "rejects", "heads"), help="which topic")
    add_config(parser)
    parser.add_argument(
        "--series", action="append", metavar="GLOB", help="only this series, or those that match; repeat it for more"
    )
    begins = parser.add_mutually_exclusive_group()
    begins.add_argument(
        "--from", dest="begin", choices=("start", "end"), default="start", help="where to begin (default: %(default)s)"
    )
    begins.add_argument(
        "--since",
        metavar="TIMESTAMP",
        help="only records of this time or later (releases and ledger: the step's start); ms, or ISO 8601 with offset",
    )
    parser.add_argument(
        "--without-leaves", action="store_true", help="of the heads, the signed records alone: what a witness keeps"
    )
    parser.add_argument("--limit", type=int, help="stop after so many records")
    parser.add_argument("--follow", action="store_true", help="go on with what is committed, until Ctrl-C")
    parser.add_argument("--json", action="store_true", help="accepted for symmetry: output is JSON Lines always")


def run(arguments: argparse.Namespace) -> int:
    """Print; 0 at the end of the topic."""
    if arguments.series is not None and arguments.topic == "heads":
        raise UsageError("--series: a head stands for many series; `audit --prove SERIES` gives the proof of one")
    if arguments.without_leaves and arguments.topic != "heads":
        raise UsageError("--without-leaves: only heads have leaves; leave it out")
    settings = settings_of(arguments)
    with reaching(settings):
        asyncio.run(_read(arguments, settings))
    return 0


async def _read(arguments: argparse.Namespace, settings: Settings) -> None:
    names = TopicNames.of(settings.prefix, settings.application)
    topic: str = getattr(names, arguments.topic)
    shown = 0
    if arguments.limit == 0:
        return
    from_end, since_ms = arguments.begin == "end", _since(arguments)
    async for record in committed_records(
        settings, topic, follow=arguments.follow, from_end=from_end, since_ms=since_ms
    ):
        if not _wanted(arguments, record.value):
            continue
        shown += 1
        sys.stdout.buffer.write(record.value + b"\n")
        if arguments.follow:
            sys.stdout.flush()
        if shown == arguments.limit:
            break


def _wanted(arguments: argparse.Namespace, value: bytes) -> bool:
    """Tell whether a record is to be shown; nothing is decoded where all are."""
    if arguments.series is None and not arguments.without_leaves:
        return True
    found: Any = wire.load(value)
    if arguments.without_leaves:
        return bool(found["type"] == "head")
    series = found["series"]
    if series is None:  # of a reject whose record could not be read
        return False
    return any(series == wanted or fnmatchcase(series, wanted) for wanted in arguments.series)


def _since(arguments: argparse.Namespace) -> int | None:
    if arguments.since is None:
        return None
    since_ms = milliseconds_of(arguments.since)
    if since_ms is None or since_ms < 0:
        raise UsageError(f"--since: {arguments.since!r} is no moment; write integer ms, or ISO 8601 with offset")
    return since_ms
