"""A steady producer: sends a fixed number of records per second from entering its block until leaving it."""

import asyncio
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from aiokafka import AIOKafkaProducer

from tests.faults.topics import Sent, Topics, partition_of

_TICK_SECONDS = 0.02


class Steady:
    """Sends the records of an endless iterator; `sent` counts those that were acknowledged by all replicas."""

    def __init__(self, topics: Topics, records: Iterator[Sent], per_second: float) -> None:
        """Send nothing yet."""
        self._topics, self._records, self._per_second = topics, records, per_second
        self._ending = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.sent = 0

    async def __aenter__(self) -> Self:
        """Begin."""
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the producer; everything sent has been acknowledged when this returns."""
        self._ending.set()
        assert self._task is not None, "entered first"
        await self._task

    async def _run(self) -> None:
        site = self._topics.site
        began, answers = time.monotonic(), list[Any]()
        async with AIOKafkaProducer(
            bootstrap_servers=site.bootstrap, enable_idempotence=True, max_request_size=1 << 24
        ) as producer:
            while not self._ending.is_set():
                while len(answers) < (time.monotonic() - began) * self._per_second:
                    record = next(self._records)
                    partition = partition_of(record.key, site.partitions)
                    answers.append(
                        await producer.send(site.topics["events"], record.value, record.key, partition=partition)
                    )
                await asyncio.sleep(_TICK_SECONDS)
            self.sent = len(await asyncio.gather(*answers))
