"""A tenure: one owner's time with a partition, from the fencing of all earlier owners to the loss of its producer."""

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
from stream_app.kafka.owner.restore import Restored, Restorer
from stream_app.kafka.owner.transaction import Transactions
from stream_app.kafka.parts import WorkerParts
from stream_app.monitoring.metrics import WorkerMetric

_DROP_SECONDS = 10.0

Facts = Callable[[], Awaitable[Mapping[str, TopicFacts]]]  # asks the brokers what the topics are now


@dataclass(slots=True)
class Kept:
    """What of a partition outlives a tenure."""

    inbox: Inbox
    figures: PartitionMetrics
    wake: Callable[[], None]  # called when a commit ended, or a head is due
    row: PartitionRow | None = None  # the partition row that was known last; None before the first was read
    failures: int = 0  # how often trouble came since the last commit


class PendingCommit:
    """The commit under way: at most one, beside which the next batch is decided."""

    def __init__(self, ended: Callable[[], None]) -> None:
        self._ended = ended
        self._task: asyncio.Task[None] | None = None

    @property
    def empty(self) -> bool:
        """Whether none runs, and the end of the last one is known."""
        return self._task is None

    @property
    def over(self) -> bool:
        """Whether one ended and nobody knows how."""
        return self._task is not None and self._task.done()

    def begin(self, commit: Coroutine[Any, Any, None]) -> None:
        """Run a commit; the one before must have finished."""
        self._task = asyncio.create_task(commit)
        self._task.add_done_callback(lambda _: self._ended())

    async def finished(self) -> None:
        """Wait for the end of the running one, if there is one; raises what went wrong."""
        task, self._task = self._task, None
        if task is not None:
            await task

    async def drop(self) -> None:
        """Let the running one end, whatever comes of it; cut short, it would leave its transaction open."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=_DROP_SECONDS)
        await self.cancel()

    async def cancel(self) -> None:
        """Cut the running one short; whoever takes the partition over ends its transaction."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class Tenure:
    """Decides and commits the batches of one partition."""

    def __init__(
        self,
        parts: WorkerParts,
        number: int,
        kept: Kept,
        writer: Writer,
        restored: Restored,
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
        kept: Kept,
        opened: AsyncExitStack,
        recalling: Callable[[], None],
    ) -> Self:
        """Fence every earlier owner, read the state back, let input come, and count again what open steps hold.

        ``recalling`` is called before input comes. Raises what went wrong; ``opened`` lets go of the producer then.
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
            # With the row in place before the first entry, a ledger without a row always means a loss.
            nothing, pages = BatchInput(row.next_offset, row.next_offset, Records.joined([]), []), writer.pages
            batch = Batch.of(nothing, pages(), pages(), pages(), pages())
            batch.recall_offset = row.recall_offset  # steps are open still where a row is written under another key
            await tenure._commit(batch)
        recalling()
        await parts.feed.start(number, kept.inbox.next_offset)
        tenure._collection = await recall(parts, number, tenure.row, tenure.rows.find, tenure.rows.sealed)
        kept.figures.count(WorkerMetric.RECALLED_RECORDS, row.next_offset - row.recall_offset)
        kept.figures.restored()
        return tenure

    async def decide(self, given: BatchInput) -> Batch:
        """Decide input while the batch before commits; what is left of it goes back to the inbox."""
        started = time.perf_counter()
        new, context, linked = self._writer.pages, self._parts.context, self._parts.signing_key is not None
        batch = await batches.decide(given, new, context, self.rows, self._tail, self._collection, linked=linked)
        if batch.rest is not None:
            self._kept.inbox.give_back(batch.rest)
        self._kept.figures.decided(time.perf_counter() - started)
        return batch

    def commit(self, batch: Batch) -> None:
        """Begin the commit of a batch; the one before must have finished."""
        self.rows.hold(batch.changed, batch.members, batch.sealed)
        self.pending.begin(self._commit(batch))

    async def write_due(self) -> None:
        """Write a signed head if it is time."""
        await self._heads.write_due(self._writer)

    async def finish(self) -> None:
        """Wait for the last commit and sign what has changed; raises what went wrong."""
        await self.pending.finished()
        await self._heads.write(self._writer)

    async def drop(self) -> None:
        """After trouble: let the running commit end, whatever comes of it."""
        await self.pending.drop()
        self._heads.stop()

    async def leave(self) -> None:
        """Let go of the producer; whoever takes the partition over ends its transaction."""
        await self.pending.cancel()
        self._heads.stop()
        await self._writer.stop()

    async def _commit(self, batch: Batch) -> None:
        started = time.perf_counter()
        kept = self._kept
        self.row = kept.row = await self._transactions.commit(self.row, batch)
        self.rows.let_go()
        if not batch.silent or batch.ledger.records:  # else heads.restore took its entries from the ledger
            self._heads.note(batch.links, batch.claims, self.row.ledger_offset)
        seconds = time.perf_counter() - started
        kept.figures.committed(batch, seconds, waiting=len(kept.inbox), cached_series=len(self.rows))
        await self._heads.write_due(self._writer)
        kept.failures = 0
