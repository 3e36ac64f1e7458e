"""Watches a topic grow: committed ends over time, and the rate from the first output to the last."""

import asyncio
import time
from dataclasses import dataclass
from typing import Protocol, Self

from aiokafka import AIOKafkaConsumer, TopicPartition

from benchmarks.result import Show
from benchmarks.rig.process import ClientError
from stream_app.kafka.client.security import client_arguments
from stream_app.setup.settings import Settings

POLL_SECONDS = 0.02
QUIET_SECONDS = 2.0
"""Once there are enough offsets, a pause this long means that all records and markers have arrived."""
PATIENCE_SECONDS = 180.0


class WatchedClient(Protocol):
    """The client that makes the topic grow: one `Client`, or several."""

    def check(self) -> None:
        """Raise `ClientError` if the client has ended."""

    def last_words(self) -> str:
        """Return the end of the log."""

    def cpu_seconds(self) -> float:
        """Return the processor time of all the client's threads so far."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The committed ends of a topic's partitions at one moment, and the client's processor time until then."""

    moment: float
    ends: tuple[int, ...]
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Rate:
    """The speed of a client, and its processor time."""

    per_second: float
    cpu_microseconds: float
    """The client's processor time per record, which is less affected by other programs than the speed is."""

    @classmethod
    def of(cls, records: float, seconds: float, cpu_seconds: float) -> "Rate":
        """Return the rate of ``records`` in the given times; raises `ClientError` if one of the three is 0."""
        if not (records and seconds and cpu_seconds):
            raise ClientError("too few records for a rate; ask for more events")
        return cls(records / seconds, cpu_seconds / records * 1_000_000)


class Watch:
    """The growth of one topic while a client works."""

    def __init__(self, settings: Settings, topic: str, before: Sample) -> None:
        """Start with the ends ``before`` the client started; use ``begun`` to create watches."""
        self._settings = settings
        self._topic = topic
        self.samples = [before]
        """The first sample, and one more for each time that an end moved."""

    @classmethod
    def begun(cls, settings: Settings, topic: str) -> Self:
        """Sample the topic before its client starts."""
        return cls(settings, topic, asyncio.run(_first_sample(settings, topic)))

    def until(self, records: int, client: WatchedClient, show: Show, *, whole: bool = True) -> Self:
        """Watch until ``records`` are committed or, unless ``whole``, until that many offsets of any kind are.

        Raises:
            ClientError: if the client ends, or nothing changes for minutes.
        """
        asyncio.run(self.follow(records, client, show, whole=whole))
        return self

    async def follow(
        self, records: int, client: WatchedClient, show: Show, *, whole: bool = True, poll_seconds: float = POLL_SECONDS
    ) -> None:
        """Do what ``until`` does, concurrently with other tasks."""
        places = _places(self._topic, len(self.samples[0].ends))
        async with _consumer(self._settings) as consumer:
            moved = time.perf_counter()
            while True:
                found = await consumer.end_offsets(places)
                now = time.perf_counter()
                ends = tuple(found[place] for place in places)
                if ends != self.samples[-1].ends:
                    self.samples.append(Sample(now, ends, client.cpu_seconds()))
                    moved = now
                    show(self._topic, min(self.offsets, records), records)
                if self.offsets >= records and (not whole or now - moved > QUIET_SECONDS):
                    return
                client.check()
                if now - moved > PATIENCE_SECONDS:
                    raise ClientError(f"{self._topic}: nothing after {self.offsets} offsets:\n{client.last_words()}")
                await asyncio.sleep(poll_seconds)

    @property
    def offsets(self) -> int:
        """The number of offsets committed so far, for records and transaction markers."""
        return sum(self.samples[-1].ends) - sum(self.samples[0].ends)

    def rate(self, records: int | None = None) -> Rate:
        """Return the rate from the first output to the last, for ``records`` in all (None: all offsets).

        The rate starts once every partition has its first output. Partitions take turns, so when one of them commits,
        much of the others' first batches is done too.

        Raises:
            ClientError: if all outputs came at the same moment, so that there is no rate.
        """
        last = self.samples[-1]
        first = next(sample for sample in self.samples if self._reach(sample) == self._reach(last))
        counted = sum(last.ends) - sum(first.ends) if self._reach(first) else 0
        share = 1.0 if records is None or not counted else records / self.offsets  # records per offset
        return Rate.of(counted * share, last.moment - first.moment, last.cpu_seconds - first.cpu_seconds)

    def _reach(self, sample: Sample) -> int:
        """Return how many partitions had any output when the sample was taken."""
        return sum(now > before for now, before in zip(sample.ends, self.samples[0].ends, strict=True))


async def _first_sample(settings: Settings, topic: str) -> Sample:
    async with _consumer(settings) as consumer:
        ends = await consumer.end_offsets(_places(topic, settings.partitions))
    return Sample(time.perf_counter(), tuple(ends[place] for place in _places(topic, settings.partitions)), 0.0)


def _consumer(settings: Settings) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(**client_arguments(settings), isolation_level="read_committed", enable_auto_commit=False)


def _places(topic: str, partitions: int) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(partitions)]
