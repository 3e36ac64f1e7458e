"""Topics as any client sees them, read and written without the product's own readers and senders."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.partitioner import murmur2

from tests.admin import administration, committed
from tests.faults.fleet import Fleet, Site
from tests.patience import PATIENCE_SECONDS
from tests.stacks import last_words

Isolation = Literal["read_committed", "read_uncommitted"]
MOST_BYTES = 16 * 1024 * 1024
_FLIGHT = 500
_REVIVAL_SECONDS = 10.0
"""How long a fleet may be without a running worker while input waits."""


class Sent(NamedTuple):
    """A record to send; if the partition is None, the key determines it."""

    key: bytes | None
    value: bytes | None
    partition: int | None = None
    headers: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True)
class Topics:
    """The topics of a site."""

    site: Site

    async def read(self, meaning: str, isolation: Isolation = "read_committed") -> list[Any]:
        """Return every record of a topic, one partition after another."""
        return [record async for record in self.walk(meaning, isolation)]

    async def walk(self, meaning: str, isolation: Isolation = "read_committed") -> AsyncIterator[Any]:
        """Yield every record of a topic, one partition after another; ledger claims are excluded."""
        topic = self.site.topics[meaning]
        async with self._consumer(isolation) as consumer:
            for tp in [TopicPartition(topic, number) for number in range(self.site.partitions)]:
                end = (await consumer.end_offsets([tp]))[tp]
                consumer.assign([tp])
                await consumer.seek_to_beginning(tp)
                while await consumer.position(tp) < end:
                    for records in (await consumer.getmany(timeout_ms=200)).values():
                        for record in records:
                            if meaning != "ledger" or record.key:
                                yield record

    async def ends(self, meaning: str, isolation: Isolation = "read_uncommitted") -> list[int]:
        """Return the end of each partition; read-committed, that is the first open transaction."""
        tps = [TopicPartition(self.site.topics[meaning], number) for number in range(self.site.partitions)]
        async with self._consumer(isolation) as consumer:
            ends = await consumer.end_offsets(tps)
        return [ends[tp] for tp in tps]

    async def written(self) -> int:
        """Return how much all outputs hold, including records that were not committed."""
        return sum(await self.ends("ledger")) + sum(await self.ends("rejects"))

    async def send(self, records: Iterable[Sent]) -> int:
        """Send the records in order; return their number."""
        count = 0
        async with AIOKafkaProducer(
            bootstrap_servers=self.site.bootstrap, enable_idempotence=True, max_request_size=MOST_BYTES, linger_ms=5
        ) as producer:
            flight = []
            for record in records:
                partition = record.partition
                if partition is None:
                    partition = partition_of(record.key, self.site.partitions)
                answer = producer.send(
                    self.site.topics["events"],
                    value=record.value,
                    key=record.key,
                    partition=partition,
                    headers=list(record.headers),
                )
                flight.append(await answer)
                count += 1
                if len(flight) == _FLIGHT:
                    await asyncio.gather(*flight)
                    flight.clear()
            await asyncio.gather(*flight)
        return count

    async def committed(self) -> tuple[int, list[str]]:
        """Return how much input the group acknowledged, and the metadata of its offsets."""
        topic = self.site.topics["events"]
        found = await asyncio.to_thread(committed, self.site.bootstrap, self.site.name, topic)
        return sum(offset for offset, _ in found.values()), [metadata for _, metadata in found.values()]

    async def until_decided(self, fleet: Fleet, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until all input is acknowledged; ``seconds`` is the longest standstill to tolerate.

        A fleet without a running worker has less time, counted from when the last one ended: a test may restart it.
        """
        total = sum(await self.ends("events"))
        done, since = -1, time.monotonic()
        ran = since
        while done < total:
            now = (await self.committed())[0]
            if now > done:
                done, since = now, time.monotonic()
            if any(worker.runs for worker in fleet.workers.values()):
                ran = time.monotonic()
            if time.monotonic() - since > seconds or time.monotonic() - max(ran, since) > _REVIVAL_SECONDS:
                tales = {name: last_words(worker.process, worker.log) for name, worker in fleet.workers.items()}
                raise AssertionError(f"stands at {done} of {total}: {tales}")
            await asyncio.sleep(0.3)

    async def remake(self, meaning: str) -> None:
        """Delete a topic and make it again, empty."""
        async with administration(bootstrap_servers=self.site.bootstrap) as admin:
            await admin.delete_topics([self.site.topics[meaning]])
            deadline = time.monotonic() + PATIENCE_SECONDS
            while self.site.topics[meaning] in await admin.list_topics():
                assert time.monotonic() < deadline, f"{meaning} stays"
                await asyncio.sleep(0.1)
        self.site.command("topics", "--config", str(self.site.config()))

    def _consumer(self, isolation: Isolation) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            bootstrap_servers=self.site.bootstrap,
            isolation_level=isolation,
            enable_auto_commit=False,
            max_partition_fetch_bytes=MOST_BYTES,
            fetch_max_wait_ms=100,
        )


def partition_of(key: bytes | None, partitions: int) -> int:
    """Return the partition that Kafka's default partitioner gives a key; records without a key go to the first."""
    return 0 if key is None else (int(murmur2(key)) & 0x7FFFFFFF) % partitions


def input_of(record: Any) -> tuple[int, int]:
    """Return partition and offset of the input that an output record answers."""
    return record.partition, int(dict(record.headers)["input"])
