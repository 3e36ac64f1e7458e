"""The two clusters that every test here runs on, behind one interface: in memory, and a real broker."""

import asyncio
import itertools
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import KafkaError

from stream_app.kafka.brokers import Brokers
from stream_app.kafka.client.brokers import KafkaBrokers
from stream_app.kafka.client.cluster import group_members
from stream_app.kafka.client.eventstopic import EventsTopic
from stream_app.kafka.client.topicid import describe
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.memory.brokers import MemoryBrokers
from stream_app.kafka.memory.cluster import MemoryCluster
from stream_app.kafka.memory.group import Place
from stream_app.kafka.memory.log import Draft
from stream_app.kafka.memory.member import MemoryMember
from stream_app.setup.settings import Settings
from tests.patience import ANSWER_SECONDS

STAMP_MS = 1_700_000_000_000
"""What records that are written here say of their time."""
_KEPT = {"retention.ms": "-1", "segment.ms": str(2**63 - 1)}  # or records of the past go within minutes


class Member(Protocol):
    """A member of a consumer group that follows rebalances by itself."""

    @property
    def places(self) -> tuple[int, ...]:
        """The partitions that it has."""

    @property
    def generation(self) -> int:
        """The last generation that it joined."""

    async def start(self) -> None:
        """Join."""

    async def commit(self, partition: int, offset: int) -> bool:
        """Commit an offset in the last generation joined; return whether the group took it."""

    async def commit_late(self, partition: int, offset: int) -> bool:
        """Commit as if it had not heard of the last generation yet."""

    async def freeze(self) -> None:
        """Give no sign of life any more."""

    async def leave(self) -> None:
        """Leave the group."""


class Cluster(Protocol):
    """What a test does to a cluster; topics are named apart from those of other tests."""

    async def open(self) -> None:
        """Connect."""

    async def close(self) -> None:
        """Disconnect."""

    async def make(self, topic: str, partitions: int = 1, *, append_time: bool = False) -> str:
        """Make a topic, and return its full name, which all else wants."""

    async def delete(self, topic: str) -> None:
        """Delete a topic."""

    async def grow(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""

    async def delete_before(self, topic: str, offset: int) -> None:
        """Delete the records of partition 0 before an offset."""

    async def append(self, topic: str, *values: bytes) -> None:
        """Append one batch of no transaction to partition 0."""

    def brokers(self, application: str, topic: str = "events", timeout_ms: int = 60_000) -> Brokers:
        """Return the cluster as a worker of an application sees it, whose events topic this is."""

    def member(self, application: str, topic: str) -> Member:
        """Return a new member of the application's group."""

    async def members(self, application: str) -> int:
        """Return how many members the group has."""


class InMemory:
    """A cluster in memory."""

    def __init__(self) -> None:
        """Begin without topics."""
        self.cluster = MemoryCluster(lambda: int(time.time() * 1000))
        self._clients = map("client-{}".format, itertools.count())

    async def open(self) -> None:
        """Do nothing: it is here."""

    async def close(self) -> None:
        """Do nothing: nothing is open."""

    async def make(self, topic: str, partitions: int = 1, *, append_time: bool = False) -> str:
        """Make a topic."""
        self.cluster.make(topic, partitions, append_time=append_time)
        return topic

    async def delete(self, topic: str) -> None:
        """Delete a topic."""
        self.cluster.delete(topic)

    async def grow(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""
        self.cluster.grow(topic, partitions)

    async def delete_before(self, topic: str, offset: int) -> None:
        """Delete records."""
        self.cluster.log(topic, 0).delete_before(offset)

    async def append(self, topic: str, *values: bytes) -> None:
        """Append one batch."""
        self.cluster.append(Place(topic, 0), [Draft(b"key", value, STAMP_MS) for value in values])

    def brokers(self, application: str, topic: str = "events", timeout_ms: int = 60_000) -> Brokers:
        """Return a worker's view."""
        names = TopicNames.of("none", application)._replace(events=topic)
        return MemoryBrokers(self.cluster, next(self._clients), application, names, transaction_timeout_ms=timeout_ms)

    def member(self, application: str, topic: str) -> Member:
        """Return a new member."""
        return _MemberInMemory(MemoryMember(self.cluster, next(self._clients), application, (topic,), SESSION_MS))

    async def members(self, application: str) -> int:
        """Return how many members the group has."""
        self.cluster.elapse()
        return len(self.cluster.group(application).members)


SESSION_MS = 6_000
"""The shortest that a broker takes."""
_HEARTBEAT_SECONDS = 0.3


@dataclass
class _MemberInMemory:
    """Sends heartbeats and joins again, as aiokafka does by itself."""

    inner: MemoryMember
    _task: asyncio.Task[None] | None = None

    @property
    def places(self) -> tuple[int, ...]:
        """The partitions that it has."""
        return tuple(place.partition for place in self.inner.places)

    @property
    def generation(self) -> int:
        """The last generation that it joined."""
        return self.inner.generation

    async def start(self) -> None:
        """Join."""
        self._task = asyncio.create_task(self._live())

    async def _live(self) -> None:
        while True:
            await self.inner.join()
            while await self.inner.stays():  # noqa: ASYNC110 (a heartbeat)
                await asyncio.sleep(_HEARTBEAT_SECONDS)

    async def commit(self, partition: int, offset: int) -> bool:
        """Commit."""
        (topic,) = self.inner.topics
        return await self.inner.commit({Place(topic, partition): offset})

    async def commit_late(self, partition: int, offset: int) -> bool:
        """Commit in the generation before."""
        found = self.inner._assignment  # noqa: SLF001 (no member forgets a generation by itself)
        assert found is not None
        self.inner._assignment = found._replace(generation=found.generation - 1)  # noqa: SLF001
        return await self.commit(partition, offset)

    async def freeze(self) -> None:
        """Give no sign of life any more."""
        await end(self._task)

    async def leave(self) -> None:
        """Leave."""
        await end(self._task)
        await self.inner.leave()


async def end(task: "asyncio.Task[None] | None") -> None:
    """Cancel a task, and wait until it has ended."""
    if task is not None:
        task.cancel()
        await asyncio.wait({task})


class OnBroker:
    """A real broker; topics and groups have a name in common, which no other test uses."""

    def __init__(self, bootstrap_servers: str, folder: Path, name: str) -> None:
        """Connect to nothing yet; ``folder`` holds a noise key, as settings need one."""
        self._servers, self._folder, self._name = bootstrap_servers, folder, name
        self._admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap_servers)
        self._asked: list[EventsTopic] = []

    async def open(self) -> None:
        """Connect."""
        await self._admin.start()

    async def close(self) -> None:
        """Disconnect."""
        for topic in self._asked:
            await topic.close()
        await self._admin.close()

    def settings(self, application: str, timeout_ms: int = 60_000) -> Settings:
        """Return what clients of an application connect with."""
        given: dict[str, Any] = {
            "bootstrap_servers": self._servers,
            "application": f"{self._name}.{application}",
            "prefix": self._name,
            "partitions": 1,
            "key_file": self._folder / "key",
            "data_folder": self._folder,
        }
        settings = Settings(**given)
        return settings.model_copy(update={"transaction_timeout_ms": timeout_ms})  # shorter than an operator may

    async def make(self, topic: str, partitions: int = 1, *, append_time: bool = False) -> str:
        """Make a topic, and wait until it is known."""
        name = topic if topic.startswith(self._name) else f"{self._name}.{topic}"
        kind = {"message.timestamp.type": "LogAppendTime"} if append_time else {}
        made = NewTopic(name, partitions, 1, topic_configs={**_KEPT, **kind})
        answer = await self._admin.create_topics([made])
        assert [code for _, code, *_ in answer.topic_errors] == [0]
        await self._see(name, partitions)
        return name

    async def delete(self, topic: str) -> None:
        """Delete a topic, and wait until it is gone."""
        await self._admin.delete_topics([topic])
        await self._see(topic, 0)

    async def grow(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""
        await self._admin.create_partitions({topic: NewPartitions(partitions)})
        await self._see(topic, partitions)

    async def _see(self, topic: str, partitions: int) -> None:
        async with asyncio.timeout(ANSWER_SECONDS):
            while True:
                found = await describe(self.settings("any"), (topic,))
                if sum(facts.partitions for facts in found.values()) == partitions:
                    return
                await asyncio.sleep(0.05)

    async def delete_before(self, topic: str, offset: int) -> None:
        """Delete records."""
        await self._admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(offset)})

    async def append(self, topic: str, *values: bytes) -> None:
        """Append one batch."""
        producer = AIOKafkaProducer(bootstrap_servers=self._servers)
        await producer.start()
        batch = producer.create_batch()
        for value in values:
            batch.append(key=b"key", value=value, timestamp=STAMP_MS)
        await (await producer.send_batch(batch, topic, partition=0))
        await producer.stop()

    def brokers(self, application: str, topic: str = "events", timeout_ms: int = 60_000) -> Brokers:
        """Return a worker's view."""
        settings = self.settings(application, timeout_ms)
        names = TopicNames.of(self._name, settings.application)._replace(events=topic)
        self._asked.append(EventsTopic(settings, topic, "unknown"))
        return KafkaBrokers(settings, names, self._asked[-1])

    def member(self, application: str, topic: str) -> Member:
        """Return a new member."""
        return _RealMember(self._servers, f"{self._name}.{application}", topic)

    async def members(self, application: str) -> int:
        """Return how many members the group has."""
        return await group_members(self.settings(application))


class _RealMember:
    """aiokafka's consumer."""

    def __init__(self, servers: str, group_id: str, topic: str) -> None:
        self._topic = topic
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=servers,
            group_id=group_id,
            metadata_max_age_ms=500,  # by which it notices that the topic grew
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=int(_HEARTBEAT_SECONDS * 1000),
            partition_assignment_strategy=(RangePartitionAssignor,),
            enable_auto_commit=False,
        )

    @property
    def places(self) -> tuple[int, ...]:
        return tuple(sorted(place.partition for place in self._consumer.assignment()))

    @property
    def generation(self) -> int:
        return int(self._consumer._coordinator.generation)  # noqa: SLF001 (no public name)

    async def start(self) -> None:
        self._consumer.subscribe([self._topic])
        starting = asyncio.create_task(self._consumer.start())  # it waits for the assignment
        starting.add_done_callback(asyncio.Task.result)

    async def commit(self, partition: int, offset: int) -> bool:
        try:
            await self._consumer.commit({TopicPartition(self._topic, partition): offset})
        except KafkaError:
            return False
        return True

    async def commit_late(self, partition: int, offset: int) -> bool:
        self._consumer._coordinator.generation -= 1  # noqa: SLF001
        return await self.commit(partition, offset)

    async def freeze(self) -> None:
        coordinator = self._consumer._coordinator  # noqa: SLF001 (nobody freezes a consumer but tests)
        for task in (coordinator._coordination_task, coordinator._heartbeat_task):  # noqa: SLF001
            await end(task)

    async def leave(self) -> None:
        await self._consumer.stop()
