"""The supervisor of one input partition: it takes over, runs, pauses, reopens or stops the partition."""

import asyncio
import logging
import time
from contextlib import AsyncExitStack, suppress

from stream_app.kafka.brokers import Message
from stream_app.kafka.evidence.ends import input_lost
from stream_app.kafka.owner.cache import RowReader
from stream_app.kafka.owner.figures import PartitionMetrics
from stream_app.kafka.owner.inbox import BatchInput, Delivery, Inbox
from stream_app.kafka.owner.life import Away, Held, Recalling, State, Stopped, TakingOver, Working, followed
from stream_app.kafka.owner.tenure import Facts, LastingParts, Tenure
from stream_app.kafka.parts import WorkerParts
from stream_app.kafka.stops import StopReason, can_reopen, stopping
from stream_app.monitoring.loggable import loggable
from stream_app.monitoring.metrics import WorkerMetric


class Gate:
    """A gate, initially open, that stops the partition's task between batches while it is closed."""

    def __init__(self) -> None:
        self._opened = asyncio.Event()
        self._opened.set()
        self._waited_at = asyncio.Event()

    @property
    def shut(self) -> bool:
        """Whether new batches are blocked."""
        return not self._opened.is_set()

    def close(self) -> None:
        """Block new batches until `open`."""
        self._opened.clear()
        self._waited_at.clear()

    def open(self) -> None:
        """Allow new batches."""
        self._opened.set()

    async def passed(self) -> None:
        """Return once the gate is open; until then, `reached` returns at once."""
        self._waited_at.set()
        await self._opened.wait()

    async def reached(self, task: "asyncio.Task[None]", seconds: float) -> None:
        """Return once a task waits in `passed` or ``task`` has ended, or after ``seconds`` at the latest."""
        waiter = asyncio.create_task(self._waited_at.wait())
        await asyncio.wait({task, waiter}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        waiter.cancel()


logger = logging.getLogger(__name__)

_ATTEMPTS = 6
_BACKOFF_SECONDS = 0.5
_OWNER_SECONDS = 1.0
IDLE_SECONDS = 15.0
"""The idle time after which the last batch's lag is no longer shown."""


class Partition:
    """The owner of one input partition, from its assignment until it is revoked."""

    def __init__(self, number: int, parts: WorkerParts, facts: Facts) -> None:
        settings = parts.settings
        self.number = number
        self._parts, self._facts = parts, facts
        self._state: State = Away()
        self._wake, self._ending, self._gate = asyncio.Event(), asyncio.Event(), Gate()
        self._inbox = Inbox(settings.batch_records, settings.batch_bytes)
        self._kept = LastingParts(self._inbox, PartitionMetrics(parts, number), self._wake.set)
        self._refetches: set[asyncio.Task[None]] = set()
        self._idle_since: float | None = None
        self._task = asyncio.create_task(self._live(), name=f"partition {number}")

    @property
    def runs(self) -> bool:
        """Whether it accepts input."""
        return isinstance(self._state, Recalling | Working | Held) and not self._ending.is_set()

    @property
    def works(self) -> bool:
        """Whether the partition processes input, or would do so if there were no rebalance."""
        return isinstance(self._state, Working | Held) and not self._ending.is_set()

    @property
    def stopped(self) -> StopReason | None:
        """Why the partition stopped, or None if it has not."""
        return self._state.reason if isinstance(self._state, Stopped) else None

    @property
    def idle(self) -> bool:
        """Whether the partition has been idle for so long that the last batch's figures are meaningless."""
        since = self._idle_since
        return since is not None and time.monotonic() - since > IDLE_SECONDS

    @property
    def rows(self) -> RowReader | None:
        """The rows in memory; None unless the partition works or is held."""
        return self._state.tenure.rows if isinstance(self._state, Working | Held) else None

    @property
    def next_offset(self) -> int:
        """The offset to fetch next."""
        return self._inbox.next_offset

    async def hold(self, seconds: float) -> None:
        """Start no batch until `go_on`; return once nothing is in progress, or after ``seconds``."""
        self._gate.close()
        self._wake.set()
        if self.works:
            await self._gate.reached(self._task, seconds)

    def go_on(self) -> None:
        """Continue after `hold`, if nobody else has owned the partition in the meantime."""
        self._gate.open()

    def put(self, fetched: Delivery, message: Message) -> None:
        """Add a fetch and its message; request the input again if offsets are missing."""
        if not self.runs:
            return
        if not self._inbox.put(message, fetched):
            self.miss()
            return
        self._wake.set()
        if self._inbox.full:
            self._parts.feed.pause(self.number)

    def miss(self) -> None:
        """Fetch again from the first missing offset."""
        if self.runs:
            asking = asyncio.create_task(self._ask_again())
            self._refetches.add(asking)
            asking.add_done_callback(self._refetches.discard)

    def fail(self, error: Exception) -> None:
        """Process the input already added, then stop with ``error``; no more input arrives."""
        self._inbox.break_off(error)
        self._wake.set()

    async def _ask_again(self) -> None:
        """Fetch from the first missing offset; if the log now begins after it, fail because input is lost."""
        while self.runs:
            try:
                first = await self._parts.feed.earliest(self.number)
                if first > self.next_offset:
                    self.fail(input_lost(self.next_offset, first).stopped(self.number))
                else:
                    await self._parts.feed.seek(self.number, self.next_offset)
            except Exception as error:  # noqa: BLE001 (brokers are away; or others own it, which an assignment tells)
                logger.info("partition %d: will ask again later where its input is: %s", self.number, loggable(error))
                await self._pause(_OWNER_SECONDS)
            else:
                return

    async def close(self, seconds: float) -> None:
        """Close the partition: let its transaction finish within ``seconds``, then release the producer."""
        self._ending.set()
        self._gate.open()
        self._wake.set()
        # A partition that is still restoring has nothing to finish.
        reads = isinstance(self._state, TakingOver | Recalling)
        _, late = await asyncio.wait({self._task}, timeout=0 if reads else seconds)
        if late:
            self._task.cancel()
            await asyncio.wait({self._task})
        if isinstance(self._state, Working | Held):
            await self._state.tenure.leave()
        self._kept.figures.withdraw()

    def _become(self, state: State) -> None:
        self._state = followed(self._state, state)
        self._idle_since = None

    async def _live(self) -> None:
        while not self._ending.is_set() and self.stopped is None:
            async with AsyncExitStack() as opened:
                try:
                    if self._kept.failures:
                        await self._wait_for_turn()
                    if self._ending.is_set():
                        return
                    self._become(TakingOver())
                    tenure = await Tenure.begun(
                        self._parts, self.number, self._facts, self._kept, opened, lambda: self._become(Recalling())
                    )
                except Exception as error:  # noqa: BLE001 (one partition's trouble must not end the others')
                    if not isinstance(self._state, Away):
                        self._become(Away())
                    self._judge(error)  # while all is open: closing would hide a lack of descriptors
                    continue
                opened.pop_all()
            await self._serve(tenure)
            # PRIVACY: a tenure's raw counters are forgotten with it.
            del tenure

    async def _serve(self, tenure: Tenure) -> None:
        """Work until the partition is closed, or until an error has been handled and the tenure is released."""
        self._become(Working(tenure))
        try:
            await self._work(tenure)
        except Exception as error:  # noqa: BLE001 (as above)
            self._become(Away())
            try:
                await tenure.drop()
                self._judge(error)
            finally:
                await tenure.leave()

    async def _work(self, tenure: Tenure) -> None:
        while (given := await self._next(tenure)) is not None:
            batch = await tenure.decide(given)
            await tenure.pending.finished()
            if self._ending.is_set():
                break
            tenure.commit(batch)
            # PRIVACY: while it waits for more input, a worker holds neither records that are already counted nor a
            # seed.
            del given, batch
        await tenure.finish()

    async def _next(self, tenure: Tenure) -> BatchInput | None:
        """Return the next batch's input once there is any, or None when the partition is closed."""
        while not self._ending.is_set():
            if tenure.pending.over:
                await tenure.pending.finished()
            self._wake.clear()
            if self._gate.shut:
                await self._stand_by(tenure)
                continue
            # If little input waits while a batch commits, leave it: input that arrives until then joins the same next
            # batch.
            given = self._inbox.take() if tenure.pending.empty or self._inbox.ample else None
            if given is not None:
                self._idle_since = None
                if self._inbox.hungry:
                    self._parts.feed.resume(self.number)
                return given
            if tenure.pending.empty:
                self._idle_since = self._idle_since or time.monotonic()
                await tenure.write_due()
            await self._wake.wait()
        return None

    async def _stand_by(self, tenure: Tenure) -> None:
        """Wait for the running commit; once nothing is in progress, wait until the group has settled."""
        if tenure.pending.empty:
            self._become(Held(tenure))
            await self._gate.passed()
            self._become(Working(tenure))
        else:
            await self._wake.wait()

    def _judge(self, error: Exception) -> None:
        """Choose the response to an error: a new producer may fix it; otherwise, the partition stops."""
        if self._ending.is_set():
            logger.info("partition %d: ended while it was revoked: %s", self.number, loggable(error))
        elif can_reopen(error) and self._kept.failures < _ATTEMPTS:
            self._kept.failures += 1
            logger.warning("partition %d: %s; reopening its producer", self.number, loggable(error))
        else:
            stop = stopping(self.number, error)
            self._become(Stopped(stop.reason))
            logger.error("%s", stop, extra=stop.fields)
            self._inbox.restart(self._inbox.next_offset)  # nobody here processes what waits
            # PRIVACY: the inbox keeps the error that ended it; that error's frames hold the tenure, and so raw
            # counters.
            error.with_traceback(None)

    async def _wait_for_turn(self) -> None:
        """Wait after a failure until the group confirms this worker as owner, before reopening the producer."""
        await self._pause(_BACKOFF_SECONDS * 2 ** (self._kept.failures - 1))
        # If another owner fenced this one, the group will revoke the partition. Reopening would fence the rightful
        # owner.
        row, owns = self._kept.row, self._parts.feed.owns
        while not (self._ending.is_set() or row is None or await owns(self.number, row.recall_offset)):
            await self._pause(_OWNER_SECONDS)
        self._kept.figures.count(WorkerMetric.REOPENED, 1)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ending.wait(), seconds)
