"""The cluster in memory as a partition's owner sees it: `stream_app.kafka.brokers` describes each part.

A client retries after errors that aiokafka would retry, so a lost answer or connection shows as a delay; only `connect`
gives up immediately.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from stream_app.formats.records import Records
from stream_app.kafka.brokers import TopicFacts
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.stops import PartitionStoppedError
from tests.cluster.client import BACKOFF_SECONDS, REQUEST_SECONDS, Client
from tests.cluster.cluster import MemoryCluster
from tests.cluster.group import Place
from tests.cluster.log import Isolation, MemoryRecord
from tests.cluster.writer import MemoryWriter

_PAUSE_SECONDS = 0.5


class MemoryReader:
    """A reader from given offsets up to the end of the log at the time of the question."""

    def __init__(self, client: Client, isolation: Isolation, fetch_records: int) -> None:
        """Read what that isolation shows, in lists of ``fetch_records`` records or more if there are enough."""
        self._client, self._isolation, self._fetch_records = client, isolation, fetch_records

    async def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first offset kept and the one after the last."""

        def found() -> tuple[int, int]:
            """Return them at this moment."""
            log = self._client.cluster.log(topic, partition)
            return log.first, log.bound(self._isolation)

        return await self._client.insist("bounds", found, REQUEST_SECONDS)

    async def last(
        self, topic: str, partition: int, wanted: Callable[[Any], bool] = lambda _: True
    ) -> MemoryRecord | None:
        """Return the last record that is ``wanted``, or None if there is none."""
        first, end = await self.bounds(topic, partition)
        log = self._client.cluster.log
        found = await self._client.insist("last", lambda: log(topic, partition).visible(first, end, self._isolation))
        return next((record for record in reversed(found) if wanted(record)), None)

    async def records(
        self, topic: str, partition: int, start: int, before: int | None = None
    ) -> AsyncIterator[list[MemoryRecord]]:
        """Yield records from ``start`` on in lists, to the end found at the first call."""
        first, end = await self.bounds(topic, partition)
        end = end if before is None else min(end, before)
        position = max(start, first)
        while position < end:
            at = position
            records, position = await self.fetch(topic, partition, position)
            if records:
                yield records
            if position == at:  # the log lost its end: there may come another
                await asyncio.sleep(BACKOFF_SECONDS)

    async def rows(self, topic: str, partition: int, start: int) -> AsyncIterator[Records]:
        """Yield the same records as ``records``, without headers and as columns."""
        async for found in self.records(topic, partition, start):
            yield columns(topic, partition, found)

    async def fetch(self, topic: str, partition: int, position: int) -> tuple[list[MemoryRecord], int]:
        """Return the result of one fetch, in whole batches, and the position after it."""
        return await self._client.insist("fetch", partial(self._found, topic, partition, position))

    def _found(self, topic: str, partition: int, position: int) -> tuple[list[MemoryRecord], int]:
        log = self._client.cluster.log(topic, partition)
        if not log.first <= position <= log.end:
            position = log.first  # the client's `auto_offset_reset`
        bound, reached, count = log.bound(self._isolation), position, 0
        for batch in log.batches_from(position):
            if batch.base >= bound or count >= self._fetch_records:
                break
            reached, count = batch.end, count + len(batch.records)
        return log.visible(position, reached, self._isolation), max(reached, position)


def columns(topic: str, partition: int, found: Sequence[MemoryRecord]) -> Records:
    """Return records of a partition as columns."""
    offsets, times = [one.offset for one in found], [one.timestamp for one in found]
    return Records(topic, partition, offsets, times, [one.key for one in found], [one.value for one in found])


class MemoryBrokers:
    """A cluster in memory, for the owners of one worker's partitions."""

    def __init__(
        self,
        cluster: MemoryCluster,
        client: str,
        application: str,
        names: TopicNames,
        *,
        transaction_timeout_ms: int = 60_000,
        batch_bytes: int = 1 << 20,
        fetch_records: int = 500,
    ) -> None:
        """Ask ``cluster`` as ``client``, a name that the cluster's hook receives with each request."""
        self._client = Client(cluster, client)
        self._application, self._names = application, names
        self._transaction_timeout_ms = transaction_timeout_ms
        self._batch_bytes, self._fetch_records = batch_bytes, fetch_records

    async def fence(self, partition: int) -> MemoryWriter:
        """Fence every earlier owner: its open transaction ends, and nothing more from it will count."""
        await self._connect()
        identity, cluster = f"{self._application}-{partition}", self._client.cluster
        given = await self._client.insist(
            "fence", lambda: cluster.transactions.fence(identity, self._transaction_timeout_ms)
        )
        return MemoryWriter(self._client, identity, partition, given, self._batch_bytes)

    @asynccontextmanager
    async def reader(self, isolation: Isolation) -> AsyncIterator[MemoryReader]:
        """Connect, and close at the end of the ``with`` block."""
        await self._connect()
        yield MemoryReader(self._client, isolation, self._fetch_records)

    async def committed(self, partition: int) -> int | None:
        """Return the group's committed offset of a partition, or None if it has none."""
        group, place = self._client.cluster.group(self._application), Place(self._names.events, partition)
        return await self._client.insist("committed", lambda: group.offsets.get(place))

    async def facts(self) -> Mapping[str, TopicFacts]:
        """Return the facts of the events topic and the changelog, for those that exist."""
        await self._connect()
        return await self._client.ask("facts", self._facts)

    def _facts(self) -> Mapping[str, TopicFacts]:
        names = (self._names.events, self._names.changelog)
        found = {name: self._client.cluster.facts(name) for name in names}
        return {name: TopicFacts(*facts) for name, facts in found.items() if facts is not None}

    async def confirm(self, partition: int, topic_id: str) -> None:
        """Return once the events topic is the one with that id; ask until a broker answers and the topic exists."""
        name = self._names.events
        while True:
            facts = await self._client.insist("confirm", self._facts)
            if name in facts and partition < facts[name].partitions:
                if facts[name].id == topic_id:
                    return
                asked = f"topic {name} with id {topic_id}"
                found = f"id {facts[name].id}: it was deleted and created again"
                raise PartitionStoppedError(partition, "topic-replaced", asked=asked, found=found)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _connect(self) -> None:
        await self._client.ask("connect", lambda: None)
