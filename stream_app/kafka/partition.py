"""One input partition at work: decide a batch while the last one commits; never two orders of effects.

The order, for every batch:

1. ledger entries are acknowledged, so that whatever is released has its entry in the log;
2. releases, rejects, changelog rows and the partition row are acknowledged;
3. the transaction commits;
4. the same rows and the changelog offset go into RocksDB in one write;
5. the input is acknowledged.
"""

import asyncio
import logging
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

from aiokafka import errors
from faust.types import TP

from stream_app import rows
from stream_app.context import Context
from stream_app.kafka.batch import Batch, decide_batch, write_rows
from stream_app.kafka.cache import RowCache
from stream_app.kafka.inbox import Inbox, Portion
from stream_app.kafka.metrics import Metrics
from stream_app.kafka.producer import PartitionProducer
from stream_app.kafka.report import report_batch
from stream_app.kafka.restore import Restored, Restorer
from stream_app.kafka.row import PartitionRow
from stream_app.kafka.stopped import PartitionStoppedError
from stream_app.kafka.table import PARTITION_KEY, StateStore
from stream_app.kafka.tail import Tail
from stream_app.kafka.topics import TopicNames
from stream_app.rows import SeriesRow
from stream_app.settings import Settings

logger = logging.getLogger(__name__)

_ATTEMPTS = 6
_BACKOFF_SECONDS = 0.5
_OWNER_SECONDS = 1.0

_REOPENABLE = (
    errors.ProducerFenced,
    errors.InvalidProducerEpoch,
    errors.InvalidProducerIdMapping,
    errors.UnknownProducerId,
    errors.InvalidTxnState,
    errors.OutOfOrderSequenceNumber,
)


class Partition:
    """The owner of one input partition, from its assignment until it is revoked."""

    def __init__(
        self,
        number: int,
        *,
        settings: Settings,
        context: Context,
        names: TopicNames,
        restorer: Restorer,
        store: StateStore,
        consumer: Any,
        metrics: Metrics,
    ) -> None:
        """Do nothing yet: `fence`, `prepare`, then `start`."""
        self.number = number
        self.tp = TP(names.events, number)
        self.stopped: PartitionStoppedError | None = None
        self._settings, self._context, self._names = settings, context, names
        self._restorer, self._store, self._consumer, self._metrics = restorer, store, consumer, metrics
        self._inbox = Inbox(settings.batch_records, settings.batch_bytes)
        self._cache = RowCache(max(2, settings.cached_series // settings.partitions))
        self._producer: PartitionProducer | None = None
        self._row: PartitionRow | None = None
        self._tail: Tail | None = None
        self._flying: dict[str, SeriesRow] = {}
        self._shared: set[bytes] = set()
        self._task: asyncio.Task[None] | None = None
        self._committing: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._closing = False
        self._failures = 0

    # Assignment

    async def fence(self) -> None:
        """Take the transactional id over; afterwards nothing of an earlier owner counts any more."""
        try:
            self._producer = await PartitionProducer.open(self._settings, self.number)
            self._restorer.discard_foreign()
        except Exception as error:  # noqa: BLE001 (one partition's trouble must not end the others')
            await self._stop(error)

    async def prepare(self, committed: int | None) -> None:
        """Read the state back and learn where the input goes on."""
        if self.stopped is not None:
            return
        try:
            await self._restore(committed)
        except Exception as error:  # noqa: BLE001
            await self._stop(error)

    def start(self) -> None:
        """Begin to decide what is put."""
        if self.stopped is None:
            self._task = asyncio.create_task(self._live(), name=f"partition {self.number}")

    @property
    def runs(self) -> bool:
        """Whether it takes input."""
        return self.stopped is None and self._row is not None and not self._closing

    @property
    def next_offset(self) -> int:
        """The offset to fetch next."""
        return self._inbox.next_offset

    def put(self, event: Any) -> None:
        """Take a fetch; input that is not in order is asked for again."""
        if not self.runs:
            return
        if not self._inbox.put(event, event.value):
            asyncio.create_task(self._consumer.seek_partitions({self.tp: self.next_offset}))  # noqa: RUF006
            return
        self._wake.set()
        if self._inbox.full:
            self._consumer.on_buffer_full(self.tp)

    async def close(self, seconds: float) -> None:
        """End: let the running transaction finish within ``seconds``, then let the id go."""
        self._closing = True
        self._wake.set()
        if self._task is not None:
            _, late = await asyncio.wait({self._task}, timeout=seconds)
            for task in (*late, *((self._committing,) if late and self._committing else ())):
                task.cancel()
                await asyncio.wait({task})
        if self._producer is not None:
            await self._producer.stop()

    # Work

    async def _live(self) -> None:
        while not self._closing:
            try:
                await self._work()
            except Exception as error:  # noqa: BLE001
                if self._closing:
                    logger.info("partition %d: ended while it was revoked: %s", self.number, _told(error))
                elif not _reopenable(error) or self._failures >= _ATTEMPTS or not await self._reopen(error):
                    await self._stop(error)
                if self.stopped is not None:
                    return

    async def _work(self) -> None:
        """Decide and commit until it is closed; raises what went wrong."""
        while not self._closing:
            portion = await self._next()
            if portion is None:
                break
            batch = await self._decide(portion)
            await self._committed()
            if self._closing:
                return
            self._flying = batch.changed
            self._committing = asyncio.create_task(self._commit(batch))
            self._committing.add_done_callback(lambda _: self._wake.set())
        await self._committed()

    async def _next(self) -> Portion | None:
        while not self._closing:
            if self._committing is not None and self._committing.done():
                await self._committed()
            self._wake.clear()
            portion = self._inbox.take()
            if portion is not None:
                if self._inbox.hungry:
                    self._consumer.on_buffer_drop(self.tp)
                return portion
            await self._wake.wait()
        return None

    async def _committed(self) -> None:
        task, self._committing = self._committing, None
        if task is not None:
            await task

    async def _decide(self, portion: Portion) -> Batch:
        producer = self._open_producer()
        started = time.perf_counter()
        batch = Batch(
            portion.start,
            portion.end,
            *(producer.pages() for _ in range(4)),
            portion.messages,
            len(portion.records),
            portion.records[-1].timestamp if portion.records else 0,
        )
        await decide_batch(
            batch, self._context, self._names.events, self.number, portion.records, self._find, self._tail
        )
        if not self._tail:
            self._tail = None
        put = self._cache.put
        for series, row in batch.changed.items():
            put(series, row)
        self._metrics.observe("landmark_decision_seconds", time.perf_counter() - started)
        return batch

    def _find(self, series: str) -> SeriesRow | None:
        row = self._cache.get(series) or self._flying.get(series)
        if row is None:
            row = rows.load(self._read, series)
            if row is not None:
                self._cache.put(series, row)
        return row

    def _read(self, key: bytes) -> bytes | None:
        return self._store.read(self.number, key)

    async def _commit(self, batch: Batch) -> None:
        started = time.perf_counter()
        producer, row = self._open_producer(), self._known_row()
        await producer.begin()
        try:
            ledger_end = await producer.send(self._names.ledger, batch.ledger) if batch.ledger.records else None
            row = replace(
                row,
                next_offset=batch.end,
                ledger_offset=row.ledger_offset if ledger_end is None or batch.bound else ledger_end,
                key=self._context.keys.fingerprint,
                configuration=self._context.fingerprint,
            )
            write_rows(batch, self._shared)
            encoded = row.encode()
            batch.changelog.append(PARTITION_KEY, encoded, None, [])
            changelog_end = await self._send_rest(producer, batch)
        except Exception:
            await producer.abort()
            raise
        await producer.commit()
        offset = None if changelog_end is None else changelog_end - 1
        self._store.write(self.number, [*batch.stored, (PARTITION_KEY, encoded)], offset)
        self._row = row
        self._flying = {}
        self._failures = 0
        for message in batch.messages:
            message.ack()
        report_batch(self._metrics, self.number, batch, time.perf_counter() - started, waiting=len(self._inbox))
        self._metrics.set("landmark_cached_series", len(self._cache), str(self.number))

    async def _send_rest(self, producer: PartitionProducer, batch: Batch) -> int | None:
        outputs = [
            (self._names.releases, batch.releases),
            (self._names.rejects, batch.rejects),
            (self._names.changelog, batch.changelog),
        ]
        sends = [producer.send(topic, pages) for topic, pages in outputs if pages.records]
        found = await asyncio.gather(*sends, return_exceptions=True)
        for answer in found:
            if isinstance(answer, BaseException):
                raise answer
        last = found[-1]
        return last if isinstance(last, int) else None

    # Trouble

    async def _restore(self, committed: int | None) -> None:
        restored: Restored = await self._restorer.restore(committed)
        self._cache.clear()
        self._shared.clear()
        self._flying = {}
        self._tail = restored.tail
        self._row = restored.row
        self._inbox.restart(restored.row.next_offset)
        if restored.fresh:
            # With the row in place before the first entry, a ledger without a row always means a loss.
            await self._commit(self._empty_batch(restored.row.next_offset))

    def _empty_batch(self, offset: int) -> Batch:
        producer = self._open_producer()
        return Batch(offset, offset, *(producer.pages() for _ in range(4)), [], 0, 0)

    async def _reopen(self, error: Exception) -> bool:
        """Open the producer again and read everything back; return False when that fails for good."""
        self._failures += 1
        logger.warning("partition %d: %s; opens its producer again", self.number, _told(error))
        await self._drop_commit()
        await self._open_producer().stop()
        await asyncio.sleep(_BACKOFF_SECONDS * 2 ** (self._failures - 1))
        # Fenced by another owner: the group knows, and will revoke. To open again would fence the rightful one.
        while not self._closing and not await self._consumer.owns(self.tp, self._known_row().next_offset):
            await asyncio.sleep(_OWNER_SECONDS)
        if self._closing:
            return True
        self._producer = await PartitionProducer.open(self._settings, self.number)
        self._metrics.count("landmark_reopened", 1, str(self.number))
        await self._restore(None)
        await self._consumer.seek_partitions({self.tp: self.next_offset})
        self._consumer.on_buffer_drop(self.tp)
        return True

    async def _drop_commit(self) -> None:
        task, self._committing = self._committing, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _stop(self, error: Exception) -> None:
        await self._drop_commit()
        stopped = error if isinstance(error, PartitionStoppedError) else self._wrapped(error)
        self.stopped = stopped
        logger.error("%s", stopped, extra={"partition": self.number, "reason": stopped.reason})
        if self._producer is not None:
            await self._producer.stop()
        self._inbox.restart(self._inbox.next_offset)

    def _wrapped(self, error: Exception) -> PartitionStoppedError:
        is_kafka = isinstance(error, errors.KafkaError | OSError)
        return PartitionStoppedError(
            self.number,
            "transaction-failed" if is_kafka else "internal-error",
            asked="a committed transaction",
            found=_told(error),
            remedy="Nothing of the batch counts. Mend the cause and restart the worker"
            if is_kafka
            else "Report this as a bug; a restart tries again",
        )

    def _open_producer(self) -> PartitionProducer:
        assert self._producer is not None, "fence() comes first"
        return self._producer

    def _known_row(self) -> PartitionRow:
        assert self._row is not None, "prepare() comes first"
        return self._row


def _reopenable(error: BaseException | None) -> bool:
    """Tell whether a new producer can mend it; aiokafka wraps some errors into a plain one."""
    if error is None:
        return False
    if isinstance(error, errors.KafkaError) and (isinstance(error, _REOPENABLE) or error.retriable):
        return True
    return _reopenable(error.__cause__)


def _told(error: BaseException) -> str:
    """Return what an error may say in a log."""
    if isinstance(error, errors.KafkaError):
        return repr(error)
    # PRIVACY: the message of any other error can hold a raw value; only its kind and place are told.
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"
