"""``worker``: process events into releases and ledger entries."""

import argparse
import asyncio
import fcntl
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from stream_app.cli import UsageError
from stream_app.cli.shared.arguments import add_config
from stream_app.cli.shared.configured import reaching
from stream_app.deciding.context import Context
from stream_app.files import NO_LOCKS
from stream_app.heads.signing import SigningKey
from stream_app.kafka.client.cluster import Cluster
from stream_app.kafka.client.refusal import repeated
from stream_app.kafka.client.routing import load_context
from stream_app.kafka.client.security import client_arguments
from stream_app.kafka.client.topicid import describe
from stream_app.kafka.client.topics import TopicNames, differences, told, wanted_topics
from stream_app.kafka.rebuild.dry_run import dry_runs
from stream_app.kafka.worker import Worker
from stream_app.monitoring.forcedexit import ForcedExit
from stream_app.monitoring.logs import configure_logs, in_json
from stream_app.monitoring.serve import ListenError
from stream_app.setup import keyfile
from stream_app.setup.keyfile import KeyFileError
from stream_app.setup.settings import InvalidSettingsError, Settings

LOCK: Final = "worker.lock"
_ROOM_BYTES = 1 << 20


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Create the folder if it is missing, and lock it until the process ends for any reason.

    Raises `UsageError` if that fails.
    """

    def unusable(found: str, remedy: str) -> UsageError:
        return UsageError(f"data_folder {folder}: {found}; {remedy}")

    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK).open("ab")
    except OSError as error:
        raise unusable(f"cannot be written ({error.strerror})", "specify a writable folder") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            remedy = "a second worker on a machine needs its own data_folder, and http_port = 0 (any free port)"
            raise unusable("is in use by another worker", remedy) from None
        except OSError as error:
            found = f"cannot be locked ({error.strerror})"
            raise unusable(found, NO_LOCKS) from None
        try:
            # A worker without disk space that joined the group would take partitions only to return them.
            os.posix_fallocate(file.fileno(), 0, _ROOM_BYTES)
            file.truncate(0)
        except OSError as error:
            found = f"has no space for {_ROOM_BYTES:,} bytes ({error.strerror})"
            raise unusable(found, "free space on its disk, or specify a folder on a larger disk") from None
        yield


logger = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    add_config(parser)
    rehearse_help = "dry run of a start: restore every partition, process the waiting records, write nothing"
    parser.add_argument("--rehearse", action="store_true", help=rehearse_help)
    new_key = (
        "continue with partitions that were last written under another noise key; otherwise they stop (key-changed)"
    )
    parser.add_argument("--accept-new-key", action="store_true", help=new_key)


def run(arguments: argparse.Namespace) -> int:
    """Work until a signal arrives; return 0, or 1 if partitions stopped (or would stop, with ``--rehearse``)."""
    try:
        return _worked(arguments)
    except UsageError as error:
        if not in_json():
            raise
        logger.error("%s", error)  # noqa: TRY400 (what to mend, to whom its place in the program says nothing)
        return 2


def _worked(arguments: argparse.Namespace) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # nothing to clean up until the worker handles the signal
    try:
        settings = Settings.load(arguments.config)
        if arguments.rehearse:
            with keyfile.held(settings.key_file):
                return _rehearse(settings, load_context(settings), accept_new_key=arguments.accept_new_key)
        configure_logs(settings.log_level, settings.log_format)
        with keyfile.held(settings.key_file), claimed(settings.data_folder):
            context = load_context(settings)
            signing_key = None if settings.signing_key_file is None else SigningKey.load(settings.signing_key_file)
            with reaching(settings):
                events_id = asyncio.run(repeated(partial(_check_topics, settings), settings))
            with ForcedExit() as forced_exit:
                worker = partial(Worker, settings, context, signing_key, events_id, forced_exit)
                return asyncio.run(_run(partial(worker, accept_new_key=arguments.accept_new_key)))
    except (InvalidSettingsError, KeyFileError) as error:
        raise UsageError(str(error)) from error
    except ListenError as error:
        own = "Set http_port = 0 (any free port) and a separate data_folder"
        raise UsageError(f"http_port: {error} {own if error.in_use else 'Use an address of this machine'}") from error


def _rehearse(settings: Settings, context: Context, *, accept_new_key: bool) -> int:
    """Report how a restart would affect each partition; other workers may be running."""

    async def tell() -> int:
        stopped = 0
        async for one in dry_runs(settings, context, context, accept_new_key=accept_new_key):
            if one.stopped is None:
                print(
                    f"partition {one.partition}: continues; {one.binding} ledger entries must be computed again, and "
                    f"{one.waiting} records are waiting"
                )
            else:
                print(f"would stop: {one.stopped}")
                stopped = 1
        return stopped

    with reaching(settings):
        return asyncio.run(tell())


async def _run(worker: Callable[[], Worker]) -> int:
    return await worker().run()


async def _check_topics(settings: Settings) -> str:
    """Refuse topics whose settings lose data; return the id of the events topic.

    The check runs once, at the start, because settings seldom change. The worker starts with the returned id.
    """
    names = TopicNames.of(settings.prefix, settings.application)
    async with Cluster.connected(client_arguments(settings)) as cluster:
        found = await cluster.find(names)
        replication = min((topic.replication for topic in found.values()), default=1)
        different = differences(wanted_topics(names, settings.partitions, replication), found)
    if different:
        raise UsageError("\n".join(told(different)))
    facts = (await describe(settings, (names.events,))).get(names.events)
    if facts is None:
        raise UsageError(
            f"{names.events}: the topic was deleted during the start. Create it with `topics`, or restore it"
        )
    return facts.id
