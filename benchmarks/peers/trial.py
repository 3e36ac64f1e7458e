"""One trial of one peer: a backlog for its speed, loads for its latency, and a check of its answers.

Each event must be answered once. The releases topic shows all answers in the same way for every peer: a partition's
n-th release answers its n-th event.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from benchmarks.measures.latency import Pace
from benchmarks.peers.programs import Programs
from benchmarks.peers.roster import Peer
from benchmarks.result import Show
from benchmarks.rig.process import Client, ClientError
from benchmarks.rig.site import Ground, Site
from benchmarks.rig.watch import PATIENCE_SECONDS, Rate, Watch
from benchmarks.rig.workload import HOUR_MS, START_MS, Sizes, events
from stream_app.deciding.decider import INPUT_HEADER
from stream_app.formats import wire
from stream_app.kafka.client.log import LogReader
from stream_app.kafka.client.routing import router
from stream_app.kafka.client.security import client_arguments
from stream_app.kafka.evidence.claim import is_claim

SETTLING = 0.3
"""Share of a load's duration before latencies are counted."""
LEAST_LOAD = 0.95
"""Minimum share of a load that must actually have been sent."""
MOST_LOAD = 0.9
"""Maximum load of a peer, as a share of its own speed."""
_TAIL = 0.97
"""Share of a backlog over which speed is measured, because the last transactions are smaller."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from the append of an event until its committed release reaches a reader."""

    p50: float
    p99: float


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a trial."""

    rate: Rate
    resident_bytes: int
    latencies: dict[str, Latency]
    """Latencies by the load's name; a load that is too large for the peer or the machine is missing."""
    written: "OutputVolume | None"
    """What the peer wrote, in the first round only."""


@dataclass(frozen=True, slots=True)
class OutputVolume:
    """Records per event and the mean bytes of their values, for releases, ledger entries and rows."""

    records: dict[str, float]
    value_bytes: dict[str, float]


@dataclass(slots=True)
class Sights:
    """The times when a reader of committed records saw the releases."""

    consumer: AIOKafkaConsumer
    topic: str
    counts: list[int]
    """Number of releases on each partition so far."""
    seen: list[tuple[int, int, int, float]] = field(default_factory=list)
    """Partition, first release, end of the releases (exclusive), and time in milliseconds since 1970."""

    async def look(self) -> None:
        """Record arriving releases until cancelled."""
        while True:
            fetched = await self.consumer.getmany(timeout_ms=1_000)
            now = time.time() * 1_000
            for place, records in fetched.items():
                first = self.counts[place.partition]
                last = first + sum(1 for record in records if record.key)
                self.counts[place.partition] = last
                self.seen.append((place.partition, first, last, now))


def tried(ground: Ground, peer: Peer, programs: Programs, sizes: Sizes, loads: "Loads", show: Show) -> Finding:
    """Try a peer on its own topics.

    Raises:
        ClientError: if the peer ends, makes no progress, or omits an event or answers it twice.
    """
    # A series' first event costs more than later ones.
    warm, measured = max(sizes.series, int(peer.warm * loads.warm)), max(1, int(peer.share * sizes.events))
    with Site.made(ground, f"bench-peers-{peer.name}-{loads.number}", sizes) as site:
        given = site.send(events(_of(sizes, warm + measured)))
        command = peer.start(site, programs)
        log = site.folder / f"{peer.name}.log"
        watch = Watch.begun(site.settings, site.names.releases)
        with Client.running(command.words, ground.cores.client, log, command.where) as client:
            rate = _rate(watch.until(given, client, show), given, warm)
            resident = client.resident_bytes()
            found: dict[str, Latency] = {}
            for name, per_second in loads.of(rate.per_second).items():
                if per_second > MOST_LOAD * rate.per_second:
                    continue
                count = int(per_second * loads.seconds)
                latency = asyncio.run(_loaded(site, client, (given, count), per_second))
                given += count
                if latency is not None:
                    found[name] = latency
            asyncio.run(_entered(site, client, given))
        asyncio.run(_checked(site, given))
        written = asyncio.run(_written(site, given)) if loads.number == 0 else None
        return Finding(rate, resident, found, written)


@dataclass(frozen=True, slots=True)
class Loads:
    """The settings of every trial of a round."""

    number: int
    warm: int
    seconds: float
    steady: tuple[int, ...]
    """Events per second."""

    def of(self, most: float) -> dict[str, float]:
        """Return the loads by name, for a peer with a maximum of ``most`` events per second."""
        return {**{str(rate): float(rate) for rate in self.steady}, "half": most / 2}


def _of(sizes: Sizes, count: int) -> Sizes:
    return Sizes(count, sizes.series, sizes.partitions, sizes.repeats, sizes.scheme, sizes.filter, sizes.kind)


def _rate(watch: Watch, records: int, warm: int) -> Rate:
    """Return the speed after the first sample with ``warm`` answered events."""
    share = records / watch.offsets  # records per offset: each transaction has a marker
    done = [(sum(sample.ends) - sum(watch.samples[0].ends)) * share for sample in watch.samples]
    first = next(at for at, count in enumerate(done) if count >= warm)
    last = max(min(first + 1, len(done) - 1), next(at for at, count in enumerate(done) if count >= _TAIL * records))
    if first == last:
        raise ClientError("too few outputs for a rate; ask for more events")
    begin, end, counted = watch.samples[first], watch.samples[last], done[last] - done[first]
    return Rate(counted / (end.moment - begin.moment), (end.cpu_seconds - begin.cpu_seconds) / counted * 1_000_000)


async def _loaded(site: Site, client: Client, numbers: tuple[int, int], per_second: float) -> Latency | None:
    """Send ``numbers`` (the first number and the count) at a given rate; return the latency of their releases."""
    start, count = numbers
    more = list(events(_of(site.sizes, count), start=start))
    before = _spread(site.sizes, start)
    pace = Pace(site.settings, more, per_second)
    async with _sights(site, before) as sights:
        looking = asyncio.create_task(sights.look())
        began = time.perf_counter()
        await pace.send()
        took = time.perf_counter() - began
        deadline = time.perf_counter() + PATIENCE_SECONDS
        while sum(sights.counts) < start + count:
            client.check()
            if looking.done():
                await looking  # ends only with an error
            if time.perf_counter() > deadline:
                raise ClientError(f"{sum(sights.counts)} of {start + count} answered:\n{client.last_words()}")
            await asyncio.sleep(0.05)
        looking.cancel()
    if count < LEAST_LOAD * per_second * took:
        return None
    settled = [first + SETTLING * (last - first) for first, last in zip(before, sights.counts, strict=True)]
    waits = np.array(
        [
            now - pace.appended_ms(partition, number)
            for partition, first, last, now in sights.seen
            for number in range(max(first, int(settled[partition])), last)
        ]
    )
    return Latency(float(np.percentile(waits, 50)), float(np.percentile(waits, 99)))


@asynccontextmanager
async def _sights(site: Site, before: list[int]) -> AsyncIterator[Sights]:
    topic = site.names.releases
    places = [TopicPartition(topic, number) for number in range(len(before))]
    consumer = AIOKafkaConsumer(
        **client_arguments(site.settings), isolation_level="read_committed", enable_auto_commit=False
    )
    await consumer.start()
    try:
        consumer.assign(places)
        for place, end in (await consumer.end_offsets(places)).items():
            consumer.seek(place, end)
        yield Sights(consumer, topic, list(before))
    finally:
        await consumer.stop()


def _spread(sizes: Sizes, count: int) -> list[int]:
    """Return how many of the first ``count`` events are on each partition."""
    partition_of = router(sizes.partitions)
    spread = [0] * sizes.partitions
    whole, rest = divmod(count, sizes.series)
    for series in range(sizes.series):
        spread[partition_of(_key(series))] += whole + (series < rest)
    return spread


def _key(series: int) -> bytes:
    return b"series-%07d" % series


async def _entered(site: Site, client: Client, given: int) -> None:
    """Wait for one ledger record per event; a peer without transactions may end before sending them."""
    deadline = time.perf_counter() + PATIENCE_SECONDS
    async with LogReader.opened(site.settings, "read_committed") as reader:
        while True:
            ends = [(await reader.bounds(site.names.ledger, number))[1] for number in range(site.sizes.partitions)]
            if sum(ends) >= given:
                return
            client.check()
            if time.perf_counter() > deadline:
                raise ClientError(f"{sum(ends)} of {given} entries are in the ledger:\n{client.last_words()}")
            await asyncio.sleep(0.05)


async def _checked(site: Site, given: int) -> None:
    """Check that every event has exactly one release, in order.

    Raises:
        ClientError: if an event has no release or several, or if the order differs.
    """
    sizes = site.sizes
    expected: list[list[int]] = [[] for _ in range(sizes.partitions)]
    partitions = [router(sizes.partitions)(_key(series)) for series in range(sizes.series)]
    for number in range(given):
        expected[partitions[number % sizes.series]].append(number)
    async with LogReader.opened(site.settings, "read_committed") as reader:
        for partition, numbers in enumerate(expected):
            found: list[int] = []
            async for records in reader.records(site.names.releases, partition, 0):
                found += [_number(record, numbers, sizes.series) for record in records if record.key]
            if found != numbers:
                lost, surplus = len(set(numbers) - set(found)), len(found) - len(set(found))
                raise ClientError(
                    f"{site.name}: partition {partition} of releases: {lost} of {len(numbers)} events have none, "
                    f"{surplus} releases are surplus, or they are in another order"
                )


async def _written(site: Site, given: int) -> OutputVolume:
    """Return what was written per event."""
    admin = AIOKafkaAdminClient(**client_arguments(site.settings))
    await admin.start()
    try:
        changelogs = [name for name in await admin.list_topics() if site.name in name and "changelog" in name]
    finally:
        await admin.close()
    written: dict[str, tuple[int, int]] = {}
    async with LogReader.opened(site.settings, "read_committed") as reader:
        for kind, topics in {"release": [site.names.releases], "entry": [site.names.ledger], "row": changelogs}.items():
            count = size = 0
            for topic in topics:
                for partition in range(site.sizes.partitions):
                    async for records in reader.records(topic, partition, 0):
                        kept = [record for record in records if not is_claim(record)]
                        count += len(kept)
                        size += sum(len(record.value or b"") for record in kept)
            written[kind] = (count, size)
    counted = {kind: count / given for kind, (count, _) in written.items()}
    return OutputVolume(counted, {kind: size / max(1, count) for kind, (count, size) in written.items()})


def _number(record: Any, numbers: list[int], series: int) -> int:
    """Return the number of the event that a release answers, as read from its header or its content."""
    for name, value in record.headers:
        if name == INPUT_HEADER:
            return numbers[int(value)] if int(value) < len(numbers) else -1
    release: Any = wire.load(record.value)
    step = (int(release["timestamp"]) - START_MS) // HOUR_MS
    return step * series + int(release["series"].rpartition("-")[2])
