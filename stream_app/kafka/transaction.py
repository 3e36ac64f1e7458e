"""A batch's transaction: the one order of effects.

1. Ledger entries are acknowledged, so that whatever is released has its entry in the log.
2. Releases, rejects, changelog rows and the partition row are acknowledged.
3. The transaction commits.
4. The same rows and the changelog offset go into RocksDB in one write.
5. The input is acknowledged, no further than where it must be read again from.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from faust.types import TP

from stream_app.kafka.batch import Batch
from stream_app.kafka.producer import PartitionProducer
from stream_app.kafka.row import PartitionRow
from stream_app.kafka.shell import Shell
from stream_app.kafka.table import PARTITION_KEY


class Transactions:
    """Commits the batches of one partition, one after the other."""

    def __init__(self, shell: Shell, partition: int) -> None:
        """Begin with no shared row known to be in the changelog."""
        self._shell = shell
        self._partition = partition
        self._shared: set[bytes] = set()

    def forget(self) -> None:
        """Know of no shared row again, as after a restoration."""
        self._shared.clear()

    async def commit(self, producer: PartitionProducer, row: PartitionRow, batch: Batch) -> PartitionRow:
        """Let a batch take effect and return the partition row after it.

        Raises:
            KafkaError: if it failed; whether it was committed then stands in the log alone.
        """
        names = self._shell.names
        outputs = batch.outputs
        await producer.begin()
        try:
            ledger_end = await producer.send(names.ledger, outputs.ledger) if outputs.ledger.records else None
            row = self._moved(row, batch, ledger_end)
            encoded = row.encode()
            self._write_rows(batch, encoded)
            sends = [
                producer.send(topic, pages)
                for topic, pages in (
                    (names.releases, outputs.releases),
                    (names.rejects, outputs.rejects),
                    (names.changelog, outputs.changelog),
                )
                if pages.records
            ]
            ends = await asyncio.gather(*sends, return_exceptions=True)
            _raise_first(ends)
        except Exception:
            await producer.abort()
            raise
        await producer.commit()
        changelog_end = ends[-1]
        offset = changelog_end - 1 if isinstance(changelog_end, int) else None
        self._shell.store.write(self._partition, [*batch.stored, (PARTITION_KEY, encoded)], offset)
        self._shell.consumer.keep(TP(names.events, self._partition), row.recall_offset)
        for message in batch.messages:
            message.ack()
        return row

    def _moved(self, row: PartitionRow, batch: Batch, ledger_end: int | None) -> PartitionRow:
        context = self._shell.context
        return replace(
            row,
            next_offset=batch.end,
            recall_offset=batch.recall_offset,
            # Entries that still bind must be found again after a crash: the covered offset waits for them.
            ledger_offset=row.ledger_offset if ledger_end is None or batch.bound else ledger_end,
            key=context.keys.fingerprint,
            configuration=context.fingerprint,
        )

    def _write_rows(self, batch: Batch, partition_row: bytes) -> None:
        """Put the changed rows into the changelog pages; a default policy's row, which series share, once."""
        batch.stored = [(key, value) for key, value in batch.stored if key[:1] != b"d" or not self._known(key)]
        append, now_ms = batch.outputs.changelog.append, int(time.time() * 1000)
        for key, value in batch.stored:
            append(key, value, now_ms, [])
        append(PARTITION_KEY, partition_row, now_ms, [])

    def _known(self, key: bytes) -> bool:
        if key in self._shared:
            return True
        self._shared.add(key)
        return False


def _raise_first(answers: Sequence[object]) -> None:
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
