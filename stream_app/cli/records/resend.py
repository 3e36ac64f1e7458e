"""``resend FILE --rejects FILE``: send a backup of the events topic again, without rejected records."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from stream_app.cli import mendable
from stream_app.cli.shared.arguments import add_config, readable
from stream_app.cli.shared.configured import reaching, settings_of
from stream_app.cli.shared.eventfile import record_key
from stream_app.cli.shared.terminal import tracked
from stream_app.deciding.context import Context
from stream_app.formats import wire
from stream_app.kafka.client.sending import Event, send_events
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.rebuild.backup import BackupError, ResentEvents, assert_empty, refused_in
from stream_app.privacy.noise.key import KeyRing
from stream_app.setup.configuration import default_policies, limits_of
from stream_app.setup.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        "The events topic must be empty. The key, policies, configuration and version must be the same as when the "
        "backup was processed: another version may reject adopted releases, and draw new noise for their steps."
    )
    parser.add_argument("file", type=Path, help="the output of `read events`")
    parser.add_argument(
        "--rejects", type=Path, required=True, help=("the output of `read rejects`, read after the events")
    )
    add_config(parser)
    parser.add_argument("--json", action="store_true", help="print the counts as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Send the events; return 0 once all are acknowledged; raise `UsageError` for files that may not be sent."""
    settings = settings_of(arguments)
    with mendable(BackupError), readable():
        found = ResentEvents(arguments.file, refused_in(arguments.rejects), _views(settings))
        with reaching(settings):
            sent = asyncio.run(_send(settings, found))
    if arguments.json:
        print(wire.dump({"sent": sent, "refused": found.refused, "behind": found.behind}).decode())
    else:
        print(f"{sent} events sent, {found.refused} rejected events omitted")
    if found.behind:
        print(
            f"landmark-stream resend: {found.behind} events come after the end of the rejects, so it is unknown "
            "whether they were rejected, and they are not sent. Have their producers send them again, unless a ledger "
            "read with --uncommitted has entries for them: in that case their releases may have been seen, so start "
            "over with `left`",
            file=sys.stderr,
        )
    return 0


def _views(settings: Settings) -> Callable[[str], Iterable[str]]:
    """Return a function that yields the ids of the views that a series has under the settings."""
    defaults = default_policies(settings) if settings.policies or settings.policies_file else ()
    return Context(KeyRing("", 0, b""), defaults, limits_of(settings)).views_of


async def _send(settings: Settings, found: ResentEvents) -> int:
    await assert_empty(settings, TopicNames.of(settings.prefix, settings.application).events)
    separator = settings.member_separator
    accepted = tracked(found, "resend", found.accepted)
    return await send_events(
        settings, (Event(record_key(event.value, separator) or event.key, event.value) for event in accepted)
    )
