"""Sending event records: each to its series' partition, acknowledged by all replicas, in order."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from itertools import islice
from typing import NamedTuple, Self

from aiokafka import AIOKafkaProducer
from aiokafka.producer.message_accumulator import BatchBuilder

from stream_app.kafka.client.routing import router
from stream_app.kafka.client.security import client_arguments, started
from stream_app.kafka.client.topics import TopicNames
from stream_app.setup.settings import Settings

CHUNK_EVENTS = 5_000


class Event(NamedTuple):
    """A record for the events topic; ``key`` is the series in UTF-8, None for bytes that hold none."""

    key: bytes | None
    value: bytes


class Sent:
    """What was acknowledged: how many events, and where they stand, as ranges of offsets by partition."""

    def __init__(self) -> None:
        self.events = 0
        self.places: dict[int, list[range]] = {}

    def add(self, partition: int, first: int, count: int) -> None:
        """Take in a batch that was acknowledged."""
        self.events += count
        self.places.setdefault(partition, []).append(range(first, first + count))


async def send_events(settings: Settings, events: Iterable[Event], acknowledged: Sent | None = None) -> int:
    """Send all events in order; return how many. Raises aiokafka's errors when one is not acknowledged.

    ``acknowledged`` takes in each batch as it is acknowledged, so that whoever is interrupted knows how far it came.
    Events of a series keep their order; a record without a series goes to partition 0, whose worker rejects it.
    """
    names = TopicNames.of(settings.prefix, settings.application)
    sent = Sent() if acknowledged is None else acknowledged
    async with started(_producer(settings)) as producer:
        partition_of = router(len(await producer.partitions_for(names.events)))
        remaining = iter(events)
        while chunk := list(islice(remaining, CHUNK_EVENTS)):
            deliveries = [
                (await producer.send_batch(batch, names.events, partition=partition), batch.record_count())
                for partition, batch in _batches(producer, chunk, partition_of)
            ]
            for delivery, count in deliveries:
                place = await delivery
                sent.add(place.partition, place.offset, count)
    return sent.events


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
) -> Iterator[tuple[int, BatchBuilder]]:
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
