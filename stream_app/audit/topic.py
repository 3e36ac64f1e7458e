"""Reads the committed records of ledger, releases and heads, up to the end or alongside a live worker.

The audit has its own readers, so that someone who does not trust the worker can run it without the worker's code.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Final, NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition

from stream_app.audit.auditor import Auditor
from stream_app.audit.files import Feed, Progress

AHEAD: Final = 20_000  # records of one topic that may wait for partners before only the other topic is read
SETTLE_SECONDS: Final = 2.0  # how long a transaction may take to appear in the other topic
FETCH_RECORDS: Final = 2_000  # records fetched at once from the ledger and the releases
FETCH_HEADS: Final = 500  # records fetched at once from the heads; leaves take up to 64 KiB each
WAIT_MS: Final = 500  # how long to wait for records that are not written yet
END_WAIT_MS: Final = 20  # for records up to an end: after a transaction marker, only the position moves
FETCH_WAIT_MS: Final = 50  # how long a broker holds an empty fetch; other requests to it wait meanwhile

Take = Callable[[TopicPartition, Sequence[bytes]], None]  # accepts the values of some records of a partition
Waiting = set[tuple[str, int]]  # (series, timestamp in ms) of entries and releases without a partner


class TopicError(LookupError):
    """A topic that is missing or whose start was deleted; the message names the topic and the remedy."""


async def read_topics(
    auditor: Auditor, client: Mapping[str, Any], ledger: str, releases: str | None, progress: Progress | None = None
) -> Waiting:
    """Feed both topics to `auditor`; return the (series, timestamp) pairs to judge for missing partners.

    `client` contains the arguments that any aiokafka client needs. A live worker keeps writing: a record committed to
    one topic shortly before the end may have its partner in the other topic shortly after the end. So if an entry or a
    release has no partner at the end, the partner gets time to arrive, and later records are not judged. Raises
    `TopicError`, and `aiokafka.errors.KafkaError` if the brokers cannot be reached or refuse.
    """
    stopped = asyncio.Event()
    stopped.set()
    return await follow_topics(auditor, client, FollowedTopics(ledger, releases, None), stopped, progress)


class FollowedTopics(NamedTuple):
    """The topics to follow; omitted topics are None."""

    ledger: str
    releases: str | None
    heads: str | None


async def follow_topics(
    auditor: Auditor, client: Mapping[str, Any], topics: FollowedTopics, stop: asyncio.Event, seen: Progress | None
) -> Waiting:
    """Feed the topics to `auditor` until `stop`, then up to their ends; return what `read_topics` returns.

    `seen` is called after each turn with the number of offsets read and the total. The auditor reports each finding at
    once (`live`). Its memory grows by a few kilobytes per series and, if heads are followed, by 40 bytes for each entry
    that no head covers yet. It never grows with the length of the ledger. A worker commits an entry and its release
    together and signs what it has committed, so heads are read to their end before the ledger. Raises the same errors
    as `read_topics`.
    """
    feeds = {topics.ledger: auditor.entries, topics.releases: auditor.releases}
    async with AsyncExitStack() as stack:
        names = [topic for topic in (topics.ledger, topics.releases) if topic is not None]
        consumer = await stack.enter_async_context(reading(client, names))
        await check_whole(consumer, topics.ledger)
        heads: tuple[Any, Take] | None = None
        if topics.heads is not None:
            assert auditor.heads is not None, "only an auditor with trusted keys can check heads"
            signed = await stack.enter_async_context(reading(client, [topics.heads]))
            await check_whole(signed, topics.ledger)
            heads = signed, _one_by_one(auditor.heads.record)
        take, turn = _by_topic(feeds), partial(read_next, auditor, ledger=topics.ledger)

        async def to_end() -> None:
            """Read up to the topics' current ends, heads first."""
            if heads is not None:
                await read_to_end(*heads, most=FETCH_HEADS)
            await read_to_end(consumer, take, seen, turn)

        await to_end()
        places = list(consumer.assignment())
        while not stop.is_set():
            if heads is not None:
                await fetch(*heads, (), 0, FETCH_HEADS)
            await fetch(consumer, take, turn(places), WAIT_MS)
            if seen is not None:
                reached = [await consumer.position(place) for place in places]
                ends = [consumer.last_stable_offset(place) or 0 for place in places]
                seen(sum(reached), sum(map(max, reached, ends)))
        await to_end()
        judged = auditor.pending()
        if judged:
            await asyncio.sleep(SETTLE_SECONDS)
            await read_to_end(consumer, take, seen, turn)
        return judged


async def read_ledger_topic(
    client: Mapping[str, Any], ledger: str, feed: Feed, progress: Progress | None = None
) -> None:
    """Feed only the ledger's topic, up to its current end; raises the same errors as `read_topics`."""
    async with reading(client, [ledger]) as consumer:
        await read_to_end(consumer, _by_topic({ledger: feed}), progress)


async def read_head_topic(client: Mapping[str, Any], topic: str, feed: Callable[[bytes, int], None]) -> None:
    """Feed each committed heads record with its partition, up to the topic's current end.

    A worker starts a head only after everything that it covers has been committed, so a ledger that is read later
    contains every entry that the head names. Raises the same errors as `read_topics`.
    """
    async with reading(client, [topic]) as consumer:
        await check_whole(consumer, topic)
        await read_to_end(consumer, _one_by_one(feed), most=FETCH_HEADS)


def _by_topic(feeds: Mapping[str | None, Feed]) -> Take:
    return lambda place, values: feeds[place.topic](values)


def _one_by_one(feed: Callable[[bytes, int], None]) -> Take:
    """Return a function that passes each record and its partition to `feed`."""

    def take(place: TopicPartition, values: Sequence[bytes]) -> None:
        for value in values:
            feed(value, place.partition)

    return take


@asynccontextmanager
async def reading(client: Mapping[str, Any], topics: list[str]) -> AsyncIterator[Any]:
    """Open a consumer of the committed records of whole topics; raises `TopicError` for a missing topic."""
    await check_there(client, topics)
    # No consumer group: an audit commits nothing and disturbs nobody. Every partition is assigned at the start.
    consumer = AIOKafkaConsumer(
        *topics,
        **client,
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=FETCH_WAIT_MS,
    )
    try:
        await consumer.start()
        yield consumer
    finally:
        await consumer.stop()


async def check_there(client: Mapping[str, Any], topics: list[str]) -> None:
    """Raise `TopicError` if a topic is missing.

    A consumer would wait for a minute and then fail without naming the topic.
    """
    consumer = AIOKafkaConsumer(**client)
    try:
        await consumer.start()
        missing = set(topics) - await consumer.topics()
    finally:
        await consumer.stop()
    if missing:
        remedy = "create it with `topics`, set `prefix`, or allow this user to read it (`topics --acls`)"
        raise TopicError(f"topic {min(missing)} was not found; {remedy}")


async def check_whole(consumer: Any, ledger: str) -> None:
    """Raise `TopicError` for a topic that no longer begins at its first record."""
    for partition, start in (await consumer.beginning_offsets(list(consumer.assignment()))).items():
        if start > 0:
            remedy = "" if partition.topic == ledger else "; use --no-releases to audit only the ledger"
            raise TopicError(
                f"topic {partition.topic} was deleted up to offset {start} of partition {partition.partition}{remedy}"
            )


async def fetch(
    consumer: Any, take: Take, places: Sequence[TopicPartition], wait_ms: int, most: int = FETCH_RECORDS
) -> None:
    """Pass on the records that arrive within `wait_ms`, from all partitions or only those in `places`."""
    fetched = await consumer.getmany(*places, timeout_ms=wait_ms, max_records=most)
    for place, records in fetched.items():
        take(place, [record.value or b"" for record in records])


async def read_to_end(
    consumer: Any,
    take: Take,
    progress: Progress | None = None,
    turn: Callable[[list[TopicPartition]], list[TopicPartition]] = lambda unread: unread,
    most: int = FETCH_RECORDS,
) -> None:
    """Read every topic up to its current end; `turn` chooses which unread partitions come next."""
    # For a read-committed consumer, this is the last stable offset: records of open transactions come after it.
    ends: dict[TopicPartition, int] = await consumer.end_offsets(list(consumer.assignment()))
    total = sum(ends.values())
    reached = {partition: await consumer.position(partition) for partition in ends}
    while unread := [partition for partition, end in ends.items() if reached[partition] < end]:
        await fetch(consumer, take, turn(unread), END_WAIT_MS, most)
        for partition in unread:  # the position also passes transaction markers, which are not records
            reached[partition] = await consumer.position(partition)
        if progress is not None:
            progress(sum(reached.values()), total)


def read_next(auditor: Auditor, unread: list[TopicPartition], ledger: str) -> list[TopicPartition]:
    """Return the partitions to read next: only those of one topic if it lags too far behind the other."""
    waiting_entries, waiting_releases = auditor.waiting
    if max(waiting_entries, waiting_releases) < AHEAD:
        return unread
    wanted = [partition for partition in unread if (partition.topic == ledger) is (waiting_releases > waiting_entries)]
    return wanted or unread
