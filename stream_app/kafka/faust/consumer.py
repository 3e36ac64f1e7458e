"""Consumes in batches: Faust passes on one message per partition and fetch, with all its records.

Faust's cost per message (50 microseconds) is paid once per fetch. Changelog records never become messages: each fetch
is written to RocksDB in one write.
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
from stream_app.kafka.owner.inbox import Delivery

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
        """Crash if the group refuses this worker; otherwise, aiokafka would wait until the error is read."""
        with suppress(ConsumerEndedError):
            while not self.should_stop:
                await self.sleep(_GROUP_SECONDS)
                await self._thread.check_group()

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Make Faust warn if a running or standby partition has fetched nothing for a long time.

        Faust's other checks look at streams and acknowledgements since the worker's start or the last rebalance. They
        reported partitions as stalled when these were restoring their state or had just received a first record. Here a
        single agent passes everything on at once, and `landmark_event_lag_records` shows the input that is waiting to
        be processed.
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
        """Keep the group's offset for a partition at or below ``offset``, even if later input is acknowledged."""
        self._kept[tp] = offset

    def cannot_read(self, error: UnreadableBatchError) -> None:
        """Stop fetching a partition, and stop its owner once the earlier records are processed."""
        tp = TP(error.topic, error.partition)
        self.pause_partitions({tp})
        if tp.topic == self.app.events_topic:
            self.app.partitions.fail(tp.partition, error)
        else:
            logger.error("a standby copy is no longer updated: %s", error)

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    async def getmany(self, timeout: float) -> AsyncIterator[tuple[TP, ConsumerMessage]]:  # noqa: ASYNC109 (Faust's)
        """Fetch, apply changelog records, and yield one message for each partition of the events topic."""
        self._wanted.clear()
        self._thread.polled()
        if not self.flow_active:
            # Faust would wait for the end of the rebalance without polling: a worker outside the group would stay
            # outside.
            await self.wait(cast("Any", self.can_resume_flow), timeout=timeout)
            return
        if self._buffered_partitions and not self._get_active_partitions():
            # All buffers are full: Faust would sleep for a second, even if a partition is wanted again before then.
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
            # A rebalance began during the fetch: the next owner seeks to the end of its state.
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
                yield tp, self._message(tp, records, Delivery(records, start, end))
            else:
                self._miss([tp])

    def _miss(self, fetched: Iterable[TP]) -> None:
        """Fetch dropped records again, because the consumer is already past them and more records may never come."""
        for tp in fetched:
            if tp.topic == self.app.events_topic:
                self.app.partitions.miss(tp.partition)

    def _message(self, tp: TP, records: Records, fetched: Delivery) -> ConsumerMessage:
        where = (tp.topic, tp.partition, records.offsets[-1], records.timestamps_ms[-1] / 1000.0)
        value, generation, appended = cast("Any", fetched), self.app.consumer_generation_id, 1  # LogAppendTime
        return ConsumerMessage(*where, appended, None, None, value, None, 0, 0, tp, generation_id=generation)

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Finish running transactions and acknowledge them; the new assignment is not known yet."""
        await self.app.partitions.hold()
        await self.commit()
        await super().on_partitions_revoked(revoked)

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Close the partitions assigned to other workers; start or continue the rest."""
        self._flows_since.clear()
        numbers = [tp.partition for tp in assigned if tp.topic == self.app.events_topic]
        await self.app.partitions.assign(numbers, generation_id)
        await super().on_partitions_assigned(assigned, generation_id)

    def resume_partitions(self, tps: Iterable[TP]) -> None:
        """Resume the partitions whose owners are running; stopped partitions stay paused."""
        super().resume_partitions(
            {tp for tp in tps if tp.topic != self.app.events_topic or self.app.partitions.runs(tp.partition)}
        )
        self._look()

    def on_buffer_drop(self, tp: TP) -> None:
        """Resume fetching at once for a partition whose buffer was full."""
        super().on_buffer_drop(tp)
        self._look()

    def _look(self) -> None:
        self._wanted.set()
        self._thread.look()

    async def perform_seek(self) -> None:
        """Seek to the end of each partition's state: partition rows take precedence over the group's offsets."""
        topic = self.app.events_topic
        await self.seek_partitions({TP(topic, number): at for number, at in self.app.partitions.positions().items()})

    async def seek_partitions(self, positions: Mapping[TP, int]) -> None:
        """Seek to the given offsets, and wait until the seek is done."""
        if positions:
            await self.seek_wait(positions)

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        try:
            return bool(await super()._commit(offsets))
        except ConsumerEndedError:
            # The partition rows contain the next offsets; the group's offset only lags behind them.
            logger.info("the last offsets are not committed to the group: its consumer has ended")
            return False

    async def create_topic(self, topic: str, *_: Any, **__: Any) -> None:
        """Create no topic: `topics` creates each one with its required settings, and the worker checks them."""

    # Messages of a partition are acknowledged strictly in order, each for all its offsets, so the newest one gives the
    # offset to commit. Faust itself keeps every single offset in lists and trees, which costs as much as processing a
    # record.

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
    """Faust's producer, which never sends anything."""

    async def on_start(self) -> None:
        """Connect to no broker, because a client that is never used must not fail."""

    async def create_topic(self, topic: str, *_: Any, **__: Any) -> None:
        """Create no topic: Faust would create the changelog, which a worker may not be permitted to do."""


class Transport(driver.Transport):
    """Faust's transport with this package's consumer and producer."""

    Consumer: ClassVar[type[Consumer]] = Consumer
    Producer: ClassVar[type[Producer]] = Producer


class FaustFeed:
    """`stream_app.kafka.brokers.Feed` over an app's consumer, which Faust creates when it starts."""

    def __init__(self, app: faust.App, events_topic: str) -> None:
        self._app = app
        self._events_topic = events_topic

    @property
    def _consumer(self) -> Consumer:
        return cast("Consumer", self._app.consumer)

    def _tp(self, partition: int) -> TP:
        return TP(self._events_topic, partition)

    async def start(self, partition: int, offset: int) -> None:
        """Start at an offset; Faust assigns partitions in a paused state."""
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
        """Resume fetching."""
        self._consumer.on_buffer_drop(self._tp(partition))

    async def earliest(self, partition: int) -> int:
        """Return the first retained input offset."""
        tp = self._tp(partition)
        return int((await self._consumer.earliest_offsets(tp))[tp])

    async def owns(self, partition: int, offset: int) -> bool:
        """Return whether the group still accepts this worker as the owner."""
        return await self._consumer.thread.owns(self._tp(partition), offset)

    def keep(self, partition: int, offset: int) -> None:
        """Ensure that the group's committed offset for a partition never exceeds ``offset``."""
        self._consumer.keep(self._tp(partition), offset)

    async def committed(self, partition: int) -> int | None:
        """Return the group's offset for a partition."""
        return await self._consumer.thread.committed(self._tp(partition))
