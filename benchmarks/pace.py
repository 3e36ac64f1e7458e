"""Sending events at a given pace, and remembering when the broker appended each."""

import asyncio
import time
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from aiokafka import AIOKafkaProducer

from stream_app.kafka.client.routing import router
from stream_app.kafka.client.security import client_arguments
from stream_app.kafka.client.sending import Event
from stream_app.kafka.client.topics import TopicNames
from stream_app.setup.settings import Settings

TICK_SECONDS = 0.01
"""Events that fall due within it are sent together."""


class Pace:
    """A sender that holds its rate, whatever its answers take."""

    def __init__(self, settings: Settings, events: Sequence[Event], per_second: float) -> None:
        """Take events, made beforehand, and the rate to send them at."""
        self._settings = settings
        self._events = events
        self._per_second = per_second
        self._appended: dict[int, list[tuple[int, int]]] = {}

    async def send(self) -> None:
        """Send everything; raises aiokafka's errors when something is not acknowledged."""
        topic = TopicNames.of(self._settings.prefix, self._settings.application).events
        partition_of = router(self._settings.partitions)
        placed = [(partition_of(event.key or b""), event) for event in self._events]
        producer = AIOKafkaProducer(**client_arguments(self._settings), acks="all", max_batch_size=1_000_000)
        await producer.start()
        try:
            answers: list[Any] = []
            began = time.perf_counter()
            sent = 0
            while sent < len(placed):
                due = min(len(placed), int((time.perf_counter() - began) * self._per_second))
                by_partition: dict[int, Any] = {}
                for partition, event in placed[sent:due]:
                    batch = by_partition.setdefault(partition, None) or producer.create_batch()
                    by_partition[partition] = batch
                    batch.append(key=event.key, value=event.value, timestamp=None)
                for partition, batch in by_partition.items():
                    answers.append(await producer.send_batch(batch, topic, partition=partition))
                sent = due
                await asyncio.sleep(TICK_SECONDS)
            for answer in answers:
                found = await answer
                self._appended.setdefault(found.partition, []).append((found.offset, found.timestamp))
        finally:
            await producer.stop()
        for batches in self._appended.values():
            batches.sort()

    def appended_ms(self, partition: int, offset: int) -> int:
        """Return when the broker appended the event at ``offset``: the time of its batch."""
        batches = self._appended[partition]
        return batches[bisect_right(batches, (offset, 1 << 62)) - 1][1]
