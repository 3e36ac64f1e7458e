"""``topics``: create missing topics and check existing ones."""

import argparse
import asyncio
import json
from dataclasses import asdict

from stream_app.cli import UsageError
from stream_app.cli.shared.arguments import add_config
from stream_app.cli.shared.configured import reaching, settings_of
from stream_app.kafka.client.cluster import VERIFICATION
from stream_app.kafka.client.topics import told
from stream_app.kafka.provision import MOST_REPLICAS, ROLES, Report, commands, make_and_check


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    add_config(parser)
    parser.add_argument("--check", action="store_true", help="only check; create nothing")
    parser.add_argument(
        "--replication", type=int, help=f"copies of each partition (default: one per broker, at most {MOST_REPLICAS})"
    )
    acls_help = (
        "only print the `kafka-acls` commands for a role's rights (worker=User:landmark); may be repeated; roles are "
        f"{', '.join(ROLES)}"
    )
    parser.add_argument("--acls", action="append", default=[], metavar="ROLE=PRINCIPAL", help=acls_help)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Create and check topics; return 0 if all requirements, including those of the state, are met, and 2 if not."""
    settings = settings_of(arguments)
    if arguments.acls:
        granted = [_granted(words) for words in arguments.acls]
        print("\n".join(line for role, principal in granted for line in commands(role, principal, settings)))
        return 0
    with reaching(settings):
        report = asyncio.run(make_and_check(settings, arguments.replication, only_check=arguments.check))
    if arguments.json:
        facts = {
            "holds": report.holds,
            "made": report.made,
            "unverified_brokers": report.unverified,
            "differences": [asdict(difference) for difference in report.differences],
            "short": [
                {"partition": one.partition, "reason": one.reason, "asked": one.asked, "found": one.found}
                for one in report.short
            ],
        }
        print(json.dumps(facts))
    else:
        _print(report)
    return 0 if report.holds else 2


def _granted(words: str) -> tuple[str, str]:
    role, _, principal = words.partition("=")
    if role not in ROLES or ":" not in principal:
        roles = ", ".join(ROLES)
        raise UsageError(f"--acls {words}: expected ROLE=TYPE:NAME, such as worker=User:landmark; roles are {roles}")
    return role, principal


def _print(report: Report) -> None:
    for topic in report.topics:
        if all(difference.topic != topic.name for difference in report.differences):
            word = "made" if topic.name in report.made else "correct"
            print(f"{topic.name}: {word}, {topic.partitions} partitions")
    for line in told(report.differences):
        print(line)
    for short in report.short:
        print(short)
    if report.unverified:
        print(
            f"warning: {VERIFICATION} is false on brokers {', '.join(map(str, report.unverified))}, but must be true: "
            "a late page of an aborted batch may be committed by the next transaction. kafka-configs --alter "
            f"--entity-type brokers --entity-default --add-config {VERIFICATION}=true"
        )
