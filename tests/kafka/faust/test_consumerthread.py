"""The consumer's thread at its end, against a real broker."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
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
from stream_app.kafka.faust.consumerthread import ConsumerEndedError
from stream_app.kafka.owner.inbox import Fetched
from stream_app.localbroker.broker import LocalBroker
from stream_app.monitoring.metrics import Metrics
from tests.kafka.installation import Installation, readings

SECONDS = 90.0
POLL_SECONDS = 3


@pytest.fixture
def installation(broker: LocalBroker, tmp_path: Path) -> Installation:
    """Topics and settings, made outside any loop."""
    return Installation(broker, tmp_path, f"ended-consumer-{tmp_path.name}")  # each has a key of its own


@pytest.fixture
async def app(installation: Installation) -> AsyncIterator[App]:
    """An app that works on its partitions."""
    settings = installation.settings()
    names = installation.names
    topic = EventsTopic(settings, names.events, (await describe(settings, names))[names.events].id)
    app = App(settings, load_context(settings), None, topic, names, Metrics())
    await app.start()
    async with asyncio.timeout(SECONDS):
        while app.partitions.working != [0, 1]:  # noqa: ASYNC110 (no event tells it)
            await asyncio.sleep(0.05)
    yield app
    await app.stop()


async def test_nothing_waits_in_a_queue_that_faust_empties(
    app: App, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Faust does so at the end of a rebalance: a fetch in it was lost, and its partition waited for it for ever."""
    thread = cast("Consumer", app.consumer).thread
    seek, put = app.consumer.perform_seek, app.partitions.put
    early: list[int] = []

    def noted(number: int, fetched: Fetched, message: Any) -> None:
        """Note a fetch that came before the rebalance has ended."""
        if app.rebalancing:
            early.append(number)
        put(number, fetched, message)

    async def slowly() -> None:
        """Seek, and give fetches time to come before Faust empties its queues, and resumes its flow."""
        await seek()
        await asyncio.to_thread(installation.send, list(readings(200)))
        await asyncio.sleep(2.0)

    monkeypatch.setattr(app.partitions, "put", noted)
    monkeypatch.setattr(app.consumer, "perform_seek", slowly)
    thread.thread_loop.call_soon_threadsafe(thread._ensure_consumer()._coordinator.request_rejoin)  # noqa: SLF001
    async with asyncio.timeout(SECONDS):
        while sum(app.partitions.positions().values()) < 200:  # noqa: ASYNC110 (no event tells it)
            await asyncio.sleep(0.05)
    assert early == []


async def test_a_crashed_app_stops(app: App) -> None:
    """Its consumer's thread ended by itself: who asks it is refused at once, and nothing of the app is left running."""
    consumer = cast("Consumer", app.consumer)
    thread, tp = consumer.thread, TP(app.events_topic, 0)
    assert await consumer.committed([tp]) is not None
    await consumer.crash(KafkaConnectionError())
    async with asyncio.timeout(SECONDS):
        while not thread.thread_loop.is_closed():  # noqa: ASYNC110 (no event tells it)
            await asyncio.sleep(0.05)
        assert app.crashed
        with pytest.raises(ConsumerEndedError):
            await consumer.committed([tp])
        assert not await consumer.owns(tp, 0)
        assert not await consumer.commit()
        await app.stop()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert [task for task in left if not task.done()] == []


async def test_what_was_asked_is_refused_when_the_thread_ends(app: App) -> None:
    """Nobody waits for ever; who is cancelled meanwhile is cancelled, and not refused."""
    thread = cast("Consumer", app.consumer).thread

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


async def test_it_looks_again_when_it_is_asked(app: App) -> None:
    """A partition is wanted again that was full: nobody waits until something else is fetched, or a second."""
    thread = cast("Consumer", app.consumer).thread
    async with asyncio.timeout(SECONDS):
        asked = asyncio.create_task(thread.getmany(set(), 1e6))
        while (await asyncio.wait({asked}, timeout=2.0))[0]:  # what begins may wake it
            asked = asyncio.create_task(thread.getmany(set(), 1e6))
        thread.look()
        assert await asked == {}


@pytest.fixture
def short_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a worker that hangs leave its group soon: Faust takes its own settings from the environment."""
    monkeypatch.setenv("BROKER_MAX_POLL_INTERVAL", str(POLL_SECONDS))


@pytest.mark.usefixtures("short_interval")
async def test_an_app_that_hangs_leaves_its_group_and_joins_again(app: App, installation: Installation) -> None:
    """Its thread goes on with heartbeats: the group would wait for ever for what nobody decides."""
    thread = cast("Consumer", app.consumer).thread
    assert thread.in_group

    async def nobody_left() -> None:
        """Return when the worker has left, and the broker counts no member."""
        async with asyncio.timeout(SECONDS):
            while thread.in_group or await group_members(installation.settings()):  # noqa: ASYNC110 (no event tells it)
                await asyncio.sleep(0.2)

    with ThreadPoolExecutor() as pool:
        pool.submit(asyncio.run, nobody_left()).result()  # the app's loop, which is this one, hangs meanwhile
    await asyncio.to_thread(installation.send, readings(100))
    async with asyncio.timeout(SECONDS):
        while sum(app.partitions.positions().values()) < 100 or not thread.in_group:  # noqa: ASYNC110 (no event tells it)
            await asyncio.sleep(0.05)


async def test_unreadable_input_does_not_hide_that_the_app_hangs(app: App) -> None:
    """A call that raises is under way for ever in the eyes of aiokafka; then no silence of the app is idle time."""
    thread = cast("Consumer", app.consumer).thread
    fetcher, subscription = thread._ensure_consumer()._fetcher, thread._ensure_consumer()._subscription  # noqa: SLF001
    unreadable = FetchError(error=UnreadableBatchError(app.events_topic, 0, 0, "zstd", ValueError()), backoff=0)
    thread.thread_loop.call_soon_threadsafe(fetcher._records.setdefault, TP(app.events_topic, 0), unreadable)  # noqa: SLF001
    async with asyncio.timeout(SECONDS):
        while app.partitions.stopped != {0: "batch-unreadable"}:  # noqa: ASYNC110 (no event tells it)
            await asyncio.sleep(0.05)
    time.sleep(0.2)  # noqa: ASYNC251 (the app hangs)
    assert subscription.fetcher_idle_time >= 0.2


async def test_heartbeats_that_an_error_ended_begin_again(app: App, installation: Installation) -> None:
    """No others begin before the next rebalance: the group would drop an idle worker, for good."""
    thread = cast("Consumer", app.consumer).thread
    group = thread._ensure_consumer()._coordinator  # noqa: SLF001
    send, answered = group._do_heartbeat, threading.Event()  # noqa: SLF001

    async def refused() -> bool:
        """Be told once what aiokafka does not know, as brokers may in trouble."""
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


async def test_a_worker_whose_group_is_given_up_crashes(app: App) -> None:
    """The routine of aiokafka has ended: nobody would join again, and a restart does."""
    thread = cast("Consumer", app.consumer).thread
    group = thread._ensure_consumer()._coordinator  # noqa: SLF001

    async def broken() -> None:
        """Fail as no library should."""
        raise RuntimeError

    group.ensure_coordinator_known = broken
    async with asyncio.timeout(SECONDS):
        while not app.crashed:
            thread.thread_loop.call_soon_threadsafe(group.request_rejoin)
            await asyncio.sleep(0.2)


async def test_what_nobody_wants_is_not_taken(app: App, installation: Installation) -> None:
    """Taken while all partitions are full, or paused, it would be dropped, and nothing fetch it again."""
    consumer = cast("Consumer", app.consumer)
    places = [TP(app.events_topic, number) for number in (0, 1)]
    for place in places:
        consumer.on_buffer_full(place)
    await asyncio.to_thread(installation.send, readings(100))
    async with asyncio.timeout(SECONDS):
        while not consumer.thread._ensure_consumer()._fetcher._records:  # noqa: ASYNC110, SLF001 (no event tells it)
            await asyncio.sleep(0.05)
        assert await consumer.thread.getmany(set(), 0) == {}
        for place in places:
            consumer.on_buffer_drop(place)
        while sum(app.partitions.positions().values()) < 100:  # noqa: ASYNC110 (no event tells it)
            await asyncio.sleep(0.05)


async def test_nobody_waits_longer_than_is_said(app: App) -> None:
    """Brokers that are away answer never; whoever asks after that is refused as well."""
    consumer = cast("Consumer", app.consumer)
    consumer.thread.answer_for(0.1)
    async with asyncio.timeout(SECONDS):
        with pytest.raises(ConsumerEndedError):
            await consumer.thread.call_thread(asyncio.Event().wait)
        with pytest.raises(ConsumerEndedError):
            await consumer.committed([TP(app.events_topic, 0)])
