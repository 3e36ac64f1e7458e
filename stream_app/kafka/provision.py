"""Making the topics that are missing and checking those that are there."""

from dataclasses import dataclass

from stream_app.kafka.cluster import Cluster
from stream_app.kafka.security import client_arguments
from stream_app.kafka.topics import Difference, Topic, TopicNames, differences, wanted_topics
from stream_app.settings import Settings

MOST_REPLICAS = 3  # what is acknowledged by two of three outlives any one broker


@dataclass(frozen=True, slots=True)
class Report:
    """What was made, and what differs now."""

    made: tuple[str, ...]
    differences: tuple[Difference, ...]
    topics: tuple[Topic, ...]


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
        told = differences(wanted, await cluster.find(names) if missing else found)
    return Report(tuple(topic.name for topic in missing), told, wanted)
