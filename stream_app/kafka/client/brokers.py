"""The cluster behind the protocols that the owner of a partition works over."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager

from stream_app.kafka.brokers import Isolation, TopicFacts
from stream_app.kafka.client.cluster import group_offsets
from stream_app.kafka.client.eventstopic import EventsTopic
from stream_app.kafka.client.log import LogReader
from stream_app.kafka.client.producer import PartitionProducer
from stream_app.kafka.client.topicid import describe
from stream_app.kafka.client.topics import TopicNames
from stream_app.setup.settings import Settings


class KafkaBrokers:
    """`stream_app.kafka.brokers.Brokers` over aiokafka; each call says there what it returns and raises."""

    def __init__(
        self,
        settings: Settings,
        names: TopicNames,
        topic: EventsTopic,
        committed: Callable[[int], Awaitable[int | None]] | None = None,
    ) -> None:
        """Connect to nothing yet; ``committed`` asks a consumer of the group, where there is one."""
        self._settings, self._names, self._topic = settings, names, topic
        self._ask_group = committed or self._look_at_group
        self.confirm = topic.confirm

    async def fence(self, partition: int) -> PartitionProducer:
        """Open the partition's transactional producer."""
        return await PartitionProducer.open(self._settings, partition)

    def reader(self, isolation: Isolation) -> AbstractAsyncContextManager[LogReader]:
        """Open a consumer of its own."""
        return LogReader.opened(self._settings, isolation)

    async def committed(self, partition: int) -> int | None:
        """Return the group's offset of a partition."""
        return await self._ask_group(partition)

    async def facts(self) -> Mapping[str, TopicFacts]:
        """Ask any broker for the ids of events topic and changelog."""
        return await describe(self._settings, (self._names.events, self._names.changelog))

    async def _look_at_group(self, partition: int) -> int | None:
        return (await group_offsets(self._settings, self._names.events)).get(partition)
