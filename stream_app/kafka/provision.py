"""Makes the topics that are missing and checks those that are there, and the ends of their logs."""

from dataclasses import dataclass

from stream_app.kafka.client.cluster import Cluster
from stream_app.kafka.client.log import LogReader
from stream_app.kafka.client.security import client_arguments
from stream_app.kafka.client.topics import Difference, Topic, TopicNames, differences, wanted_topics
from stream_app.kafka.evidence.ends import ends_of, shortage
from stream_app.kafka.evidence.row import last_row
from stream_app.kafka.stops import PartitionStoppedError
from stream_app.setup.settings import Settings

MOST_REPLICAS = 3  # what is acknowledged by two of three outlives any one broker


@dataclass(frozen=True, slots=True)
class Report:
    """What `make_and_check` made, and what differs then."""

    made: tuple[str, ...]
    differences: tuple[Difference, ...]
    topics: tuple[Topic, ...]
    short: tuple[PartitionStoppedError, ...]
    """Of each partition whose logs lack what its row says must be there, what a worker would stop with."""
    unverified: tuple[int, ...] = ()
    """Brokers that would let a late page of an aborted batch into the next transaction."""

    @property
    def holds(self) -> bool:
        """Whether everything is as it must be."""
        return not self.differences and not self.short


async def make_and_check(settings: Settings, replication: int | None = None, *, only_check: bool = False) -> Report:
    """Make what is missing unless told to check alone; report what differs then.

    Raises:
        ClusterError: when the cluster refuses.
        aiokafka.errors.KafkaError: when it can not be reached.
    """
    names = TopicNames.of(settings.prefix, settings.application)
    async with Cluster.connected(client_arguments(settings)) as cluster:
        replicas = replication or min(MOST_REPLICAS, await cluster.brokers())
        wanted = wanted_topics(names, settings.partitions, replicas)
        found = await cluster.find(names)
        missing = () if only_check else tuple(topic for topic in wanted if topic.name not in found)
        await cluster.make(missing)
        unverified = await cluster.unverified()
        told = differences(wanted, await cluster.find(names) if missing else found)
    short = () if any(one.field in {"topic", "partition count"} for one in told) else await _short(settings, names)
    return Report(tuple(topic.name for topic in missing), told, wanted, short, unverified)


async def _short(settings: Settings, names: TopicNames) -> tuple[PartitionStoppedError, ...]:
    """Compare rows with the logs; workers may go on meanwhile, so each row is read before the logs' ends."""
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
