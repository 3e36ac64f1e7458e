"""The audit beside a live worker: topics to their end, then on as records are committed, until it is asked to stop.

The auditor reports each finding at once (`live`). Memory grows with the series, some kilobytes each, and while
heads are followed by 40 bytes for each entry that no head covers yet; never with the length of the ledger.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

from aiokafka import TopicPartition

from stream_app.audit.auditor import Auditor
from stream_app.audit.files import Progress
from stream_app.audit.topic import (
    FETCH_RECORDS,
    SETTLE_SECONDS,
    WAIT_MS,
    HeadRecords,
    Waiting,
    check_whole,
    read_next,
    read_to_end,
    reading,
)


class Followed(NamedTuple):
    """The topics to follow; None for those that are left out."""

    ledger: str
    releases: str | None
    heads: str | None


async def follow_topics(
    auditor: Auditor, client: Mapping[str, Any], topics: Followed, stop: asyncio.Event, seen: Progress
) -> Waiting:
    """Feed the topics to `auditor` until `stop`, then up to where they end; return what `read_topics` returns.

    `seen` is called after each turn with how many offsets were read and how many there are. A worker commits an entry
    and its release together and signs what it has committed, so heads are read to their end before the ledger is.

    Raises:
        TopicError: a topic is not there, or its start was deleted before the audit began.
        aiokafka.errors.KafkaError: the brokers cannot be reached or refuse.
    """
    feeds = {topics.ledger: auditor.entries, topics.releases: auditor.releases}
    async with AsyncExitStack() as stack:
        names = [topic for topic in (topics.ledger, topics.releases) if topic is not None]
        consumer = await stack.enter_async_context(reading(client, names))
        await check_whole(consumer, topics.ledger)
        heads = None
        if topics.heads is not None:
            assert auditor.heads is not None, "heads are followed by an auditor that was given keys to trust"
            signed = await stack.enter_async_context(reading(client, [topics.heads]))
            await check_whole(signed, topics.ledger)
            heads = HeadRecords(signed, auditor.heads.record)

        def turn(unread: list[TopicPartition]) -> list[TopicPartition]:
            """Choose what to read next."""
            return read_next(auditor, unread, topics.ledger)

        async def to_end() -> None:
            """Read on to where the topics end now, heads first."""
            if heads is not None:
                await heads.to_end()
            await read_to_end(consumer, feeds, seen, turn)

        await to_end()
        places = list(consumer.assignment())
        while not stop.is_set():
            if heads is not None:
                await heads.turn(0)
            fetched = await consumer.getmany(*turn(places), timeout_ms=WAIT_MS, max_records=FETCH_RECORDS)
            for place, records in fetched.items():
                feeds[place.topic]([record.value or b"" for record in records])
            reached = [await consumer.position(place) for place in places]
            ends = [consumer.last_stable_offset(place) or 0 for place in places]
            seen(sum(reached), sum(map(max, reached, ends)))
        await to_end()
        judged = auditor.pending()
        if judged:
            await asyncio.sleep(SETTLE_SECONDS)
            await read_to_end(consumer, feeds, seen, turn)
        return judged
