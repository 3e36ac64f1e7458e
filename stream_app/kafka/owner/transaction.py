"""A batch's transaction, which fixes the order of its effects.

1. Ledger entries are acknowledged, so that whatever is released has its entry in the log. Meanwhile, the brokers
   confirm that the events topic is still the one to which the offsets of the state belong.
2. Releases, rejects, changelog rows and the partition row are acknowledged.
3. The transaction commits.
4. The same rows and the changelog offset are written to RocksDB in one write.
5. The input is acknowledged, at most up to the offset from which it must be read again.

If a batch's topic was recreated, nothing of the batch is released: the brokers are asked after the whole batch was
fetched, and only entries are sent before the answer arrives. These entries are then aborted. As in every failed batch,
they count as spent for anyone who reads uncommitted records. The amount counted may exceed what was released, but it is
never less.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import Self

from stream_app.kafka.brokers import Extent, LocalStateError, Writer
from stream_app.kafka.evidence import claim as claims
from stream_app.kafka.evidence.ends import Bounds, Shortage, ledger_shortage, releases_shortage
from stream_app.kafka.evidence.foreign import Ownership
from stream_app.kafka.evidence.row import PARTITION_KEY, PartitionRow
from stream_app.kafka.owner.batch import Batch
from stream_app.kafka.parts import WorkerParts
from stream_app.kafka.stops import PartitionStoppedError


class Transactions:
    """Commits the batches of one partition, one after another."""

    def __init__(self, parts: WorkerParts, partition: int, writer: Writer, claim: claims.FoundClaim) -> None:
        self._parts = parts
        self._partition = partition
        self._shared: set[bytes] = set()
        self._writer, self._claim = writer, claim
        self._ownership = Ownership(parts.brokers, partition)

    @classmethod
    async def begun(cls, parts: WorkerParts, partition: int, writer: Writer) -> Self:
        """Check who owns the ledger partition; raises `PartitionStoppedError` if another application owns it."""
        return cls(parts, partition, writer, await claims.find(parts, partition))

    async def claimed(self, row: PartitionRow) -> PartitionRow:
        """Return the row with the claim's offset, after writing the claim if it is missing; raises as `judge` does."""
        offset, start = self._claim
        if offset == claims.NO_CLAIM:
            offset = await claims.write(self._parts, self._partition, self._writer, start)
        # Judge again, because the tail was read and the claim awaited since `judge` was first called.
        await self.judge(row)
        return replace(row, claim=offset)

    async def judge(self, row: PartitionRow) -> None:
        """Raise `PartitionStoppedError` if the ledger or releases contain records from other writers after ``row``."""
        names = self._parts.names
        starts = {names.ledger: row.ledger_offset, names.releases: row.releases_offset}
        await self._ownership.begin(starts, {row.producer, self._writer.id})

    async def commit(self, row: PartitionRow, batch: Batch) -> PartitionRow:
        """Commit a batch and return the partition row after it.

        Raises `KafkaError` if the commit failed; only the log then shows whether it took effect. Raises
        `PartitionStoppedError` if a log lost records or was recreated since the previous batch.
        """
        names, writer = self._parts.names, self._writer
        outputs = ((names.releases, batch.releases), (names.rejects, batch.rejects), (names.changelog, batch.changelog))
        written_to = [topic for topic, pages in ((names.ledger, batch.ledger), *outputs) if pages.records]
        await writer.begin(names.changelog, *written_to)
        # Asked after the whole batch was fetched, and answered before anything except entries is sent.
        same_topic = asyncio.create_task(self._parts.brokers.confirm(self._partition, row.topic))
        try:
            ledger_end: int | None = None
            if batch.ledger.records:
                written = await writer.send(names.ledger, batch.ledger)
                self._check(written, partial(ledger_shortage, row))
                await self._ownership.check(names.ledger, written, batch.ledger.records, writer.id)
                ledger_end = written.end
            await same_topic
            row = replace(self._moved(row, batch, ledger_end), producer=writer.id)
            encoded = row.encode()
            self._write_rows(batch, encoded)
            sends = [writer.send(topic, pages) for topic, pages in outputs if pages.records]
            extents = _unless_raised(await asyncio.gather(*sends, return_exceptions=True))
            changelog = extents[-1]
            self._check_changelog(changelog)
            if batch.releases.records:
                await self._ownership.check(names.releases, extents[0], batch.releases.records, writer.id)
                self._check(extents[0], partial(releases_shortage, row))
                # The row in the same transaction as the releases cannot contain their offsets yet.
                row = row if extents[0].end is None else replace(row, releases_offset=extents[0].end)
        except Exception:
            await writer.abort()
            raise
        finally:
            same_topic.cancel()  # it would repeat while the topic is missing
            await asyncio.gather(same_topic, return_exceptions=True)
        await writer.commit()
        offset = None if changelog.end is None else changelog.end - 1
        rows = [*batch.stored, *batch.sealed.items(), (PARTITION_KEY, encoded)]
        self._parts.rows.write(self._partition, rows, offset)
        self._parts.feed.keep(self._partition, row.recall_offset)
        for message in batch.messages:
            message.ack()
        return row

    def _check(self, written: Extent, shortage: Callable[[Bounds], Shortage | None]) -> None:
        """Stop if a log lost its tail and the new records therefore begin before offsets that the row knows."""
        lacking = None if written.first is None else shortage(Bounds(0, written.first))
        if lacking is not None:
            raise lacking.stopped(self._partition)

    def _check_changelog(self, written: Extent) -> None:
        last = self._parts.rows.offset(self._partition)
        if written.first is not None and last is not None and written.first <= last:
            # The local copy is complete but the changelog is not. An owner elsewhere would consider the changelog
            # complete and spend budgets again. Without the copy, this worker cannot continue past the gap either, once
            # the changelog has grown.
            with suppress(LocalStateError):
                self._parts.rows.discard(self._partition)
            asked = f"a changelog up to offset {last}"
            found = f"that it ended at {written.first}: rows are lost, or the topic was recreated"
            raise PartitionStoppedError(self._partition, "changelog-short", asked, found)

    def _moved(self, row: PartitionRow, batch: Batch, ledger_end: int | None) -> PartitionRow:
        context = self._parts.context
        return replace(
            row,
            next_offset=batch.end,
            recall_offset=batch.recall_offset,
            # Binding entries must be found again after a crash, so the covered offset does not pass them yet.
            ledger_offset=row.ledger_offset if ledger_end is None or batch.bound else ledger_end,
            key=context.keys.fingerprint,
            configuration=context.fingerprint,
            last_reject=row.last_reject if batch.last_reject < 0 else batch.last_reject,
            last_offset=batch.last_offset if batch.records else row.last_offset,
            last_append_ms=batch.last_append_ms if batch.records else row.last_append_ms,
        )

    def _write_rows(self, batch: Batch, partition_row: bytes) -> None:
        """Put the changed rows into the changelog pages; write a default policy's shared row only once."""
        batch.stored = [(key, value) for key, value in batch.stored if key[:1] != b"d" or not self._known(key)]
        written = [*batch.stored, *batch.sealed.items(), (PARTITION_KEY, partition_row)]
        keys, values = zip(*written, strict=True)
        batch.changelog.extend(keys, values, repeat(self._parts.now_ms(), len(keys)), repeat([], len(keys)))

    def _known(self, key: bytes) -> bool:
        if key in self._shared:
            return True
        self._shared.add(key)
        return False


def _unless_raised(answers: "Sequence[Extent | BaseException]") -> list[Extent]:
    found: list[Extent] = []
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
        found.append(answer)
    return found
