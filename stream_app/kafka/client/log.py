"""Reading a stretch of one partition's log, outside of any consumer group."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Self

from aiokafka import AIOKafkaConsumer, TopicPartition

from stream_app.kafka.client.security import client_arguments, started
from stream_app.kafka.owner.brokers import Isolation
from stream_app.setup.settings import Settings

_LAST_RECORDS = 256
"""How far back a last record is first looked for: behind it only aborted ones can stand, and other kinds."""


class LogReader:
    """Reads from given offsets up to the end that the log had when it was asked."""

    def __init__(self, consumer: AIOKafkaConsumer) -> None:
        """Hold a started consumer; ``opened`` makes these."""
        self._consumer = consumer

    @classmethod
    @asynccontextmanager
    async def opened(cls, settings: Settings, isolation: Isolation) -> AsyncIterator[Self]:
        """Connect, and close at the end of the ``with`` block."""
        consumer = AIOKafkaConsumer(
            **client_arguments(settings),
            enable_auto_commit=False,
            isolation_level=isolation,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=settings.fetch_bytes,
            fetch_max_wait_ms=100,
        )
        async with started(consumer):
            yield cls(consumer)

    async def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first offset kept and the one after the last."""
        tp = TopicPartition(topic, partition)
        first = await self._consumer.beginning_offsets([tp])
        end = await self._consumer.end_offsets([tp])
        return int(first[tp]), int(end[tp])

    async def last(self, topic: str, partition: int, wanted: Callable[[Any], bool] = lambda _: True) -> Any | None:
        """Return the last record that is ``wanted``, sought from the end backwards; None when there is none."""
        first, end = await self.bounds(topic, partition)
        before, back = end, _LAST_RECORDS
        while first < before:
            start, found = max(first, before - back), None
            async for records in self.records(topic, partition, start, before):
                found = next((one for one in reversed(records) if one.offset < before and wanted(one)), found)
            if found is not None:
                return found
            before, back = start, 16 * back
        return None

    async def records(
        self, topic: str, partition: int, start: int, before: int | None = None
    ) -> AsyncIterator[list[Any]]:
        """Yield aiokafka's records from ``start`` on in lists, to the end found at the first call.

        Reading stops once everything below ``before`` was given; the last list may reach beyond it.
        """
        tp = TopicPartition(topic, partition)
        first, end = await self.bounds(topic, partition)
        end = end if before is None else min(end, before)
        position = max(start, first)
        if position >= end:
            return
        self._consumer.assign([tp])
        self._consumer.seek(tp, position)
        while position < end:
            batches = await self._consumer.getmany(tp, timeout_ms=200)
            if tp in batches:
                yield batches[tp]
            position = await self._consumer.position(tp)
