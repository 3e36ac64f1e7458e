"""Reads logs up to their ends, outside any consumer group: a range of one partition, or a whole topic."""

import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import repeat
from typing import Any, Self

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import TopicAuthorizationFailedError
from aiokafka.structs import ConsumerRecord

from stream_app.formats.records import Records
from stream_app.kafka.brokers import Isolation, LogRecord
from stream_app.kafka.client.batches import RecordBatch, by_batch
from stream_app.kafka.client.security import client_arguments, started
from stream_app.kafka.client.topicid import assert_there
from stream_app.setup.settings import Settings

_FETCH_WAIT_MS = 10
"""How long a broker holds a fetch that finds nothing, delaying the next request at a log's end."""
_POLL_MS = 20
"""How long to wait for records before checking the position, because a final marker moves only the position."""
_FOLLOW_MS = 200
_LAST_RECORDS = 256
"""How many records at the end are searched first; only aborted or unwanted ones can follow the last wanted one."""


class LogReader:
    """Reads ranges of one partition at a time; create instances with ``opened``."""

    def __init__(self, consumer: AIOKafkaConsumer) -> None:
        self._consumer = consumer

    @classmethod
    @asynccontextmanager
    async def opened(cls, settings: Settings, isolation: Isolation) -> AsyncIterator[Self]:
        """Connect for the duration of the ``with`` block."""
        fetches = {"max_partition_fetch_bytes": settings.fetch_bytes, "fetch_max_wait_ms": _FETCH_WAIT_MS}
        async with started(_consumer(settings, isolation, key_deserializer=by_batch, **fetches)) as consumer:
            yield cls(consumer)

    async def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first retained offset and the offset after the last record."""
        tp = TopicPartition(topic, partition)
        # For a new topic aiokafka requests the metadata, then pauses 100 ms before it requests the offsets.
        client = self._consumer._client  # noqa: SLF001 (no public name)
        await client.add_topic(topic)
        if topic in client.cluster.unauthorized_topics:  # aiokafka would retry until its timeout
            await client.force_metadata_update()
            if topic in client.cluster.unauthorized_topics:
                raise TopicAuthorizationFailedError(topic)
        first = await self._consumer.beginning_offsets([tp])
        end = await self._consumer.end_offsets([tp])
        return int(first[tp]), int(end[tp])

    async def last(self, topic: str, partition: int, wanted: Callable[[Any], bool] = lambda _: True) -> Any | None:
        """Return the last record for which ``wanted`` is true, or None; the search runs backwards from the end."""
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

    async def following(self, starts: Mapping[TopicPartition, int]) -> AsyncIterator[Any]:
        """Yield the records of some partitions forever as they arrive, from each partition's start offset onward."""
        self._consumer.assign(list(starts))
        for place, start in starts.items():
            self._consumer.seek(place, start)
        async for place, batches in _fetched(self._consumer, dict.fromkeys(starts, math.inf)):
            for record in _records(place, batches):
                yield record

    async def records(
        self, topic: str, partition: int, start: int, before: int | None = None
    ) -> AsyncIterator[list[Any]]:
        """Yield lists of records, as specified in `Reader`."""
        async for batches in self._batches(topic, partition, start, before):
            yield _records(TopicPartition(topic, partition), batches)

    async def rows(self, topic: str, partition: int, start: int) -> AsyncIterator[Records]:
        """Yield the same records as `records`, but as columns without headers or an object per record."""
        async for batches in self._batches(topic, partition, start, None):
            yield Records.joined([batch.records for batch in batches])

    async def _batches(
        self, topic: str, partition: int, start: int, before: int | None
    ) -> AsyncIterator[list[RecordBatch]]:
        tp = TopicPartition(topic, partition)
        first, end = await self.bounds(topic, partition)
        end = end if before is None else min(end, before)
        position = max(start, first)
        if position >= end:
            return
        self._consumer.assign([tp])
        self._consumer.seek(tp, position)
        async for _, batches in _fetched(self._consumer, {tp: end}):
            yield batches
        self._consumer.pause(tp)


def _records(place: TopicPartition, batches: list[RecordBatch]) -> list[Any]:
    topic, partition = (repeat(one) for one in place)
    found: list[Any] = []
    for producer, one, headers, _ in batches:
        columns = (one.offsets, one.timestamps_ms, one.keys, one.values, headers)
        found.extend(map(LogRecord, topic, partition, *columns, repeat(producer)))
    return found


async def records_of(
    settings: Settings,
    topic: str,
    *,
    isolation: Isolation = "read_committed",
    follow: bool = False,
    from_end: bool = False,
    since_ms: int | None = None,
) -> AsyncIterator[ConsumerRecord]:
    """Yield the records of ``topic`` up to its end at the time of the call, or forever with ``follow``.

    Reading starts at the beginning of each partition, or at its end with ``from_end``. With ``since_ms``, reading
    starts at the first record with that timestamp or a later one, and records after it with an earlier timestamp are
    omitted. This commits no offsets and joins no group. Raises `LookupError` if the topic does not exist.
    """
    await assert_there(settings, topic)  # a consumer would search forever, or create it
    async with started(_consumer(settings, isolation, topic)) as consumer:
        places = list(consumer.assignment())  # every partition without a group
        ends = await consumer.end_offsets(places)
        starts = ends if from_end else {}
        if since_ms is not None:
            found = await consumer.offsets_for_times(dict.fromkeys(places, since_ms))
            starts = {place: ends[place] if first is None else first.offset for place, first in found.items()}
        for place, start in starts.items():
            consumer.seek(place, start)
        last = dict.fromkeys(places, math.inf) if follow else ends
        async for _, records in _fetched(consumer, last, _FOLLOW_MS if follow else _POLL_MS):
            for record in records:
                if since_ms is None or record.timestamp >= since_ms:
                    yield record


def _consumer(settings: Settings, isolation: Isolation, *topics: str, **more: Any) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        *topics,
        **client_arguments(settings),
        isolation_level=isolation,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        **more,
    )


async def _fetched(
    consumer: AIOKafkaConsumer, ends: Mapping[TopicPartition, float], poll_ms: int = _POLL_MS
) -> AsyncIterator[tuple[TopicPartition, list[Any]]]:
    """Yield each partition with its fetched records, until every partition is read up to its end."""
    while [place for place, end in ends.items() if await consumer.position(place) < end]:
        for fetched in (await consumer.getmany(timeout_ms=poll_ms)).items():
            yield fetched
