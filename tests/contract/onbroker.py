"""A real broker, as these tests use a cluster."""

import asyncio
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.client import ConnectionGroup, CoordinationType
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import ConcurrentTransactions, KafkaError, for_code
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.protocol.transaction import AddPartitionsToTxnRequest, EndTxnRequest

from stream_app.kafka.brokers import Brokers, Writer
from stream_app.kafka.client.brokers import KafkaBrokers, PartitionProducer
from stream_app.kafka.client.cluster import group_members
from stream_app.kafka.client.eventstopic import EventsTopic
from stream_app.kafka.client.topicid import describe
from stream_app.kafka.client.topics import TopicNames
from stream_app.setup.settings import Settings
from tests.contract.acts import HEARTBEAT_SECONDS, SESSION_MS, STAMP_MS, Request, end
from tests.patience import ANSWER_SECONDS

_KEPT = {"retention.ms": "-1", "segment.ms": str(2**63 - 1)}  # or records of the past go within minutes


class OnBroker:
    """A real broker; topics and groups share a name that no other test uses."""

    def __init__(self, bootstrap_servers: str, folder: Path, name: str) -> None:
        """Connect to nothing yet; ``folder`` has a noise key because settings need one."""
        self._servers, self._folder, self._name = bootstrap_servers, folder, name
        self._admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap_servers)
        self._asked: list[EventsTopic] = []
        self._writers: list[PartitionProducer] = []

    async def open(self) -> None:
        """Connect."""
        await self._admin.start()

    async def close(self) -> None:
        """Disconnect, every writer too."""
        for writer in self._writers:
            await writer.stop()
        for topic in self._asked:
            await topic.close()
        await self._admin.close()

    def settings(self, application: str, timeout_ms: int = 60_000) -> Settings:
        """Return the settings with which clients of an application connect."""
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
        return _Brokers(self._writers, settings, names, self._asked[-1])

    async def late(self, writer: Writer, request: Request, topic: str) -> type[KafkaError] | None:
        """Send a copy over the writer's connections."""
        assert isinstance(writer, PartitionProducer)
        producer = writer._producer  # noqa: SLF001 (nobody sends copies but tests)
        manager, client = producer._txn_manager, producer.client  # noqa: SLF001
        given = manager.transactional_id, manager.producer_id, manager.producer_epoch
        if request == "send":
            batch = producer.create_batch()
            batch.append(key=b"key", value=b"late", timestamp=STAMP_MS)
            batch._builder.set_producer_state(*given[1:], 1)  # noqa: SLF001
            leader = client.cluster.leader_for_partition(TopicPartition(topic, 0))
            sent = ProduceRequest(
                transactional_id=given[0],
                required_acks=-1,
                timeout=10_000,
                topics=[(topic, [(0, bytes(batch._build()))])],  # noqa: SLF001
            )
            answer = await client.send(leader, sent)
            code = answer.topics[0][1][0][1]
        else:
            coordinator = await producer._sender._find_coordinator(CoordinationType.TRANSACTION, given[0])  # noqa: SLF001
            asked = (
                AddPartitionsToTxnRequest(*given, [(topic, [0])])
                if request == "add"
                else EndTxnRequest(*given, request == "commit")
            )
            while True:
                answer = await client.send(coordinator, asked, group=ConnectionGroup.COORDINATION)
                code = answer.errors[0][1][0][1] if request == "add" else answer.error_code
                if for_code(code) is not ConcurrentTransactions:  # the markers of the one before are on their way
                    break
                await asyncio.sleep(0.05)
        return None if code == 0 else for_code(code)

    def member(self, application: str, topic: str, poll_ms: int = 300_000) -> "RealMember":
        """Return a new member."""
        return RealMember(self._servers, f"{self._name}.{application}", topic, poll_ms)

    async def members(self, application: str) -> int:
        """Return how many members the group has."""
        return await group_members(self.settings(application))


class _Brokers(KafkaBrokers):
    """A worker's view, which keeps its writers: the cluster stops them."""

    def __init__(self, writers: list[PartitionProducer], *parts: Any) -> None:
        super().__init__(*parts)
        self._writers = writers

    async def fence(self, partition: int) -> PartitionProducer:
        self._writers.append(await super().fence(partition))
        return self._writers[-1]


class RealMember:
    """aiokafka's consumer, with the interface of `MemberInMemory`."""

    def __init__(self, servers: str, group_id: str, topic: str, poll_ms: int) -> None:
        """Join nothing yet."""
        self._topic = topic
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=servers,
            group_id=group_id,
            metadata_max_age_ms=500,  # by which it notices that the topic grew
            session_timeout_ms=SESSION_MS,
            max_poll_interval_ms=poll_ms,
            heartbeat_interval_ms=int(HEARTBEAT_SECONDS * 1000),
            partition_assignment_strategy=(RangePartitionAssignor,),
            enable_auto_commit=False,
        )

    @property
    def places(self) -> tuple[int, ...]:
        """Its partitions."""
        return tuple(sorted(place.partition for place in self._consumer.assignment()))

    @property
    def generation(self) -> int:
        """The last generation that the member joined."""
        return int(self._consumer._coordinator.generation)  # noqa: SLF001 (no public name)

    async def start(self) -> None:
        """Join."""
        self._consumer.subscribe([self._topic])
        starting = asyncio.create_task(self._consumer.start())  # it waits for the assignment
        starting.add_done_callback(asyncio.Task.result)

    async def poll(self) -> None:
        """Ask for records."""
        await self._consumer.getmany(timeout_ms=0)

    async def commit(self, partition: int, offset: int) -> bool:
        """Commit."""
        try:
            await self._consumer.commit({TopicPartition(self._topic, partition): offset})
        except KafkaError:
            return False
        return True

    async def commit_late(self, partition: int, offset: int) -> bool:
        """Commit in the generation before."""
        self._consumer._coordinator.generation -= 1  # noqa: SLF001
        return await self.commit(partition, offset)

    async def freeze(self) -> None:
        """Send no more signs of life."""
        coordinator = self._consumer._coordinator  # noqa: SLF001 (nobody freezes a consumer but tests)
        for task in (coordinator._coordination_task, coordinator._heartbeat_task):  # noqa: SLF001
            await end(task)

    async def leave(self) -> None:
        """Leave."""
        await self._consumer.stop()
