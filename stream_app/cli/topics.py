"""``topics``: make the topics that are missing and check those that are there."""

import argparse
import asyncio
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from aiokafka.errors import KafkaError

from stream_app.cli import UsageError
from stream_app.kafka.cluster import Cluster, ClusterError
from stream_app.kafka.security import client_arguments
from stream_app.kafka.topics import Difference, Topic, TopicNames, differences, wanted_topics
from stream_app.settings import InvalidSettingsError, Settings

HELP = "create and check the topics"

_MOST_REPLICAS = 3


@dataclass(frozen=True, slots=True)
class Report:
    """What was made, and what differs now."""

    made: tuple[str, ...]
    differences: tuple[Difference, ...]
    topics: tuple[Topic, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("--config", type=Path, help="configuration file (default: landmark-stream.toml if there)")
    parser.add_argument("--check", action="store_true", help="only check: make nothing")
    parser.add_argument("--replication", type=int, help=f"copies (default: one a broker, {_MOST_REPLICAS} at most)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Make and check; 0 when every topic is as it must be, 2 otherwise."""
    try:
        settings = Settings.load(arguments.config)
    except InvalidSettingsError as error:
        raise UsageError(f"configuration:\n{error}") from error
    try:
        report = asyncio.run(make_and_check(settings, arguments.replication, only_check=arguments.check))
    except (KafkaError, ClusterError, OSError) as error:
        where = f"brokers at {settings.bootstrap_servers} (bootstrap_servers)"
        raise UsageError(f"{where}: {error}. Start one with `kafka start`, or name others") from error
    if arguments.json:
        facts = {
            "holds": not report.differences,
            "made": report.made,
            "differences": [asdict(difference) for difference in report.differences],
        }
        print(json.dumps(facts))
    else:
        _print(report)
    return 2 if report.differences else 0


async def make_and_check(settings: Settings, replication: int | None = None, *, only_check: bool = False) -> Report:
    """Make what is missing unless told to check alone; report what differs then."""
    names = TopicNames.of(settings.prefix, settings.application)
    async with Cluster.connected(client_arguments(settings)) as cluster:
        replicas = replication or min(_MOST_REPLICAS, await cluster.brokers())
        wanted = wanted_topics(names, settings.partitions, replicas)
        found = await cluster.find(names)
        missing = () if only_check else tuple(topic for topic in wanted if topic.name not in found)
        await cluster.make(missing)
        told = differences(wanted, await cluster.find(names) if missing else found)
    return Report(tuple(topic.name for topic in missing), told, wanted)


def _print(report: Report) -> None:
    for topic in report.topics:
        wrong = [difference for difference in report.differences if difference.topic == topic.name]
        word = "made" if topic.name in report.made else "as it must be"
        if not wrong:
            print(f"{topic.name}: {word}, {topic.partitions} partitions")
        for difference in wrong:
            print(difference)
