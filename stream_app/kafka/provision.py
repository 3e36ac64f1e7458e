"""Creates missing topics, checks existing ones and the ends of their logs, and lists the ACLs.

The ACLs give each role only the access that it needs. In Kafka, anyone who may read or write a topic may also describe
it; the same holds for groups and transactional ids. Anyone who may write a topic may use an idempotent producer.
https://kafka.apache.org/documentation/#operations_resources_and_protocols
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

from stream_app.kafka.client.cluster import Cluster
from stream_app.kafka.client.log import LogReader
from stream_app.kafka.client.security import client_arguments
from stream_app.kafka.client.topics import Difference, Topic, TopicNames, differences, wanted_topics
from stream_app.kafka.evidence.ends import ends_of, shortage
from stream_app.kafka.evidence.row import last_row
from stream_app.kafka.stops import PartitionStoppedError
from stream_app.setup.settings import Settings

Operation = Literal["Read", "Write", "Create", "Describe", "DescribeConfigs", "Delete"]


class Access(NamedTuple):
    """An operation allowed on one resource."""

    resource: Literal["topic", "group", "transactional-id"]
    name: str
    operation: Operation
    pattern: Literal["literal", "prefixed"] = "literal"


def _topics(names: Iterable[str], *operations: Operation) -> Iterator[Access]:
    return (Access("topic", name, operation) for name, operation in product(names, operations))


def _transactions(settings: Settings) -> Access:
    return Access("transactional-id", f"{settings.application}-", "Write", "prefixed")


def _worker(names: TopicNames, settings: Settings) -> Iterator[Access]:
    yield from _topics([names.events], "Read", "DescribeConfigs")
    outputs = [names.releases, names.rejects, names.ledger, names.changelog]
    yield from _topics(outputs, "Read", "Write", "DescribeConfigs")
    if settings.signing_key_file is None:
        yield from _topics([names.heads], "Describe", "DescribeConfigs")
    else:
        yield from _topics([names.heads], "Read", "Write", "DescribeConfigs")
    yield Access("group", settings.application, "Read")
    yield _transactions(settings)


_NEEDS: Mapping[str, Callable[[TopicNames, Settings], Iterable[Access]]] = {
    # topics
    "operator": lambda names, _: [
        *_topics(names[:-1], "Create", "Describe", "DescribeConfigs"),
        *_topics([names.changelog], "Create", "Read", "DescribeConfigs"),
    ],
    "producer": lambda names, _: _topics([names.events], "Write"),  # policy, send, watermark, resend
    # landmarks, and commands with --wait
    "registrar": lambda names, settings: [
        *_topics([names.events], "Write"),
        *_topics([names.ledger, names.rejects], "Read"),
        Access("group", settings.application, "Describe"),
    ],
    "worker": _worker,
    # recover, read events, read rejects
    "recoverer": lambda names, settings: [
        *_topics([names.events, names.rejects], "Read"),
        *_topics([names.releases, names.ledger, names.changelog], "Read", "Write"),
        *_topics([names.heads], "Describe" if settings.signing_key_file is None else "Read"),
        Access("group", settings.application, "Describe"),
        _transactions(settings),
    ],
    # keys erase
    "eraser": lambda names, settings: [
        *_topics([names.events, names.ledger, names.changelog], "Read"),
        *_topics([names.releases, names.rejects, names.heads], "Describe"),
        Access("group", settings.application, "Describe"),
    ],
    "reader": lambda names, _: _topics([names.releases], "Read"),  # read releases
    # audit, explain, left, standing, read
    "auditor": lambda names, _: _topics([names.ledger, names.releases, names.heads], "Read"),
}
ROLES = tuple(_NEEDS)


def needs(role: str, settings: Settings) -> tuple[Access, ...]:
    """Return the access that a role of `ROLES` needs, with names from the settings."""
    return tuple(_NEEDS[role](TopicNames.of(settings.prefix, settings.application), settings))


def commands(role: str, principal: str, settings: Settings) -> Iterator[str]:
    """Yield the lines of a shell script that grants a role to a principal.

    The arguments of the script are passed to each `kafka-acls` command.
    """
    operations: dict[tuple[str, str, str], list[str]] = {}
    for access in needs(role, settings):
        operations.setdefault((access.resource, access.pattern, access.name), []).append(access.operation)
    together: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (resource, pattern, name), several in operations.items():
        together.setdefault((resource, pattern, tuple(several)), []).append(name)
    for (resource, pattern, allowed), names in together.items():
        words = ["kafka-acls", "--bootstrap-server", settings.bootstrap_servers, "--add"]
        words += ["--allow-principal", principal]
        words += [word for name in names for word in (f"--{resource}", name)]
        words += ["--resource-pattern-type", pattern] if pattern != "literal" else []
        words += [word for operation in allowed for word in ("--operation", operation)]
        yield f'{shlex.join(words)} "$@"'


MOST_REPLICAS = 3  # records acknowledged by two of three survive any one broker


@dataclass(frozen=True, slots=True)
class Report:
    """The topics that `make_and_check` created, and the remaining differences."""

    made: tuple[str, ...]
    differences: tuple[Difference, ...]
    topics: tuple[Topic, ...]
    short: tuple[PartitionStoppedError, ...]
    """The error that would stop a worker, for each partition whose logs lack what its row requires."""
    unverified: tuple[int, ...] = ()  # brokers that would let a late page of an aborted batch into the next transaction

    @property
    def holds(self) -> bool:
        """Whether all topics and logs are as required."""
        return not self.differences and not self.short


async def make_and_check(settings: Settings, replication: int | None = None, *, only_check: bool = False) -> Report:
    """Create the missing topics unless `only_check` is set; report the differences that remain.

    Raises `ClusterError` if the cluster refuses, and `aiokafka.errors.KafkaError` if it cannot be reached.
    """
    names = TopicNames.of(settings.prefix, settings.application)
    async with Cluster.connected(client_arguments(settings)) as cluster:
        replicas = replication or min(MOST_REPLICAS, await cluster.brokers())
        wanted = wanted_topics(names, settings.partitions, replicas)
        found = await cluster.find(names)
        missing = () if only_check else tuple(topic for topic in wanted if topic.name not in found)
        found |= await cluster.make(missing)
        unverified = await cluster.unverified()
        told = differences(wanted, found)
    short = () if any(one.field in {"topic", "partition count"} for one in told) else await _short(settings, names)
    return Report(tuple(topic.name for topic in missing), told, wanted, short, unverified)


async def _short(settings: Settings, names: TopicNames) -> tuple[PartitionStoppedError, ...]:
    """Compare rows with the logs; each row is read before the ends of the logs, because workers may be running."""
    found = []
    async with (
        LogReader.opened(settings, "read_committed") as rows,
        LogReader.opened(settings, "read_uncommitted") as logs,
    ):
        for partition in range(settings.partitions):
            row = await last_row(rows, names, partition)
            lacking = shortage(row, await ends_of(logs, names, partition))
            if lacking is not None:
                found.append(lacking.stopped(partition))
    return tuple(found)
