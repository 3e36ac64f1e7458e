"""The consumer's thread as it ends, against a real broker."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from aiokafka.consumer.fetcher import FetchError
from aiokafka.errors import KafkaConnectionError, UnknownError
from faust.types import TP

from stream_app.kafka.client.batches import UnreadableBatchError
from stream_app.kafka.client.cluster import group_members
from stream_app.kafka.client.eventstopic import EventsTopic
from stream_app.kafka.client.routing import load_context
from stream_app.kafka.client.topicid import describe
from stream_app.kafka.faust.app import App
from stream_app.kafka.faust.consumer import Consumer
from stream_app.kafka.faust.consumerthread import ConsumerEndedError, ConsumerThread
from stream_app.kafka.owner.inbox import Delivery
from stream_app.monitoring.metrics import Metrics
from tests.cluster.site import until
from tests.kafka.installation import Installation, readings

SECONDS = 90.0
POLL_SECONDS = 3


@pytest.fixture
async def app(installation: Installation) -> AsyncIterator[App]:
    """An app that works on its partitions."""
    settings = installation.settings()
    names = installation.names
    topic = EventsTopic(settings, names.events, (await describe(settings, names))[names.events].id)
    app = App(settings, load_context(settings), None, topic, names, Metrics())
    await app.start()
    await until(lambda: app.partitions.working == [0, 1])
    yield app
    await app.stop()


@pytest.fixture
def consumer(app: App) -> Consumer:
    """Its consumer."""
    return cast("Consumer", app.consumer)


@pytest.fixture
def thread(consumer: Consumer) -> ConsumerThread:
    """The thread of its consumer."""
    return consumer.thread


def decided(app: App) -> int:
    """Return how much input the app has decided."""
    return sum(app.partitions.positions().values())


async def test_nothing_waits_in_a_queue_that_faust_empties(
    app: App, thread: ConsumerThread, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Faust empties it at the end of a rebalance: a fetch in it was lost, and its partition waited forever."""
    seek, put = app.consumer.perform_seek, app.partitions.put
    early: list[int] = []

    def noted(number: int, fetched: Delivery, message: Any) -> None:
        """Note a fetch that came before the rebalance has ended."""
        if app.rebalancing:
            early.append(number)
        put(number, fetched, message)

    async def slowly() -> None:
        """Seek, and give fetches time to arrive before Faust empties its queues and resumes its flow."""
        await seek()
        await asyncio.to_thread(installation.send, list(readings(200)))
        await asyncio.sleep(2.0)

    monkeypatch.setattr(app.partitions, "put", noted)
    monkeypatch.setattr(app.consumer, "perform_seek", slowly)
    thread.thread_loop.call_soon_threadsafe(thread._ensure_consumer()._coordinator.request_rejoin)  # noqa: SLF001
    await until(lambda: decided(app) >= 200)
    assert early == []


async def test_a_crashed_app_stops(app: App, consumer: Consumer, thread: ConsumerThread) -> None:
    """Its consumer's thread ended: requests are refused immediately, and nothing of the app keeps running."""
    tp = TP(app.events_topic, 0)
    assert await thread.committed(tp) is None, "it answers: nothing was decided yet"
    await consumer.crash(KafkaConnectionError())
    async with asyncio.timeout(SECONDS):
        await until(thread.thread_loop.is_closed)
        assert app.crashed
        with pytest.raises(ConsumerEndedError):
            await thread.committed(tp)
        assert not await thread.owns(tp, 0)
        assert not await consumer.commit()
        await app.stop()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert [task for task in left if not task.done()] == []


async def test_what_was_asked_is_refused_when_the_thread_ends(thread: ConsumerThread) -> None:
    """Nobody waits forever; a caller cancelled meanwhile is cancelled, and not refused."""

    async def ask() -> None:
        """Ask for what never comes."""
        await thread.call_thread(asyncio.Event().wait)

    asked, cancelled = asyncio.create_task(ask()), asyncio.create_task(ask())
    await asyncio.sleep(0)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    async with asyncio.timeout(SECONDS):
        await thread.stop()
        with pytest.raises(ConsumerEndedError):
            await asked


async def test_it_looks_again_when_it_is_asked(thread: ConsumerThread) -> None:
    """A partition that was full is wanted again: nobody waits until something else is fetched, or for a second."""
    async with asyncio.timeout(SECONDS):
        asked = asyncio.create_task(thread.getmany(set(), 1e6))
        while (await asyncio.wait({asked}, timeout=2.0))[0]:  # what begins may wake it
            asked = asyncio.create_task(thread.getmany(set(), 1e6))
        thread.look()
        assert await asked == {}


@pytest.fixture
def short_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a hanging worker leave its group soon: Faust takes its own settings from the environment."""
    monkeypatch.setenv("BROKER_MAX_POLL_INTERVAL", str(POLL_SECONDS))


@pytest.mark.usefixtures("short_interval")
async def test_an_app_that_hangs_leaves_its_group_and_joins_again(
    app: App, thread: ConsumerThread, installation: Installation
) -> None:
    """Its thread continues with heartbeats, so the group would wait forever for what nobody decides."""
    assert thread.in_group

    async def nobody_left() -> None:
        """Return when the worker has left, and the broker counts no member."""
        async with asyncio.timeout(SECONDS):
            while thread.in_group or await group_members(installation.settings()):  # noqa: ASYNC110 (no event tells it)
                await asyncio.sleep(0.2)

    with ThreadPoolExecutor() as pool:
        pool.submit(asyncio.run, nobody_left()).result()  # the app's loop, which is this one, hangs meanwhile
    await asyncio.to_thread(installation.send, readings(100))
    await until(lambda: decided(app) >= 100 and thread.in_group)


async def test_unreadable_input_does_not_hide_that_the_app_hangs(app: App, thread: ConsumerThread) -> None:
    """To aiokafka a call that raises is under way forever; from then on no silence of the app is idle time."""
    fetcher, subscription = thread._ensure_consumer()._fetcher, thread._ensure_consumer()._subscription  # noqa: SLF001
    unreadable = FetchError(error=UnreadableBatchError(app.events_topic, 0, 0, "zstd", ValueError()), backoff=0)
    thread.thread_loop.call_soon_threadsafe(fetcher._records.setdefault, TP(app.events_topic, 0), unreadable)  # noqa: SLF001
    await until(lambda: app.partitions.stopped == {0: "batch-unreadable"})
    time.sleep(0.2)  # noqa: ASYNC251 (the app hangs)
    assert subscription.fetcher_idle_time >= 0.2


async def test_heartbeats_that_an_error_ended_begin_again(thread: ConsumerThread, installation: Installation) -> None:
    """No other heartbeats begin before the next rebalance: the group would drop an idle worker, for good."""
    group = thread._ensure_consumer()._coordinator  # noqa: SLF001
    send, answered = group._do_heartbeat, threading.Event()  # noqa: SLF001

    async def refused() -> bool:
        """Return once an answer that aiokafka does not know, as brokers in trouble may send."""
        group._do_heartbeat = heard  # noqa: SLF001
        raise UnknownError

    async def heard() -> bool:
        """Send heartbeats as ever."""
        answered.set()
        return bool(await send())

    group._do_heartbeat = refused  # noqa: SLF001
    assert await asyncio.to_thread(answered.wait, SECONDS)
    assert await group_members(installation.settings()) == 1
    assert thread.in_group


async def test_a_worker_whose_group_is_given_up_crashes(app: App, thread: ConsumerThread) -> None:
    """The routine of aiokafka has ended, so nobody would rejoin; a restart does."""
    group = thread._ensure_consumer()._coordinator  # noqa: SLF001

    async def broken() -> None:
        """Fail as no library should."""
        raise RuntimeError

    group.ensure_coordinator_known = broken
    async with asyncio.timeout(SECONDS):
        while not app.crashed:
            thread.thread_loop.call_soon_threadsafe(group.request_rejoin)
            await asyncio.sleep(0.2)


async def test_what_nobody_wants_is_not_taken(app: App, consumer: Consumer, installation: Installation) -> None:
    """If taken while all partitions are full or paused, it would be dropped and never fetched again."""
    places = [TP(app.events_topic, number) for number in (0, 1)]
    for place in places:
        consumer.on_buffer_full(place)
    await asyncio.to_thread(installation.send, readings(100))
    async with asyncio.timeout(SECONDS):
        await until(lambda: bool(consumer.thread._ensure_consumer()._fetcher._records))  # noqa: SLF001
        assert await consumer.thread.getmany(set(), 0) == {}
        for place in places:
            consumer.on_buffer_drop(place)
        await until(lambda: decided(app) >= 100)


async def test_nobody_waits_longer_than_is_said(app: App, thread: ConsumerThread) -> None:
    """Brokers that are away never answer; anyone who asks after that is refused as well."""
    thread.answer_for(0.1)
    async with asyncio.timeout(SECONDS):
        with pytest.raises(ConsumerEndedError):
            await thread.call_thread(asyncio.Event().wait)
        with pytest.raises(ConsumerEndedError):
            await thread.committed(TP(app.events_topic, 0))
