"""Consumes in batches: Faust passes on one message for each partition and fetch, which holds all its records.

Faust's cost per message (50 microseconds) is paid per fetch. Changelog records never become messages at all: they go
into RocksDB in one write a fetch.
"""

import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from typing import Any, ClassVar, cast

import faust
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from faust.types.tuples import ConsumerMessage
from mode import Service
from mode.utils.locks import Event

from stream_app.formats.records import Records
from stream_app.kafka.client.batches import UnreadableBatchError
from stream_app.kafka.faust.consumerthread import ConsumerEndedError, ConsumerThread
from stream_app.kafka.owner.inbox import Fetched

logger = logging.getLogger(__name__)

_GROUP_SECONDS = 1.0


class Consumer(driver.Consumer):
    """Faust's consumer: a message is a whole fetch, and positions come from the partition rows."""

    app: Any
    _thread: ConsumerThread

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._kept: dict[TP, int] = {}
        self._flows_since: dict[TP, float] = {}
        self._wanted = Event()

    @property
    def thread(self) -> ConsumerThread:
        """The thread that talks to Kafka."""
        return self._thread

    @Service.task
    async def _watch_group(self) -> None:
        """Crash when the group is refused: its coordinator would wait for ever until somebody took its error up."""
        with suppress(ConsumerEndedError):
            while not self.should_stop:
                await self.sleep(_GROUP_SECONDS)
                await self._thread.check_group()

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Let Faust warn where a partition takes input, or stands by, and nothing was fetched for long.

        Its other looks are at streams and acknowledgements, from the worker's start, or from the last rebalance: they
        took partitions for stalled that read their state back, or whose first record just came. Here one agent hands
        all on at once, and what then waits for its decision shows in `landmark_event_lag_records`.
        """
        if not (
            self.app.partitions.runs(tp.partition)
            if tp.topic == self.app.events_topic
            else self.app.recovery.follows(tp)
        ):
            self._flows_since.pop(tp, None)
        elif now - self._flows_since.setdefault(tp, now) >= self.app.conf.stream_processing_timeout:
            self._thread.verify_recovery_event_path(now, tp)

    def keep(self, tp: TP, offset: int) -> None:
        """Bound the group's offset of a partition, whatever is acknowledged."""
        self._kept[tp] = offset

    def cannot_read(self, error: UnreadableBatchError) -> None:
        """Fetch no more of a partition, and stop its owner once it has decided what was read before."""
        tp = TP(error.topic, error.partition)
        self.pause_partitions({tp})
        if tp.topic == self.app.events_topic:
            self.app.partitions.fail(tp.partition, error)
        else:
            logger.error("a standby copy is no longer updated: %s", error)

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    async def getmany(self, timeout: float) -> AsyncIterator[tuple[TP, ConsumerMessage]]:  # noqa: ASYNC109 (Faust's)
        """Fetch; apply changelog records, and yield one message for each partition of the events topic."""
        self._wanted.clear()
        self._thread.polled()
        if not self.flow_active:
            # Faust would wait for the end of the rebalance, and ask for nothing: a worker that was away would stay so.
            await self.wait(cast("Any", self.can_resume_flow), timeout=timeout)
            return
        if self._buffered_partitions and not self._get_active_partitions():
            # All are full: Faust would sleep for a second, whatever is wanted again meanwhile.
            await self.wait(self._wanted, timeout=timeout)
            return
        try:
            found, active = await self._wait_next_records(timeout)
        except ConsumerEndedError:
            await self.sleep(timeout)
            return
        fetched, stretches = cast("dict[TP, Records]", found or {}), self._thread.stretches
        generation = self.app.consumer_generation_id
        if self.should_stop or not self.flow_active:
            # Fetched while a rebalance began: whoever is assigned next seeks to where the state is.
            self._miss(fetched)
            return
        for tp, records in fetched.items():
            if tp.topic in self.app.tables.changelog_topics:
                self.app.recovery.apply(tp, records)
        self.app.recovery.reach({tp: end for tp, (_, end) in stretches.items()})
        for tp, records in fetched.items():
            if tp.topic != self.app.events_topic:
                continue
            if self.app.consumer_generation_id == generation and (
                tp in (active or ()) or tp in self._buffered_partitions
            ):
                start, end = stretches.get(tp, (records.offsets[0], records.offsets[-1] + 1))
                yield tp, self._message(tp, records, Fetched(records, start, end))
            else:
                self._miss([tp])

    def _miss(self, fetched: Iterable[TP]) -> None:
        """Fetch again what was fetched and not handed on: the consumer stands behind it, and nothing else may come."""
        for tp in fetched:
            if tp.topic == self.app.events_topic:
                self.app.partitions.miss(tp.partition)

    def _message(self, tp: TP, records: Records, fetched: Fetched) -> ConsumerMessage:
        where = (tp.topic, tp.partition, records.offsets[-1], records.timestamps_ms[-1] / 1000.0)
        value, generation, appended = cast("Any", fetched), self.app.consumer_generation_id, 1  # LogAppendTime
        return ConsumerMessage(*where, appended, None, None, value, None, 0, 0, tp, generation_id=generation)

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Let running transactions end and acknowledge them; who is assigned what shows later."""
        await self.app.partitions.hold()
        await self.commit()
        await super().on_partitions_revoked(revoked)

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Close the partitions that went to others; the rest begins or goes on."""
        self._flows_since.clear()
        numbers = [tp.partition for tp in assigned if tp.topic == self.app.events_topic]
        await self.app.partitions.assign(numbers, generation_id)
        await super().on_partitions_assigned(assigned, generation_id)

    def resume_partitions(self, tps: Iterable[TP]) -> None:
        """Resume partitions whose owner runs; a stopped one stays paused."""
        super().resume_partitions(
            {tp for tp in tps if tp.topic != self.app.events_topic or self.app.partitions.runs(tp.partition)}
        )
        self._look()

    def on_buffer_drop(self, tp: TP) -> None:
        """Fetch a partition again that was full, at once."""
        super().on_buffer_drop(tp)
        self._look()

    def _look(self) -> None:
        self._wanted.set()
        self._thread.look()

    async def perform_seek(self) -> None:
        """Seek to where each partition's state ends: the partition rows rule, not the group's offsets."""
        topic = self.app.events_topic
        await self.seek_partitions({TP(topic, number): at for number, at in self.app.partitions.positions().items()})

    async def seek_partitions(self, positions: Mapping[TP, int]) -> None:
        """Seek partitions to offsets, and wait until that is done."""
        if positions:
            await self.seek_wait(positions)

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        try:
            return bool(await super()._commit(offsets))
        except ConsumerEndedError:
            # The partition rows know where to go on; the group's offset only lags behind them.
            logger.info("the last offsets are not committed to the group: its consumer has ended")
            return False

    async def create_topic(self, topic: str, *_: Any, **__: Any) -> None:
        """Make no topic: `topics` makes each with the settings it needs, and the worker checks them."""

    # Messages of a partition are acknowledged strictly in order, each for its whole stretch, so the newest one names
    # the offset to commit. Faust's own bookkeeping keeps every single offset in lists and trees: as dear as a decision.

    async def _add_gap(self, tp: TP, offset_from: int, offset_to: int) -> None:
        if tp.topic != self.app.events_topic:
            await super()._add_gap(tp, offset_from, offset_to)

    def _new_offset(self, tp: TP) -> int | None:
        if tp.topic != self.app.events_topic:
            offset: int | None = super()._new_offset(tp)
            return offset
        acked = self._acked[tp]
        if not acked:
            return None
        newest = max(acked)
        acked.clear()
        self._acked_index[tp].clear()
        return min(int(newest) + 1, self._kept[tp])


class Producer(driver.Producer):
    """Faust's producer; nothing is sent by it."""

    async def on_start(self) -> None:
        """Connect to no broker: what is never used must not fail."""

    async def create_topic(self, topic: str, *_: Any, **__: Any) -> None:
        """Make no topic either: Faust would make the changelog's, which a worker need not be allowed."""


class Transport(driver.Transport):
    """Faust's transport with our consumer and producer."""

    Consumer: ClassVar[type[Consumer]] = Consumer
    Producer: ClassVar[type[Producer]] = Producer


class FaustFeed:
    """`stream_app.kafka.brokers.Feed` over an app's consumer, which Faust makes when it starts."""

    def __init__(self, app: faust.App, events_topic: str) -> None:
        self._app = app
        self._events_topic = events_topic

    @property
    def _consumer(self) -> Consumer:
        return cast("Consumer", self._app.consumer)

    def _tp(self, partition: int) -> TP:
        return TP(self._events_topic, partition)

    async def start(self, partition: int, offset: int) -> None:
        """Begin at an offset; Faust assigns partitions paused."""
        await self.seek(partition, offset)
        self._consumer.resume_partitions({self._tp(partition)})
        self.resume(partition)

    async def seek(self, partition: int, offset: int) -> None:
        """Seek to an offset."""
        await self._consumer.seek_partitions({self._tp(partition): offset})

    def pause(self, partition: int) -> None:
        """Stop fetching until `resume`."""
        self._consumer.on_buffer_full(self._tp(partition))

    def resume(self, partition: int) -> None:
        """Fetch again."""
        self._consumer.on_buffer_drop(self._tp(partition))

    async def earliest(self, partition: int) -> int:
        """Return the first input offset kept."""
        tp = self._tp(partition)
        return int((await self._consumer.earliest_offsets(tp))[tp])

    async def owns(self, partition: int, offset: int) -> bool:
        """Tell whether the group still counts this worker as the owner."""
        return await self._consumer.thread.owns(self._tp(partition), offset)

    def keep(self, partition: int, offset: int) -> None:
        """Bound the group's offset of a partition."""
        self._consumer.keep(self._tp(partition), offset)

    async def committed(self, partition: int) -> int | None:
        """Return the group's offset of a partition."""
        return await self._consumer.thread.committed(self._tp(partition))
