"""``recover``: rebuild lost state rows from the ledger and the releases."""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.progress import Progress, TaskID

from stream_app.cli import UsageError, mendable
from stream_app.cli.shared.arguments import add_config
from stream_app.cli.shared.configured import reaching
from stream_app.deciding.context import Context
from stream_app.deciding.rebuild import RebuildError
from stream_app.heads.signing import SigningKey
from stream_app.kafka.brokers import LocalStateError
from stream_app.kafka.client.brokers import KafkaBrokers
from stream_app.kafka.client.cluster import group_members
from stream_app.kafka.client.eventstopic import EventsTopic
from stream_app.kafka.client.routing import load_context
from stream_app.kafka.client.topicid import describe
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.parts import Site
from stream_app.kafka.rebuild.recover import Rebuilding, RebuiltPartition
from stream_app.kafka.rebuild.survey import TOLD, AcceptedLosses
from stream_app.kafka.stops import PartitionStoppedError
from stream_app.setup.keyfile import KeyFileError
from stream_app.setup.settings import InvalidSettingsError, Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    add_config(parser)
    parser.add_argument("--partition", type=int, action="append", help="only this partition; may be repeated")
    lost_input = (
        "continue after events that were deleted before they were processed, and give up steps whose contributions "
        "were deleted"
    )
    parser.add_argument("--accept-lost-input", action="store_true", help=lost_input)
    skipped_input = "skip the events that the group's offset skips, even though nothing shows that they were processed"
    parser.add_argument("--accept-skipped-input", action="store_true", help=skipped_input)
    lost_ledger = (
        "continue with a ledger that lost its beginning, even though neither signed checkpoints nor releases show "
        "every series"
    )
    parser.add_argument("--accept-lost-ledger", action="store_true", help=lost_ledger)
    lost_releases = (
        "continue without lost releases and rejections whose input is gone or that are followed by later ones: the "
        "lost steps are given up, and their epsilon stays spent; if the input is gone, a series without another "
        "release of its policy version is closed"
    )
    parser.add_argument("--accept-lost-releases", action="store_true", help=lost_releases)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Rebuild the rows; return 0 once every named partition is complete."""
    with mendable(InvalidSettingsError, KeyFileError):
        settings = Settings.load(arguments.config)
        context = load_context(settings)
        signing_key = None if settings.signing_key_file is None else SigningKey.load(settings.signing_key_file)
    wanted = arguments.partition or range(settings.partitions)
    strange = [number for number in wanted if not 0 <= number < settings.partitions]
    if strange:
        raise UsageError(f"--partition: found {strange}; partitions are numbered 0 to {settings.partitions - 1}")
    with mendable(PartitionStoppedError, RebuildError, LocalStateError), reaching(settings):
        done = asyncio.run(_run(settings, context, signing_key, wanted, arguments))
    if arguments.json:
        print(json.dumps({"partitions": [asdict(one) for one in done]}))
    else:
        for one in done:
            lost = f"; the open steps of {one.lost_counts} series are given up" if one.lost_counts else ""
            told = TOLD[one.told_by]
            print(f"partition {one.partition}: {one.series} series, input continues at {one.next_offset}{lost}{told}")
            for line in consequences(one):
                print(line)
    return 0


async def _run(
    settings: Settings,
    context: Context,
    signing_key: SigningKey | None,
    wanted: Sequence[int],
    arguments: argparse.Namespace,
) -> list[RebuiltPartition]:
    workers = await group_members(settings)
    if workers:
        raise UsageError(
            f"group {settings.application} has {workers} workers: stop them first, because they write state too"
        )
    names = TopicNames.of(settings.prefix, settings.application)
    facts = await describe(settings, names)
    missing = [name for name in names if name not in facts]
    if missing:
        raise UsageError(f"topics {', '.join(missing)} are missing: create them with `topics`")
    losses = ("lost_input", "skipped_input", "lost_ledger", "lost_releases")
    accepted = AcceptedLosses(*(getattr(arguments, f"accept_{loss}") for loss in losses))
    brokers = KafkaBrokers(settings, names, EventsTopic(settings, names.events, facts[names.events].id))
    recovery = Rebuilding(Site(settings=settings, context=context, names=names, brokers=brokers), facts, signing_key)
    done = []
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as bars:
        for number in wanted:
            bar = bars.add_task(f"partition {number}", total=None)

            def show(read: int, end: int, bar: TaskID = bar) -> None:
                bars.update(bar, completed=read, total=end)

            done.append(await recovery.recover(number, accepted, show))
            bars.update(bar, completed=1, total=1)  # markers follow the last record
    return done


def consequences(one: RebuiltPartition) -> Iterator[str]:
    """Yield a line for each effect that the next worker, or readers of the releases, will notice."""
    if one.again:
        yield (
            f"  the next worker processes {one.again} inputs again, from {one.next_offset}, and publishes their "
            "missing outputs"
        )
    lacking = one.unanswered
    if lacking.lost_rejects:
        yield (
            f"  the rejections of {lacking.lost_rejects} inputs, from input {lacking.first_lost_reject}, are lost and "
            "never published: the senders of these records do not learn that they were rejected"
        )
    if lacking.unanswered:
        yield (
            f"  {lacking.unanswered} inputs, from {lacking.first_unanswered}, have no output and may need none. "
            "Nothing shows whether any of them was rejected and its rejection lost"
        )
    if one.given_up:
        yield (
            f"  given up: {sum(one.given_up.values())} steps of {len(one.given_up)} series. Their releases are lost "
            "and never published; their epsilon stays spent"
        )
    for series, steps in one.given_up.items():
        end = "; the series is closed, because no release of its policy version remains to repeat"
        yield f"    {series}: {steps} steps{end if series in one.closed else ''}"
