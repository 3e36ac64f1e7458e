"""One input partition at work: decide a batch while the last one commits."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from stream_app.kafka.evidence.row import PartitionRow
from stream_app.kafka.evidence.stops import can_reopen, stopping
from stream_app.kafka.owner import batch as batches
from stream_app.kafka.owner.batch import Batch, Outputs
from stream_app.kafka.owner.brokers import Message, Writer
from stream_app.kafka.owner.changelogcopy import tell_discarded
from stream_app.kafka.owner.figures import Figures
from stream_app.kafka.owner.gate import Gate
from stream_app.kafka.owner.heads import Heads
from stream_app.kafka.owner.inbox import Fetched, Inbox, Portion
from stream_app.kafka.owner.parts import WorkerParts
from stream_app.kafka.owner.pendingcommit import Flight
from stream_app.kafka.owner.phase import Phase
from stream_app.kafka.owner.recent import Recent
from stream_app.kafka.owner.restore import Restorer, input_lost
from stream_app.kafka.owner.rowreader import RowReader
from stream_app.kafka.owner.transaction import Transactions
from stream_app.monitoring.logs import loggable
from stream_app.monitoring.metrics import WorkerMetric

if TYPE_CHECKING:
    from stream_app.deciding.collection import Collection
    from stream_app.kafka.evidence.stops import PartitionStoppedError
    from stream_app.kafka.owner.brokers import TopicFacts
    from stream_app.kafka.owner.tail import Tail

logger = logging.getLogger(__name__)

_ATTEMPTS = 6
_BACKOFF_SECONDS = 0.5
_OWNER_SECONDS = 1.0


class Partition:
    """The owner of one input partition, from its assignment until it is revoked."""

    def __init__(
        self, number: int, parts: WorkerParts, facts: "Callable[[], Awaitable[Mapping[str, TopicFacts]]]"
    ) -> None:
        """Do nothing yet, but `start`; ``facts`` asks the brokers what the topics are now."""
        self.number = number
        self.stopped: PartitionStoppedError | None = None
        self._parts = parts
        self._facts = facts
        settings = parts.settings
        self._inbox = Inbox(settings.batch_records, settings.batch_bytes)
        self._rows = RowReader(parts.rows, number, max(2, settings.cached_series // settings.partitions))
        self.recent = Recent(settings.cached_series // settings.partitions)
        self._figures = Figures(parts, number)
        self._transactions = Transactions(parts, number)
        self._producer: Writer | None = None
        self._row: PartitionRow | None = None
        self._tail: Tail | None = None
        self._collection: Collection | None = None
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._flight = Flight(self._wake.set)
        self._heads = Heads(parts, number, self._wake.set)
        self._ending = asyncio.Event()
        self._gate = Gate()
        self._phase = Phase.AWAY
        self._refetch: asyncio.Task[None] | None = None
        self._lost: Exception | None = None
        self._failures = 0

    def start(self) -> None:
        """Begin: take the partition over, read its state back, and decide what is put."""
        self._task = asyncio.create_task(self._live(), name=f"partition {self.number}")

    @property
    def runs(self) -> bool:
        """Whether its state is read back and it takes input."""
        return self.stopped is None and self._phase in {Phase.RECALLS, Phase.WORKS} and not self._ending.is_set()

    @property
    def works(self) -> bool:
        """Whether it decides what comes, or would but for a rebalance."""
        return self.runs and self._phase is Phase.WORKS

    async def hold(self, seconds: float) -> None:
        """Begin no batch until `go_on`; return when nothing is under way any more, or after ``seconds``."""
        self._gate.close()
        self._wake.set()
        if self.works and self._task is not None:
            await self._gate.reached(self._task, seconds)

    def go_on(self) -> None:
        """Decide again, from where it was held: nobody else had the partition meanwhile."""
        self._gate.open()

    @property
    def next_offset(self) -> int:
        """The offset to fetch next."""
        return self._inbox.next_offset

    def put(self, fetched: Fetched, message: Message) -> None:
        """Take a fetch that came with a message; input that is not in order is asked for again."""
        if not self.runs:
            return
        if not self._inbox.put(message, fetched):
            self._refetch = asyncio.create_task(self._ask_again())
            return
        self._wake.set()
        if self._inbox.full:
            self._parts.feed.pause(self.number)

    def fail(self, error: Exception) -> None:
        """Decide what was put before, then stop for ``error``: nothing more comes."""
        self._lost = error
        self._wake.set()

    async def _ask_again(self) -> None:
        """Fetch from where the input was whole; when the log does not begin there any more, that is lost."""
        first = await self._parts.feed.earliest(self.number)
        if first > self.next_offset:
            self.fail(input_lost(self.number, self.next_offset, first))
        else:
            await self._parts.feed.seek(self.number, self.next_offset)

    async def close(self, seconds: float) -> None:
        """End: let the running transaction finish within ``seconds``, then let the id go."""
        self._ending.set()
        self._gate.open()
        self._wake.set()
        if self._task is not None:
            # What only reads back holds nothing that would have to end well.
            reads = self._phase in {Phase.READS, Phase.RECALLS}
            _, late = await asyncio.wait({self._task}, timeout=0 if reads else seconds)
            if late:
                self._task.cancel()
                await asyncio.wait({self._task})
                await self._flight.cancel()
        self._heads.stop()
        self._figures.withdraw()
        if self._producer is not None:
            await self._producer.stop()

    async def _live(self) -> None:
        trouble: Exception | None = None
        while not self._ending.is_set() and self.stopped is None:
            try:
                if trouble is not None:
                    await self._withdraw(trouble)
                if self._ending.is_set():
                    return
                await self._take_over()
                await self._work()
                await self._heads.write(self._open_producer())
            except Exception as error:  # noqa: BLE001 (one partition's trouble must not end the others')
                trouble, self._phase = error, Phase.AWAY
                if self._ending.is_set():
                    logger.info("partition %d: ended while it was revoked: %s", self.number, loggable(error))
                elif not can_reopen(error) or self._failures >= _ATTEMPTS:
                    await self._stop(error)

    async def _work(self) -> None:
        """Decide and commit until it is closed; raises what went wrong."""
        self._phase = Phase.WORKS
        while not self._ending.is_set():
            portion = await self._next()
            if portion is None:
                break
            batch = await self._decide(portion)
            await self._flight.land()
            if self._ending.is_set():
                return
            self._rows.fly(batch.changed)
            self._flight.begin(self._commit(batch))
            # PRIVACY: while it waits for more, a worker holds no record that is counted already, nor a seed.
            del portion, batch
        await self._flight.land()

    async def _next(self) -> Portion | None:
        while not self._ending.is_set():
            if self._flight.over:
                await self._flight.land()
            self._wake.clear()
            if self._gate.shut:
                if self._flight.empty:
                    await self._gate.passed()
                else:
                    await self._wake.wait()
                continue
            if self._lost is not None and not len(self._inbox):
                raise self._lost
            portion = self._inbox.take()
            if portion is not None:
                if self._inbox.hungry:
                    self._parts.feed.resume(self.number)
                return portion
            if self._flight.empty:
                await self._heads.write_due(self._open_producer())
            await self._wake.wait()
        return None

    async def _decide(self, portion: Portion) -> Batch:
        parts = self._parts
        started = time.perf_counter()
        assert self._collection is not None, "recall comes first"
        batch = await batches.decide(
            portion, self._outputs(), parts.context, self._rows.find, self._tail, self._collection
        )
        if not batch.bound:
            self._tail = None
        if batch.rest is not None:
            self._inbox.give_back(batch.rest)
        self._rows.take(batch.changed)
        self._figures.decided(time.perf_counter() - started)
        return batch

    def _outputs(self) -> Outputs:
        producer = self._open_producer()
        return Outputs(producer.pages(), producer.pages(), producer.pages(), producer.pages())

    async def _commit(self, batch: Batch) -> None:
        started = time.perf_counter()
        # Of another topic than the state is, it was decided for nothing; so far nobody has seen anything of it.
        await self._parts.brokers.confirm(self.number, self._known_row().topic)
        self._row = await self._transactions.commit(self._open_producer(), self._known_row(), batch)
        self._rows.land()
        if not batch.silent:  # else heads.restore took its entries from the ledger
            self._heads.note(batch.changed, self._row.ledger_offset)
        self.recent.take(batch.changed)
        seconds = time.perf_counter() - started
        self._figures.committed(batch, seconds, waiting=len(self._inbox), cached_series=len(self._rows))
        await self._heads.write_due(self._open_producer())
        self._failures = 0

    async def _take_over(self) -> None:
        """Fence every earlier owner, whatever its life, read the state back, and let input come."""
        self._phase = Phase.READS
        parts = self._parts
        producer = self._producer = await parts.brokers.fence(self.number)
        restorer = Restorer(parts, parts.rows, await self._facts(), self.number, parts.read_back)
        tell_discarded(parts.metrics, self.number, parts.rows.reopen(self.number))
        await self._transactions.find_claim()
        committed = await parts.brokers.committed(self.number)
        restored = await restorer.restore(committed, lambda row: self._transactions.judge(producer, row))
        self._rows.clear()
        self._tail = restored.tail
        row = self._row = await self._transactions.begin(producer, restored.row)
        self._inbox.restart(row.next_offset)
        await self._heads.restore(producer)
        await self._figures.survey(lambda: parts.rows.scan(self.number, b"s"))
        if restored.fresh:
            # With the row in place before the first entry, a ledger without a row always means a loss.
            await self._commit(Batch.of(Portion(row.next_offset, row.next_offset, [], []), self._outputs()))
        self._phase = Phase.RECALLS
        await parts.feed.start(self.number, self.next_offset)
        self._collection = await restorer.recall(row, self._rows.find)
        self._figures.count(WorkerMetric.RECALLED_RECORDS, row.next_offset - row.recall_offset)
        self._figures.restored()

    async def _withdraw(self, error: Exception) -> None:
        """After trouble: let the producer go, and wait before it is opened again."""
        self._failures += 1
        logger.warning("partition %d: %s; opens its producer again", self.number, loggable(error))
        await self._flight.drop()
        if self._producer is not None:
            await self._producer.stop()
        await self._pause(_BACKOFF_SECONDS * 2 ** (self._failures - 1))
        # Fenced by another owner: the group knows, and will revoke. To open again would fence the rightful one.
        row = self._row
        while not (self._ending.is_set() or row is None or await self._parts.feed.owns(self.number, row.recall_offset)):
            await self._pause(_OWNER_SECONDS)
        self._figures.count(WorkerMetric.REOPENED, 1)

    async def _pause(self, seconds: float) -> None:
        """Wait so long, or until it is to end."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ending.wait(), seconds)

    async def _stop(self, error: Exception) -> None:
        await self._flight.drop()
        self._heads.stop()
        stopped = self.stopped = stopping(self.number, error)
        logger.error("%s", stopped, extra={"partition": self.number, "reason": stopped.reason})
        if self._producer is not None:
            await self._producer.stop()
        self._inbox.restart(self._inbox.next_offset)
        self._collection = None

    def _open_producer(self) -> Writer:
        assert self._producer is not None, "start() comes first"
        return self._producer

    def _known_row(self) -> PartitionRow:
        assert self._row is not None, "start() comes first"
        return self._row
