"""``topics``: make the topics that are missing and check those that are there."""

import argparse
import asyncio
import json
from dataclasses import asdict
from pathlib import Path

from aiokafka.errors import KafkaError

from stream_app.cli import UsageError
from stream_app.kafka.cluster import ClusterError
from stream_app.kafka.provision import MOST_REPLICAS, Report, make_and_check
from stream_app.settings import InvalidSettingsError, Settings

HELP = "create and check the topics"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("--config", type=Path, help="configuration file (default: landmark-stream.toml if there)")
    parser.add_argument("--check", action="store_true", help="only check: make nothing")
    parser.add_argument("--replication", type=int, help=f"copies (default: one a broker, {MOST_REPLICAS} at most)")
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


def _print(report: Report) -> None:
    for topic in report.topics:
        wrong = [difference for difference in report.differences if difference.topic == topic.name]
        word = "made" if topic.name in report.made else "as it must be"
        if not wrong:
            print(f"{topic.name}: {word}, {topic.partitions} partitions")
        for difference in wrong:
            print(difference)
