"""Sending event records: each to its series' partition, acknowledged by all replicas, in order."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from itertools import islice
from typing import NamedTuple, Self

from aiokafka import AIOKafkaProducer

from stream_app.kafka.client.routing import router
from stream_app.kafka.client.security import client_arguments, started
from stream_app.kafka.client.topics import TopicNames
from stream_app.setup.settings import Settings

CHUNK_EVENTS = 5_000


class Event(NamedTuple):
    """A record for the events topic; ``key`` is the series in UTF-8, None for bytes that hold none."""

    key: bytes | None
    value: bytes


async def send_events(settings: Settings, events: Iterable[Event]) -> int:
    """Send all events in order; return how many. Raises aiokafka's errors when one is not acknowledged.

    Events of a series keep their order; a record without a series goes to partition 0, whose worker rejects it.
    """
    names = TopicNames.of(settings.prefix, settings.application)
    sent = 0
    async with started(_producer(settings)) as producer:
        partition_of = router(len(await producer.partitions_for(names.events)))
        remaining = iter(events)
        while chunk := list(islice(remaining, CHUNK_EVENTS)):
            deliveries = [
                await producer.send_batch(batch, names.events, partition=partition)
                for partition, batch in _batches(producer, chunk, partition_of)
            ]
            for delivery in deliveries:
                await delivery
            sent += len(chunk)
    return sent


class Place(NamedTuple):
    """Where a record of the events topic stands."""

    partition: int
    offset: int


class Sender:
    """Sends events one by one, each acknowledged before the next; ``opened`` makes these, of a started producer."""

    def __init__(self, producer: AIOKafkaProducer, topic: str, partitions: int) -> None:
        self._producer, self._topic = producer, topic
        self._partition_of = router(partitions)

    @classmethod
    @asynccontextmanager
    async def opened(cls, settings: Settings) -> AsyncIterator[Self]:
        """Connect, and close at the end of the ``with`` block."""
        events = TopicNames.of(settings.prefix, settings.application).events
        async with started(_producer(settings)) as producer:
            yield cls(producer, events, len(await producer.partitions_for(events)))

    def partition_of(self, event: Event) -> int:
        """Return the partition that an event goes to."""
        return self._partition_of(event.key) if event.key else 0

    async def send(self, event: Event) -> Place:
        """Send an event; return where it stands. Raises aiokafka's errors when it is not acknowledged."""
        sent = await self._producer.send_and_wait(self._topic, event.value, event.key, self.partition_of(event))
        return Place(sent.partition, sent.offset)


def _producer(settings: Settings) -> AIOKafkaProducer:
    return AIOKafkaProducer(**client_arguments(settings), acks="all", enable_idempotence=True, max_batch_size=1_000_000)


def _batches(
    producer: AIOKafkaProducer, chunk: list[Event], partition_of: Callable[[bytes], int]
) -> Iterator[tuple[int, object]]:
    """Yield full batches by partition, each partition's in order."""
    by_partition: dict[int, list[Event]] = {}
    for event in chunk:
        by_partition.setdefault(partition_of(event.key) if event.key else 0, []).append(event)
    for partition, events in by_partition.items():
        batch = producer.create_batch()
        for event in events:
            if batch.append(key=event.key, value=event.value, timestamp=None) is None:
                yield partition, batch
                batch = producer.create_batch()
                batch.append(key=event.key, value=event.value, timestamp=None)
        yield partition, batch
