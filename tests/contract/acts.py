"""Short helpers for what tests of both clusters do and see."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar

from stream_app.kafka.brokers import Brokers, Extent, Isolation, Writer
from tests.patience import ANSWER_SECONDS

_T = TypeVar("_T")

Request = Literal["add", "send", "commit", "abort"]
"""A writer's requests: to add a topic to its transaction, send a record to that topic, and end."""

STAMP_MS = 1_700_000_000_000
"""The time stated in records that are written here."""
SESSION_MS = 6_000
"""How long a group waits for a member's sign of life: the minimum that a broker accepts."""
HEARTBEAT_SECONDS = 0.3
"""The interval between a member's signs of life."""

Seen = list[tuple[int, bytes | None]]
"""Offsets and values of records."""


async def send(writer: Writer, topic: str, *values: bytes) -> Extent:
    """Send one batch within the transaction that is open."""
    pages = writer.pages()
    for value in values:
        pages.append(b"key", value, STAMP_MS, [("input", b"1")])
    return await writer.send(topic, pages)


async def commit(writer: Writer, topic: str, *values: bytes) -> Extent:
    """Write one batch in a transaction of its own."""
    await writer.begin()
    extent = await send(writer, topic, *values)
    await writer.commit()
    return extent


async def abort(writer: Writer, topic: str, *values: bytes) -> Extent:
    """Write one batch in a transaction that is aborted."""
    await writer.begin()
    extent = await send(writer, topic, *values)
    await writer.abort()
    return extent


async def bounds(brokers: Brokers, topic: str, isolation: Isolation, partition: int = 0) -> tuple[int, int]:
    """Return where the log begins and ends for readers of that isolation."""
    async with brokers.reader(isolation) as reader:
        return await reader.bounds(topic, partition)


async def ends(brokers: Brokers, topic: str) -> tuple[int, int]:
    """Return the last stable offset and the end of partition 0."""
    return (await bounds(brokers, topic, "read_committed"))[1], (await bounds(brokers, topic, "read_uncommitted"))[1]


async def seen(brokers: Brokers, topic: str, isolation: Isolation, start: int = 0, before: int | None = None) -> Seen:
    """Return what readers of that isolation receive from partition 0 from an offset on."""
    return [(record.offset, record.value) for record in await records(brokers, topic, isolation, start, before)]


async def records(
    brokers: Brokers, topic: str, isolation: Isolation, start: int = 0, before: int | None = None
) -> list[Any]:
    """Return the records that readers of that isolation receive from partition 0 from an offset on."""
    async with brokers.reader(isolation) as reader:
        found: list[Any] = []
        async for some in reader.records(topic, 0, start, before):
            assert some, "lists are not empty"
            found += some
        return found


async def soon(ask: Callable[[], Awaitable[_T]], expected: _T, seconds: float = ANSWER_SECONDS) -> None:
    """Ask until the answer is as expected: a broker writes markers after it has acknowledged a commit."""
    deadline = time.monotonic() + seconds
    while (found := await ask()) != expected and time.monotonic() < deadline:  # noqa: ASYNC110 (no event tells it)
        await asyncio.sleep(0.05)
    assert found == expected


async def end(task: "asyncio.Task[None] | None") -> None:
    """Cancel a task, and wait until it has ended."""
    if task is not None:
        task.cancel()
        await asyncio.wait({task})
