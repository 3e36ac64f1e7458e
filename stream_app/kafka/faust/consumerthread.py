"""Faust's Kafka thread, which drains whole fetches and answers requests until it ends."""

import asyncio
import gc
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, cast

from aiokafka import AIOKafkaConsumer
from aiokafka.client import ConnectionGroup
from aiokafka.errors import ConsumerStoppedError, InconsistentGroupProtocolError, KafkaConnectionError, KafkaError
from aiokafka.protocol.group import LeaveGroupRequest
from aiokafka.structs import OffsetAndMetadata, TopicPartition
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from stream_app.formats.records import Records
from stream_app.kafka.client.batches import UnreadableBatchError
from stream_app.kafka.client.refusal import repeated, unauthorized

logger = logging.getLogger(__name__)

_FETCH_WAIT_MS = 250
"""How long a broker holds an empty fetch; the fetch of a newly assigned partition has to wait for that fetch."""

_AGREE_SECONDS = 1.0
"""How long a closing consumer waits for a running rebalance; after that it leaves the group at once."""
_LEAVE_SECONDS = 3.0
_IDLE_SHARE = 50
"""The inverse of the maximum share of time that an idle worker spends on garbage collection."""


class ConsumerEndedError(KafkaConnectionError):
    """The consumer's thread has ended, as it does when the worker ends, and accepts no more requests."""


class ConsumerThread(driver.AIOKafkaConsumerThread):
    """Faust's read-committed thread for Kafka, which records the offsets that each fetch covered."""

    def __post_init__(self) -> None:
        """Start without fetches or requests; mode calls this method at the end of its constructor."""
        super().__post_init__()
        self.stretches: dict[TP, tuple[int, int]] = {}
        self._waiting: set[asyncio.Future[Any]] = set()
        self._silent = False
        self._looks = False
        self._collects_from = 0.0

    async def on_start(self) -> None:
        """Start a consumer; try again if a broker left a request unanswered."""
        await repeated(self._start_consumer, cast("Any", self.app).settings)

    async def _start_consumer(self) -> None:
        try:
            await super().on_start()
        except KafkaError:
            await self._ensure_consumer().stop()
            raise

    async def call_thread(self, fun: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
        """Return the thread's answer; raises ``ConsumerEndedError`` if the thread ends before it answers.

        Faust's own version would wait forever: the thread of a crashed app ends by itself, but stopping the app still
        calls the thread.
        """
        if self._silent:
            raise ConsumerEndedError
        promise: asyncio.Future[Any] = self.parent_loop.create_future()
        self._waiting.add(promise)
        try:
            await self.method_queue.call(promise, fun, *args, **kwargs)
            return await promise
        except RuntimeError as error:
            if self.thread_loop.is_closed():
                raise ConsumerEndedError from error
            raise
        except asyncio.CancelledError:
            if promise.cancelled() and promise in self._waiting:
                raise  # the caller is cancelled, not the request
            raise ConsumerEndedError from None
        finally:
            self._waiting.discard(promise)

    def answer_for(self, seconds: float) -> None:
        """Refuse requests after ``seconds``: while brokers are down, no request to the group gets an answer."""
        self.parent_loop.call_later(seconds, self._refuse)

    def _refuse(self) -> None:
        self._silent = True
        refused, self._waiting = self._waiting, set()
        for promise in refused:
            promise.cancel()  # the thread skips a request that it has not started

    async def on_thread_stop(self) -> None:
        """Close the consumer; suppress the error that aiokafka raises because absent brokers cancelled its requests."""
        closing = asyncio.create_task(super().on_thread_stop())
        _, late = await asyncio.wait({closing}, timeout=_AGREE_SECONDS)
        if late:
            await self._leave_group()
        with suppress(asyncio.CancelledError):
            await closing

    async def _leave_group(self) -> None:
        """Leave the group during a rebalance; aiokafka would leave only afterwards, and wait for sleeping members.

        This uses a separate connection: on the group's own connection, brokers read nothing until they have answered
        the join request.
        """
        consumer = self._consumer
        group = None if consumer is None else getattr(consumer, "_coordinator", None)
        if group is None or group.coordinator_id is None or not group.member_id:
            return
        request = LeaveGroupRequest(group.group_id, group.member_id)
        with suppress(KafkaError, TimeoutError):  # otherwise the session times out
            async with asyncio.timeout(_LEAVE_SECONDS):
                await group._client.send(group.coordinator_id, request, group=ConnectionGroup.DEFAULT)  # noqa: SLF001

    def _stopped_set(self) -> None:
        with suppress(RuntimeError):  # its loop is closed: it ended by itself, as after a crash
            super()._stopped_set()

    def set_shutdown(self) -> None:
        """Refuse all further requests, in the event loop of the callers."""
        self.parent_loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        self._shutdown.set()
        self._refuse()

    def polled(self) -> None:
        """Record that the app's loop polls, with or without a result. This is called from that loop.

        If a consumer does not poll for `broker_max_poll_interval`, aiokafka assumes that its app hangs, leaves the
        group, and does not rejoin until it polls. aiokafka counts only its own calls, which are not made while there
        are no records.
        """
        if self._consumer is not None:
            self._consumer._subscription._last_fetch_ended = time.monotonic()  # noqa: SLF001

    @property
    def in_group(self) -> bool:
        """Whether the coordinator is known and accepts this worker's heartbeats, as it does outside a join."""
        group = getattr(self._consumer, "_coordinator", None)
        if group is None or group.coordinator_id is None:
            return False
        return group.generation > 0 and group._heartbeat_task is not None and not group._heartbeat_task.done()  # noqa: SLF001

    def _create_worker_consumer(self, transport: Any) -> AIOKafkaConsumer:
        consumer = super()._create_worker_consumer(transport)
        consumer._isolation_level = "read_committed"  # noqa: SLF001 (Faust offers it under exactly-once only)
        consumer._fetch_max_wait_ms = _FETCH_WAIT_MS  # noqa: SLF001 (Faust's is 1,500 and no setting)
        return consumer

    async def _fetch_records(
        self,
        consumer: AIOKafkaConsumer,
        active_partitions: set[TP],
        timeout: float | None = None,  # noqa: ASYNC109 (Faust's signature)
        max_records: int | None = None,  # noqa: ARG002 (a fetch is taken whole)
    ) -> Any:
        if consumer._closed:  # noqa: SLF001
            raise ConsumerStoppedError
        self._looks = False
        records = await self._drain(consumer, active_partitions)
        if not records and timeout and not self._looks:
            waiter = consumer._fetcher._create_fetch_waiter()  # noqa: SLF001
            done, _ = await asyncio.wait([waiter], timeout=timeout)
            waiter.cancel()
            records = await self._drain(consumer, active_partitions)
            if not done:
                self._collect()
        return records

    def _collect(self) -> None:
        """Collect garbage; in an idle worker, Python would otherwise do so only after hours.

        PRIVACY: fetches that the client dropped stay in reference cycles, some of them old, and Python keeps the
        numbers of freed floats in its free list. Only a collection of the oldest generation empties that list, so all
        generations are collected.
        """
        start = time.monotonic()
        if start >= self._collects_from:
            gc.collect()
            end = time.monotonic()
            self._collects_from = end + _IDLE_SHARE * (end - start)

    def look(self) -> None:
        """Check the fetched records at once, because more partitions are wanted; this is called from the app's loop."""
        with suppress(RuntimeError):  # its loop is closed
            self.thread_loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        self._looks = True
        if self._consumer is not None:
            for waiter in self._consumer._fetcher._fetch_waiters.copy():  # noqa: SLF001
                if not waiter.done():
                    waiter.set_result(None)

    async def _drain(self, consumer: AIOKafkaConsumer, active: set[TP]) -> dict[TP, Records]:
        """Return the already fetched records, in columns and without an object per record."""
        if not self.consumer.flow_active or consumer._subscription.reassignment_in_progress:  # noqa: SLF001
            self.stretches = {}  # the last fetch may belong to an assignment that is over
            return {}  # aiokafka would await the next assignment, so the app's loop would block and stop polling
        for result in consumer._fetcher._records.values():  # noqa: SLF001
            records = getattr(result, "_partition_records", None)  # an error lacks it
            if records is not None:
                records.whole = True
        before = _positions(consumer)
        drained: dict[TP, Records] = {}
        for tp, result in list(consumer._fetcher._records.items()):  # noqa: SLF001
            # Drain each partition separately, so unreadable data in one does not affect the others. An error is handled
            # in a separate drain. Data of unwanted partitions stays: the set is the consumer's own, and may be empty by
            # now.
            if tp not in active or (drained and not hasattr(result, "_partition_records")):
                continue
            try:
                # Unlike Faust's call: after an error aiokafka would count Faust's as running forever, and no longer
                # notice that the app hangs.
                found = await consumer._fetcher.fetched_records({tp}, timeout=0)  # noqa: SLF001
                drained |= {tp: one for tp, (one,) in found.items()}
            except UnreadableBatchError as error:
                self.parent_loop.call_soon_threadsafe(cast("Any", self.consumer).cannot_read, error)
        after = _positions(consumer)
        self.stretches = {tp: (before.get(tp, end), end) for tp, end in after.items()}
        return drained

    async def committed(self, tp: TP) -> int | None:
        """Return the group's committed offset for a partition."""
        return cast("int | None", await self.call_thread(self._committed, tp))

    async def _committed(self, tp: TP) -> int | None:
        return cast("int | None", await self._ensure_consumer().committed(TopicPartition(*tp)))

    async def check_group(self) -> None:
        """Log the coordinator's errors; fix heartbeats and metadata; raise `KafkaError` if the group is lost."""
        await self.call_thread(self._check_group)

    async def _check_group(self) -> None:
        consumer = self._ensure_consumer()
        cluster, group = consumer._client.cluster, consumer._coordinator  # noqa: SLF001
        if cluster._last_refresh_ms > cluster._last_successful_refresh_ms:  # noqa: SLF001
            # aiokafka retries the refresh after five minutes. A leader that does not know the topics assigns no
            # partitions; it starts another rebalance as soon as it knows them.
            consumer._client.force_metadata_update()  # noqa: SLF001
        try:
            group.check_errors()  # as `getmany` does; Faust does not call it
        except KafkaError as error:
            ended = group._coordination_task.done()  # noqa: SLF001 (nobody would join again)
            if ended or unauthorized(error) or isinstance(error, InconsistentGroupProtocolError):
                raise
            logger.warning("consumer group: %r; retrying", error)
            if group._heartbeat_task is not None and group._heartbeat_task.done():  # noqa: SLF001
                # An error ended the heartbeats. aiokafka starts new ones only at the next rebalance, which would not
                # come.
                await group._stop_heartbeat_task()  # noqa: SLF001
                group._start_heartbeat_task()  # noqa: SLF001

    async def owns(self, tp: TP, offset: int) -> bool:
        """Commit ``offset``; return whether the group still accepts this worker as the owner."""
        try:
            return bool(await self.call_thread(self._owns, tp, offset))
        except ConsumerEndedError:
            return False

    async def _owns(self, tp: TP, offset: int) -> bool:
        try:
            await self._ensure_consumer().commit({TopicPartition(*tp): OffsetAndMetadata(offset, "")})
        except KafkaError:
            return False
        return True


def _positions(consumer: AIOKafkaConsumer) -> dict[TP, int]:
    subscription = consumer._subscription.subscription  # noqa: SLF001 (`position()` would wait for an unknown one)
    assignment = None if subscription is None else subscription.assignment
    if assignment is None:
        return {}
    states = ((tp, assignment.state_value(tp)) for tp in assignment.tps)
    return {TP(*tp): state.position for tp, state in states if state is not None and state.has_valid_position}
