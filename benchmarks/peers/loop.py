"""Two loops on aiokafka, exactly once: `bare` answers with constant bytes, `plain` does a peer's work.

``python -m benchmarks.peers.loop bare|plain CONFIG`` serves the events topic of a configuration until it is stopped.
Each partition has a transactional producer, as in the worker. A transaction holds all answers since the previous one,
the offsets of its input, and one row for all events of a series. The state is a dict, which a restart would lose.
"""

import asyncio
import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from orjson import dumps

from benchmarks.peers import work
from stream_app.deciding.decider import INPUT_HEADER
from stream_app.kafka.client.security import client_arguments
from stream_app.kafka.client.topics import TopicNames
from stream_app.setup.settings import Settings

MOST_RECORDS = 4_000
"""Maximum events per transaction, as in the worker."""

Output = tuple[bytes, bytes, list[tuple[str, bytes]]]
"""Key, value and headers."""
Outputs = tuple[list[Output], list[Output], list[Output]]
"""Ledger records, releases and rows of a transaction."""
Answer = Callable[[Iterable[Any]], Outputs]


def bare(records: Iterable[Any]) -> Outputs:
    """Answer without doing any work; each record is as long as the worker's and has its header."""
    release, entry, row = (dumps(part) if isinstance(part, dict) else part for part in work.answer(_SAMPLE, None))
    heads = [(record.key, [(INPUT_HEADER, b"%d" % record.offset)]) for record in records]
    return (
        [(key, entry, header) for key, header in heads],
        [(key, release, header) for key, header in heads],
        [(key, row, []) for key in {record.key for record in records}],
    )


def plain() -> Answer:
    """Return a function that does the work, answers, and keeps a partition's rows in a dict."""
    rows: dict[bytes, work.Row] = {}

    def answer(records: Iterable[Any]) -> Outputs:
        entries: list[Output] = []
        releases: list[Output] = []
        changed: dict[bytes, work.Row] = {}
        for record in records:
            key = record.key
            release, entry, row = work.answer(record.value, rows.get(key))
            rows[key] = changed[key] = row
            entries.append((key, entry, []))
            releases.append((key, release, []))
        return entries, releases, [(key, dumps(row), []) for key, row in changed.items()]

    return answer


async def serve(settings: Settings, work_of: Callable[[], Answer]) -> None:
    """Answer events until cancelled."""
    names = TopicNames.of(settings.prefix, settings.application)
    consumer = AIOKafkaConsumer(
        **client_arguments(settings),
        group_id=settings.application,
        enable_auto_commit=False,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=settings.fetch_bytes,
    )
    await consumer.start()
    places = [TopicPartition(names.events, number) for number in range(settings.partitions)]
    consumer.assign(places)
    gc.freeze()
    await asyncio.gather(*(_partition(settings, consumer, place, work_of()) for place in places))


async def _partition(settings: Settings, consumer: AIOKafkaConsumer, place: TopicPartition, answer: Answer) -> None:
    names = TopicNames.of(settings.prefix, settings.application)
    producer = AIOKafkaProducer(
        **client_arguments(settings),
        transactional_id=f"{settings.application}-{place.partition}",
        max_batch_size=settings.output_batch_bytes,
        max_request_size=2 * settings.output_batch_bytes,
        acks="all",
    )
    await producer.start()
    while True:
        fetched = await consumer.getmany(place, timeout_ms=1_000, max_records=MOST_RECORDS)
        records = fetched.get(place)
        if not records:
            continue
        written = zip((names.ledger, names.releases, names.changelog), answer(records), strict=True)
        batches = [(topic, batch) for topic, outputs in written for batch in _batches(producer, outputs)]
        await producer.begin_transaction()
        sent = [await producer.send_batch(batch, topic, partition=place.partition) for topic, batch in batches]
        await asyncio.gather(*sent)
        await producer.send_offsets_to_transaction({place: records[-1].offset + 1}, settings.application)
        await producer.commit_transaction()


def _batches(producer: AIOKafkaProducer, outputs: list[Output]) -> Iterator[Any]:
    batch = producer.create_batch()
    for key, value, headers in outputs:
        if batch.append(timestamp=None, key=key, value=value, headers=headers) is None:
            yield batch
            batch = producer.create_batch()
            batch.append(timestamp=None, key=key, value=value, headers=headers)
    yield batch


_SAMPLE = b'{"type":"observation","series":"series-0000000","timestamp":1338534000000,"value":1.234}'

if __name__ == "__main__":
    which, config = sys.argv[1:]
    asyncio.run(serve(Settings.load(Path(config)), (lambda: bare) if which == "bare" else plain))
