"""A tenure: one owner's time with a partition, from fencing all earlier owners to losing its producer."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any, Self

from stream_app.deciding.collection import Collection
from stream_app.formats.records import Records
from stream_app.kafka.brokers import TopicFacts, Writer
from stream_app.kafka.evidence.row import PartitionRow
from stream_app.kafka.owner import batch as batches
from stream_app.kafka.owner.batch import Batch
from stream_app.kafka.owner.cache import RowReader
from stream_app.kafka.owner.changelogcopy import tell_discarded
from stream_app.kafka.owner.figures import PartitionMetrics
from stream_app.kafka.owner.heads import Heads
from stream_app.kafka.owner.inbox import BatchInput, Inbox
from stream_app.kafka.owner.recall import recall
from stream_app.kafka.owner.restore import RestoredPartition, Restorer
from stream_app.kafka.owner.transaction import Transactions
from stream_app.kafka.parts import WorkerParts
from stream_app.monitoring.metrics import WorkerMetric

_DROP_SECONDS = 10.0

Facts = Callable[[], Awaitable[Mapping[str, TopicFacts]]]  # asks the brokers for the current topics


@dataclass(slots=True)
class LastingParts:
    """The parts of a partition that outlive a tenure."""

    inbox: Inbox
    figures: PartitionMetrics
    wake: Callable[[], None]  # called after a commit or when signing is due
    row: PartitionRow | None = None  # the last known partition row; None before it is read
    failures: int = 0  # number of failures since the last commit


class PendingCommit:
    """The commit that runs while the next batch is processed; at most one runs at a time."""

    def __init__(self, ended: Callable[[], None]) -> None:
        self._ended = ended
        self._task: asyncio.Task[None] | None = None

    @property
    def empty(self) -> bool:
        """Whether no commit is running and the result of the last one is known."""
        return self._task is None

    @property
    def over(self) -> bool:
        """Whether a commit has ended but its result has not been read."""
        return self._task is not None and self._task.done()

    def begin(self, commit: Coroutine[Any, Any, None]) -> None:
        """Run a commit; the previous one must have finished."""
        self._task = asyncio.create_task(commit)
        self._task.add_done_callback(lambda _: self._ended())

    async def finished(self) -> None:
        """Wait for the running commit, if there is one; raises the commit's error."""
        task, self._task = self._task, None
        if task is not None:
            await task

    async def drop(self) -> None:
        """Wait for the running commit and ignore its result; cancelling it would leave its transaction open."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=_DROP_SECONDS)
        await self.cancel()

    async def cancel(self) -> None:
        """Cancel the running commit; the next owner of the partition ends its transaction."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class Tenure:
    """Processes and commits the batches of one partition."""

    def __init__(
        self,
        parts: WorkerParts,
        number: int,
        kept: LastingParts,
        writer: Writer,
        restored: RestoredPartition,
        transactions: Transactions,
        heads: Heads,
    ) -> None:
        self.number, self.row = number, restored.row
        self.pending = PendingCommit(kept.wake)
        self._parts, self._kept, self._writer = parts, kept, writer
        self._tail, self._transactions, self._heads = restored.tail, transactions, heads
        cached = max(2, parts.settings.cached_series // parts.settings.partitions)
        self.rows = RowReader(parts.rows, number, cached, parts.fewest)
        self._collection = Collection(parts.secret())

    @classmethod
    async def begun(
        cls,
        parts: WorkerParts,
        number: int,
        facts: Facts,
        kept: LastingParts,
        opened: AsyncExitStack,
        recalling: Callable[[], None],
    ) -> Self:
        """Fence every earlier owner, restore the state, start the input, and count open steps again.

        ``recalling`` is called before input arrives. If this method raises, ``opened`` releases the producer.
        """
        writer = await parts.brokers.fence(number)
        opened.push_async_callback(writer.stop)
        heads = Heads(parts, number, kept.wake)
        opened.callback(heads.stop)
        restorer = Restorer(parts, parts.rows, await facts(), number, parts.read_back)
        tell_discarded(parts.metrics, number, parts.rows.reopen(number))
        transactions = await Transactions.begun(parts, number, writer)
        restored = await restorer.restore(await parts.brokers.committed(number), transactions.judge)
        row = kept.row = await transactions.claimed(restored.row)
        kept.inbox.restart(row.next_offset)
        await heads.restore(writer)
        await kept.figures.survey(lambda prefix: parts.rows.scan(number, prefix))
        tenure = cls(parts, number, kept, writer, replace(restored, row=row), transactions, heads)
        if restored.fresh:
            # The row is written before the first entry, so a ledger without a row always indicates a loss.
            nothing, pages = BatchInput(row.next_offset, row.next_offset, Records.joined([]), []), writer.pages
            batch = Batch.of(nothing, pages(), pages(), pages(), pages())
            batch.recall_offset = row.recall_offset  # steps are still open if only the key is new
            await tenure._commit(batch)
        recalling()
        await parts.feed.start(number, kept.inbox.next_offset)
        tenure._collection = await recall(parts, number, tenure.row, tenure.rows.find, tenure.rows.sealed)
        kept.figures.count(WorkerMetric.RECALLED_RECORDS, row.next_offset - row.recall_offset)
        kept.figures.restored()
        return tenure

    async def decide(self, given: BatchInput) -> Batch:
        """Process input while the previous batch commits; unprocessed input returns to the inbox."""
        started = time.perf_counter()
        new, context, linked = self._writer.pages, self._parts.context, self._parts.signing_key is not None
        batch = await batches.decide(given, new, context, self.rows, self._tail, self._collection, linked=linked)
        if batch.rest is not None:
            self._kept.inbox.give_back(batch.rest)
        self._kept.figures.decided(time.perf_counter() - started)
        return batch

    def commit(self, batch: Batch) -> None:
        """Start the commit of a batch; the previous one must have finished."""
        self.rows.hold(batch.changed, batch.members, batch.sealed)
        self.pending.begin(self._commit(batch))

    async def write_due(self) -> None:
        """Write a signed checkpoint if one is due."""
        await self._heads.write_due(self._writer)

    async def finish(self) -> None:
        """Wait for the last commit, and sign the changes; raises the commit's error."""
        await self.pending.finished()
        await self._heads.write(self._writer)

    async def drop(self) -> None:
        """After a failure, wait for the running commit and ignore its result."""
        await self.pending.drop()
        self._heads.stop()

    async def leave(self) -> None:
        """Release the producer; the next owner of the partition ends its transaction."""
        await self.pending.cancel()
        self._heads.stop()
        await self._writer.stop()

    async def _commit(self, batch: Batch) -> None:
        started = time.perf_counter()
        kept = self._kept
        self.row = kept.row = await self._transactions.commit(self.row, batch)
        self.rows.let_go()
        if batch.ledger.records:  # if the ledger already holds a batch's entries, heads.restore read them
            self._heads.note(batch.links, batch.claims, self.row.ledger_offset)
        seconds = time.perf_counter() - started
        kept.figures.committed(batch, seconds, waiting=len(kept.inbox), cached_series=len(self.rows))
        await self._heads.write_due(self._writer)
        kept.failures = 0
