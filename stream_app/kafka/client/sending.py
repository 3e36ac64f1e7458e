"""Sends event records in order: each to its series' partition, acknowledged by all replicas."""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import islice
from typing import Any, NamedTuple, Self

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from aiokafka.producer.message_accumulator import BatchBuilder

from stream_app.kafka.client.routing import router
from stream_app.kafka.client.security import client_arguments, started
from stream_app.kafka.client.topicid import assert_there
from stream_app.kafka.client.topics import TopicNames
from stream_app.setup.settings import Settings

CHUNK_EVENTS = 5_000
_ANSWER_SECONDS = 1.0
"""How long to wait for answers after closing the producer: later answers never come."""


class Event(NamedTuple):
    """A record for the events topic; ``key`` is the series in UTF-8, or None if the value names no series."""

    key: bytes | None
    value: bytes


class SentEvents:
    """The number of acknowledged events, and their positions as ranges of offsets by partition."""

    def __init__(self) -> None:
        self.events = 0
        self.places: dict[int, list[range]] = {}
        self._waiting: list[tuple[asyncio.Future[Any], int]] = []

    @property
    def unknown(self) -> int:
        """The number of events that were sent but not answered; they may or may not be in the topic."""
        return sum(count for _, count in self._waiting)

    def wait_for(self, delivery: asyncio.Future[Any], count: int) -> None:
        """Add a batch that is in flight."""
        self._waiting.append((delivery, count))

    async def settle(self, seconds: float | None = None) -> None:
        """Wait at most ``seconds`` for the answers to all batches; raise the first error among them."""
        if self._waiting:
            # Unlike awaiting a single delivery, a cancelled `wait` does not cancel the deliveries.
            await asyncio.wait([delivery for delivery, _ in self._waiting], timeout=seconds)
        self._waiting, found = [], self._waiting
        why: BaseException | None = None
        for delivery, count in found:
            if not delivery.done() or (error := delivery.exception()) is not None:
                self._waiting.append((delivery, count))
                why = why or (error if delivery.done() else None)
                continue
            place = delivery.result()
            self.events += count
            self.places.setdefault(place.partition, []).append(range(place.offset, place.offset + count))
        if why is not None:
            raise why


async def send_events(settings: Settings, events: Iterable[Event], acknowledged: SentEvents | None = None) -> int:
    """Send all events in order and return their number; raise aiokafka's error if one is not acknowledged.

    ``acknowledged`` collects each batch as it is acknowledged, so an interrupted caller knows how far it got. Events of
    a series keep their order; a record without a series goes to partition 0, whose worker rejects it.
    """
    names = TopicNames.of(settings.prefix, settings.application)
    sent = SentEvents() if acknowledged is None else acknowledged
    await assert_there(settings, names.events)
    try:
        async with started(_producer(settings)) as producer:
            partition_of = router(len(await producer.partitions_for(names.events)))
            remaining = iter(events)
            while chunk := _read(remaining):
                for partition, batch in _batches(producer, chunk, partition_of):
                    delivery = await producer.send_batch(batch, names.events, partition=partition)
                    sent.wait_for(delivery, batch.record_count())
                await sent.settle()
    finally:
        with suppress(KafkaError):  # another error is already raised, or this one is no use
            await sent.settle(_ANSWER_SECONDS)  # the closed producer has sent its batches and has the answers
    return sent.events


def _read(remaining: Iterator[Event]) -> list[Event]:
    """Return the next events; unlike asyncio's handler, this lets Ctrl-C interrupt even a wait for input."""
    taken = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or taken in {signal.SIG_IGN, None}:
        return list(islice(remaining, CHUNK_EVENTS))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return list(islice(remaining, CHUNK_EVENTS))
    finally:
        signal.signal(signal.SIGINT, taken)


class Place(NamedTuple):
    """The position of a record in the events topic."""

    partition: int
    offset: int


class Sender:
    """Sends events one at a time, each acknowledged before the next; create instances with ``opened``."""

    def __init__(self, producer: AIOKafkaProducer, topic: str, partitions: int) -> None:
        self._producer, self._topic = producer, topic
        self._partition_of = router(partitions)

    @classmethod
    @asynccontextmanager
    async def opened(cls, settings: Settings) -> AsyncIterator[Self]:
        """Connect for the duration of the ``with`` block."""
        events = TopicNames.of(settings.prefix, settings.application).events
        await assert_there(settings, events)
        async with started(_producer(settings)) as producer:
            yield cls(producer, events, len(await producer.partitions_for(events)))

    def partition_of(self, event: Event) -> int:
        """Return the partition of an event."""
        return self._partition_of(event.key) if event.key else 0

    async def send(self, event: Event) -> Place:
        """Send an event and return its position; raise aiokafka's error if it is not acknowledged."""
        sent = await self._producer.send_and_wait(self._topic, event.value, event.key, self.partition_of(event))
        return Place(sent.partition, sent.offset)


def _producer(settings: Settings) -> AIOKafkaProducer:
    return AIOKafkaProducer(**client_arguments(settings), acks="all", enable_idempotence=True, max_batch_size=1_000_000)


def _batches(
    producer: AIOKafkaProducer, chunk: list[Event], partition_of: Callable[[bytes], int]
) -> Iterator[tuple[int, BatchBuilder]]:
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
