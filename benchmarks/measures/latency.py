"""The benchmark `latency`: time from append to committed release, at half of the worker's full load."""

import asyncio
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from aiokafka import AIOKafkaProducer

from benchmarks.result import Figure, Result, Show
from benchmarks.rig.site import Ground, Site
from benchmarks.rig.watch import Watch
from benchmarks.rig.workers import work, worker
from benchmarks.rig.workload import Sizes, events
from stream_app.kafka.client.log import LogReader
from stream_app.kafka.client.routing import router
from stream_app.kafka.client.security import client_arguments
from stream_app.kafka.client.sending import Event
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.evidence.foreign import input_offset
from stream_app.setup.settings import Settings

DEFAULT = Sizes(events=400_000, series=10_000)
LOAD = 0.5
POLL_SECONDS = 0.002
WARM_SHARE = 0.25
"""Share of events that pass before latencies count, because the first batches fill tables and caches."""
TICK_SECONDS = 0.01
"""Events due in one interval are sent together."""


class Pace:
    """A sender that keeps its rate, however long the answers take."""

    def __init__(self, settings: Settings, events: Sequence[Event], per_second: float) -> None:
        """Accept prepared events and the rate at which to send them."""
        self._settings = settings
        self._events = events
        self._per_second = per_second
        self._appended: dict[int, list[tuple[int, int]]] = {}

    async def send(self) -> None:
        """Send everything; raise aiokafka's errors if something is not acknowledged."""
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
                filling: dict[int, Any] = {}
                batches: list[tuple[int, Any]] = []
                for partition, event in placed[sent:due]:
                    record = {"key": event.key, "value": event.value, "timestamp": None}
                    batch = filling.get(partition)
                    # A full batch accepts no more; after a stall many events are due at once.
                    if batch is None or batch.append(**record) is None:
                        batch = filling[partition] = producer.create_batch()
                        batch.append(**record)
                        batches.append((partition, batch))
                for partition, batch in batches:
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
        """Return the time at which the broker appended the event at ``offset``: the time of its batch."""
        batches = self._appended[partition]
        return batches[bisect_right(batches, (offset, 1 << 62)) - 1][1]


def run(ground: Ground, sizes: Sizes, show: Show) -> Result:
    """Measure a worker's maximum rate, then latencies at half of it, in turn."""
    rates: list[float] = []
    halves: list[float] = []
    latencies: list[np.ndarray] = []
    for number in range(sizes.repeats):
        with Site.made(ground, f"bench-full-{number}", sizes) as site:
            site.send(events(sizes))
            rates.append(work(site, sizes.events, show).rate.per_second)
        halves.append(LOAD * rates[-1])
        with Site.made(ground, f"bench-latency-{number}", sizes) as site:
            latencies.append(np.array(_latencies(site, halves[-1], show)))
    figures = {
        "full_load": Figure.of("events/s", rates),
        "load": Figure.of("events/s", halves),
        "p50": Figure.of("ms", (float(np.percentile(found, 50)) for found in latencies)),
        "p99": Figure.of("ms", (float(np.percentile(found, 99)) for found in latencies)),
        "most": Figure.of("ms", (float(found.max()) for found in latencies)),
    }
    return Result("latency", sizes.document(), figures)


def _latencies(site: Site, per_second: float, show: Show) -> list[float]:
    sizes = site.sizes
    # The worker runs before the load: first one event per series, then the events that count.
    site.send(events(replace(sizes, events=sizes.series)))
    watch = Watch.begun(site.settings, site.names.releases)
    pace = Pace(site.settings, list(events(sizes, start=sizes.series)), per_second)
    with worker(site) as client:
        watch.until(sizes.series, client, show)

        async def load() -> None:
            await asyncio.gather(
                pace.send(), watch.follow(sizes.series + sizes.events, client, show, poll_seconds=POLL_SECONDS)
            )

        asyncio.run(load())
    skipped = sizes.series + int(WARM_SHARE * sizes.events)
    return list(asyncio.run(_waits(site, watch, pace, skipped // sizes.partitions)))


async def _waits(site: Site, watch: Watch, pace: Pace, skipped: int) -> list[float]:
    """Return the wait of each event in milliseconds, without the first ``skipped`` of each partition."""
    wall = time.time() - time.perf_counter()
    moments = [sample.moment + wall for sample in watch.samples]
    found: list[float] = []
    async with LogReader.opened(site.settings, "read_committed") as reader:
        for partition in range(site.sizes.partitions):
            ends = [sample.ends[partition] for sample in watch.samples]
            async for records in reader.records(site.names.releases, partition, 0):
                found += _of_records(records, partition, skipped, ends, moments, pace)
    return found


def _of_records(
    records: list[Any], partition: int, skipped: int, ends: list[int], moments: list[float], pace: Pace
) -> Iterator[float]:
    for record in records:
        offset = input_offset(record)
        if offset >= skipped:
            seen = moments[bisect_right(ends, record.offset)]  # the first sample whose end exceeds the offset
            yield seen * 1000 - pace.appended_ms(partition, offset)
