"""The yardstick: a bare aiokafka client that writes a worker's records without deciding anything.

It uses the same transactions. ``python -m benchmarks.rig.bare CONFIG LAYOUT RELEASES LEDGER CHANGELOG`` consumes the
events topic of a configuration until everything in the layout is written.
"""

import asyncio
import gc
import signal
import sys
from pathlib import Path
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from benchmarks.rig.layout import Layout
from stream_app.deciding.decider import INPUT_HEADER
from stream_app.kafka.client.security import client_arguments
from stream_app.kafka.client.topics import TopicNames
from stream_app.setup.settings import Settings

_SLICE = 1_000
"""Records written before other partitions get a turn."""


class Outputs(NamedTuple):
    """The topics to write to."""

    releases: str
    ledger: str
    changelog: str


class BarePartition:
    """One partition, which writes the outputs of a batch while the previous batch commits."""

    def __init__(self, settings: Settings, number: int, layout: Layout, outputs: Outputs) -> None:
        """Store the layout to write."""
        self._number = number
        self._place = TopicPartition(TopicNames.of(settings.prefix, settings.application).events, number)
        self._producer = AIOKafkaProducer(
            **client_arguments(settings),
            transactional_id=f"{settings.application}-other-{number}",
            max_batch_size=settings.output_batch_bytes,
            max_request_size=2 * settings.output_batch_bytes,
            acks="all",
        )
        self._transactions = layout.transactions[number]
        self._values = (bytes(layout.release_bytes), bytes(layout.ledger_bytes), bytes(layout.changelog_bytes))
        self._outputs = outputs

    async def run(self, consumer: AIOKafkaConsumer) -> None:
        """Write every transaction of the layout."""
        await self._producer.start()
        committing: asyncio.Task[None] | None = None
        position = 0
        records: list[Any] = []
        for transaction in self._transactions:
            releases: list[Any] = []
            ledger: list[Any] = []
            changelog: list[Any] = []
            # The last row of a transaction belongs to the partition.
            surplus, rows = transaction.ledger - transaction.releases, transaction.changelog - 1
            release, entry, row = self._values
            while position < transaction.end:
                most = min(_SLICE, transaction.end - position)
                for records in (await consumer.getmany(self._place, timeout_ms=1_000, max_records=most)).values():
                    headers = [[(INPUT_HEADER, b"%d" % record.offset)] for record in records]
                    self._append(releases, records, headers, release)
                    self._append(ledger, records, headers, entry)
                    # A worker writes two entries for a series' first event, and one row for all its events in a
                    # transaction; here both belong to the first records.
                    self._append(ledger, records[:surplus], headers, entry)
                    self._append_rows(changelog, records[:rows], row)
                    surplus, rows = max(0, surplus - len(records)), max(0, rows - len(records))
                    position = records[-1].offset + 1
            self._append_rows(changelog, records[-1:], row)
            if committing is not None:
                await committing
            committing = asyncio.create_task(self._commit(releases, ledger, changelog))
        if committing is not None:
            await committing
        await self._producer.stop()

    def _append(self, batches: list[Any], records: list[Any], headers: list[Any], value: bytes) -> None:
        append = batches[-1].append if batches else _full
        for record, header in zip(records, headers, strict=False):
            if append(timestamp=record.timestamp, key=record.key, value=value, headers=header) is None:
                append = self._turn(batches)
                append(timestamp=record.timestamp, key=record.key, value=value, headers=header)

    def _append_rows(self, batches: list[Any], records: list[Any], value: bytes) -> None:
        append = batches[-1].append if batches else _full
        for record in records:
            key = b"s%b" % record.key
            if append(timestamp=record.timestamp, key=key, value=value, headers=[]) is None:
                append = self._turn(batches)
                append(timestamp=record.timestamp, key=key, value=value, headers=[])

    def _turn(self, batches: list[Any]) -> Any:
        batches.append(self._producer.create_batch())
        return batches[-1].append

    async def _commit(self, releases: list[Any], ledger: list[Any], changelog: list[Any]) -> None:
        await self._producer.begin_transaction()
        await self._send(self._outputs.ledger, ledger)
        await asyncio.gather(
            self._send(self._outputs.releases, releases), self._send(self._outputs.changelog, changelog)
        )
        await self._producer.commit_transaction()

    async def _send(self, topic: str, batches: list[Any]) -> None:
        answers = [await self._producer.send_batch(batch, topic, partition=self._number) for batch in batches]
        await asyncio.gather(*answers)


def _full(**_: object) -> None:
    """Answer like a full batch."""


async def write_all(settings: Settings, layout: Layout, outputs: Outputs) -> None:
    """Consume the events topic and write everything in the layout."""
    names = TopicNames.of(settings.prefix, settings.application)
    numbers = range(len(layout.transactions))
    consumer = AIOKafkaConsumer(
        **client_arguments(settings),
        enable_auto_commit=False,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=settings.fetch_bytes,
    )
    await consumer.start()
    try:
        consumer.assign([TopicPartition(names.events, number) for number in numbers])
        gc.freeze()
        await asyncio.gather(*(BarePartition(settings, number, layout, outputs).run(consumer) for number in numbers))
    finally:
        await consumer.stop()


if __name__ == "__main__":
    config, layout_file, *topics = sys.argv[1:]
    asyncio.run(write_all(Settings.load(Path(config)), Layout.load(Path(layout_file).read_bytes()), Outputs(*topics)))
    signal.pause()  # its processor time is read until a signal ends it
