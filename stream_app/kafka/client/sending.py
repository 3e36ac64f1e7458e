"""Sending event records: each to its series' partition, acknowledged by all replicas, in order."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

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
    client = AIOKafkaProducer(
        **client_arguments(settings), acks="all", enable_idempotence=True, max_batch_size=1_000_000
    )
    async with started(client) as producer:
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
