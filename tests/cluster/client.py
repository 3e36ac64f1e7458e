"""A client of the cluster in memory: how it asks, and how long it asks again."""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from aiokafka.errors import KafkaError, KafkaTimeoutError

from tests.cluster.cluster import MemoryCluster

BACKOFF_SECONDS: Final = 0.1
REQUEST_SECONDS: Final = 40.0
"""The time after which aiokafka gives up a request."""

_Answer = TypeVar("_Answer")


class Client:
    """One client of a cluster, by its name."""

    def __init__(self, cluster: MemoryCluster, name: str) -> None:
        """Take the cluster that is asked."""
        self.cluster, self.name = cluster, name

    async def ask(self, point: str, effect: Callable[[], _Answer]) -> _Answer:
        """Return the answer to one request, asked once."""
        return await self.cluster.request(point, self.name, effect)

    async def insist(self, point: str, effect: Callable[[], _Answer], seconds: float | None = None) -> _Answer:
        """Return the answer to one request, repeated while it is refused for a reason that may pass.

        Raises:
            KafkaTimeoutError: if it is still refused after ``seconds``; with None, the client never gives up.
        """
        loop = asyncio.get_running_loop()
        deadline = None if seconds is None else loop.time() + seconds
        while True:
            try:
                return await self.ask(point, effect)
            except KafkaError as error:
                if not error.retriable:
                    raise
                if deadline is not None and loop.time() >= deadline:
                    raise KafkaTimeoutError(f"no answer to {point} in {seconds} s") from error
            await asyncio.sleep(BACKOFF_SECONDS)
