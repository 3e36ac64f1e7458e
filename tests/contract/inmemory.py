"""The cluster in memory, as these tests use it."""

import asyncio
import itertools
import time
from dataclasses import dataclass

from aiokafka.errors import KafkaError

from stream_app.kafka.brokers import Brokers, Writer
from stream_app.kafka.client.topics import TopicNames
from tests.cluster.brokers import MemoryBrokers
from tests.cluster.cluster import MemoryCluster
from tests.cluster.group import Place
from tests.cluster.log import Draft
from tests.cluster.member import MemoryMember
from tests.cluster.writer import MemoryWriter
from tests.contract.acts import HEARTBEAT_SECONDS, SESSION_MS, STAMP_MS, Request, end


class InMemory:
    """A cluster in memory; `OnBroker` has the same methods."""

    def __init__(self) -> None:
        """Begin without topics."""
        self.cluster = MemoryCluster(lambda: int(time.time() * 1000))
        self._clients = map("client-{}".format, itertools.count())

    async def open(self) -> None:
        """Do nothing: it is here."""

    async def close(self) -> None:
        """Do nothing: nothing is open."""

    async def make(self, topic: str, partitions: int = 1, *, append_time: bool = False) -> str:
        """Make a topic, and return its full name, which all other methods need."""
        self.cluster.make(topic, partitions, append_time=append_time)
        return topic

    async def delete(self, topic: str) -> None:
        """Delete a topic."""
        self.cluster.delete(topic)

    async def grow(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""
        self.cluster.grow(topic, partitions)

    async def delete_before(self, topic: str, offset: int) -> None:
        """Delete the records of partition 0 before an offset."""
        self.cluster.log(topic, 0).delete_before(offset)

    async def append(self, topic: str, *values: bytes) -> None:
        """Append one batch outside of transactions to partition 0."""
        self.cluster.append(Place(topic, 0), [Draft(b"key", value, STAMP_MS) for value in values])

    def brokers(self, application: str, topic: str = "events", timeout_ms: int = 60_000) -> Brokers:
        """Return the cluster as seen by an application's worker with this events topic."""
        names = TopicNames.of("none", application)._replace(events=topic)
        return MemoryBrokers(self.cluster, next(self._clients), application, names, transaction_timeout_ms=timeout_ms)

    async def late(self, writer: Writer, request: Request, topic: str) -> type[KafkaError] | None:
        """Let a copy of the writer's request arrive now, under its epoch; return why it was refused.

        A copy of ``send`` has the record ``late``, the second that the writer sent to partition 0 of the topic.
        """
        assert isinstance(writer, MemoryWriter)
        identity, given = writer._transactional_id, writer.identity  # noqa: SLF001 (no public name)
        place, cluster = Place(topic, 0), self.cluster
        cluster.elapse()
        try:
            match request:
                case "add":
                    cluster.transactions.add(identity, given, (place,), cluster.now_ms())
                case "send":
                    cluster.append(place, [Draft(b"key", b"late", STAMP_MS)], given, 1)
                case "commit" | "abort":
                    cluster.transactions.end(identity, given, request, cluster.marker_due_ms)
        except KafkaError as error:
            return type(error)
        finally:
            cluster.elapse()
        return None

    def member(self, application: str, topic: str, poll_ms: int = 300_000) -> "MemberInMemory":
        """Return a new member of the application's group; it may stay ``poll_ms`` without `MemberInMemory.poll`."""
        client = next(self._clients)
        return MemberInMemory(MemoryMember(self.cluster, client, application, (topic,), SESSION_MS, poll_ms))

    async def members(self, application: str) -> int:
        """Return how many members the group has."""
        self.cluster.elapse()
        return len(self.cluster.group(application).members)


@dataclass
class MemberInMemory:
    """A member of a consumer group that follows rebalances and sends heartbeats, as aiokafka's does itself."""

    inner: MemoryMember
    _task: asyncio.Task[None] | None = None

    @property
    def places(self) -> tuple[int, ...]:
        """The partitions that it has."""
        return tuple(place.partition for place in self.inner.places)

    @property
    def generation(self) -> int:
        """The last generation that the member joined."""
        return self.inner.generation

    async def start(self) -> None:
        """Join."""
        self._task = asyncio.create_task(self._live())

    async def _live(self) -> None:
        while True:
            await self.inner.join()
            while await self.inner.stays():  # noqa: ASYNC110 (a heartbeat)
                await asyncio.sleep(HEARTBEAT_SECONDS)

    async def poll(self) -> None:
        """Ask for records, whether there are any or not."""
        self.inner.poll()

    async def commit(self, partition: int, offset: int) -> bool:
        """Commit an offset in the last generation joined; return whether the group took it."""
        (topic,) = self.inner.topics
        return await self.inner.commit({Place(topic, partition): offset})

    async def commit_late(self, partition: int, offset: int) -> bool:
        """Commit as if the member had not heard of the last generation yet."""
        found = self.inner._assignment  # noqa: SLF001 (no member forgets a generation by itself)
        assert found is not None
        self.inner._assignment = found._replace(generation=found.generation - 1)  # noqa: SLF001
        return await self.commit(partition, offset)

    async def freeze(self) -> None:
        """Send no more signs of life."""
        await end(self._task)

    async def leave(self) -> None:
        """Leave the group."""
        await end(self._task)
        await self.inner.leave()
