"""What every test here does to a cluster, whether it is in memory (`inmemory.py`) or a real broker (`onbroker.py`)."""

import asyncio
from typing import Literal, Protocol

from aiokafka.errors import KafkaError

from stream_app.kafka.brokers import Brokers, Writer

Request = Literal["add", "send", "commit", "abort"]
"""What a writer asks for: a topic in its transaction, a record in that topic, and an end."""

STAMP_MS = 1_700_000_000_000
"""What records that are written here say of their time."""
SESSION_MS = 6_000
"""How long a group waits for a member's sign of life: the shortest that a broker takes."""
HEARTBEAT_SECONDS = 0.3
"""How often a member gives one."""


class Member(Protocol):
    """A member of a consumer group that follows rebalances by itself."""

    @property
    def places(self) -> tuple[int, ...]:
        """The partitions that it has."""

    @property
    def generation(self) -> int:
        """The last generation that it joined."""

    async def start(self) -> None:
        """Join."""

    async def poll(self) -> None:
        """Ask for records, whether there are any or not."""

    async def commit(self, partition: int, offset: int) -> bool:
        """Commit an offset in the last generation joined; return whether the group took it."""

    async def commit_late(self, partition: int, offset: int) -> bool:
        """Commit as if it had not heard of the last generation yet."""

    async def freeze(self) -> None:
        """Give no sign of life any more."""

    async def leave(self) -> None:
        """Leave the group."""


class Cluster(Protocol):
    """What a test does to a cluster; topics are named apart from those of other tests."""

    async def open(self) -> None:
        """Connect."""

    async def close(self) -> None:
        """Disconnect."""

    async def make(self, topic: str, partitions: int = 1, *, append_time: bool = False) -> str:
        """Make a topic, and return its full name, which all else wants."""

    async def delete(self, topic: str) -> None:
        """Delete a topic."""

    async def grow(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""

    async def delete_before(self, topic: str, offset: int) -> None:
        """Delete the records of partition 0 before an offset."""

    async def append(self, topic: str, *values: bytes) -> None:
        """Append one batch of no transaction to partition 0."""

    def brokers(self, application: str, topic: str = "events", timeout_ms: int = 60_000) -> Brokers:
        """Return the cluster as a worker of an application sees it, whose events topic this is."""

    async def late(self, writer: Writer, request: Request, topic: str) -> type[KafkaError] | None:
        """Let a copy of a request of that writer arrive now, under its epoch, and return why it was refused.

        That of ``send`` is of the record ``late``, the second that the writer sent to partition 0 of the topic.
        """

    def member(self, application: str, topic: str, poll_ms: int = 300_000) -> Member:
        """Return a new member of the application's group; it may go for ``poll_ms`` without `Member.poll`."""

    async def members(self, application: str) -> int:
        """Return how many members the group has."""


async def end(task: "asyncio.Task[None] | None") -> None:
    """Cancel a task, and wait until it has ended."""
    if task is not None:
        task.cancel()
        await asyncio.wait({task})
