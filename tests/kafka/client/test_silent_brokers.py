"""Brokers that accept connections but never answer, like one that hangs: a worker survives them, and ends."""

import asyncio
import logging
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from aiokafka.errors import KafkaError

from stream_app.kafka.client import eventstopic
from stream_app.kafka.client.cluster import Cluster
from stream_app.kafka.client.eventstopic import EventsTopic
from stream_app.kafka.client.topicid import describe
from stream_app.localbroker.broker import LocalBroker
from tests.kafka.installation import Installation, readings
from tests.kafka.replayed import assert_topics_hold_what_replay_computes
from tests.kafka.workerprocess import WorkerProcess
from tests.patience import PATIENCE_SECONDS, awaited

MOST_SECONDS = 20.0
"""The longest time until a worker has ended, as docs/how-to/scale-out.md says."""


@pytest.fixture(scope="module")
def silenced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    """A broker of this file's own, which its tests may halt."""
    with LocalBroker.start(tmp_path_factory.mktemp("silenced")) as running:
        yield running


@pytest.fixture
def installation(silenced: LocalBroker, tmp_path: Path, request: pytest.FixtureRequest) -> Installation:
    """An installation named after the test, with the session timeout that users have."""
    name = re.sub("[^a-z]+", "-", request.node.name.removeprefix("test_")).strip("-")
    more = {"data_folder": tmp_path / "data", "batch_records": 50}
    return Installation(silenced, tmp_path, name, more=more)


@contextmanager
def silent(broker: LocalBroker) -> Iterator[None]:
    """Halt the broker inside the block: the system accepts connections for it, and nobody answers."""
    with woken(broker):
        os.kill(broker.pid, signal.SIGSTOP)
        yield


@contextmanager
def woken(broker: LocalBroker) -> Iterator[None]:
    """Ensure that the broker, which may be halted inside the block, answers after the block."""
    try:
        yield
    finally:
        os.kill(broker.pid, signal.SIGCONT)
        asyncio.run(_answers(broker))


async def _answers(broker: LocalBroker) -> None:
    """Wait until the broker is back in its cluster, which considered it dead meanwhile."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    await asyncio.sleep(5)  # its controller, halted as well, takes it for dead only after both have woken up
    while True:
        with suppress(KafkaError, OSError):
            async with Cluster.connected({"bootstrap_servers": broker.bootstrap_servers}) as cluster:
                if await cluster.brokers():
                    return
        assert time.monotonic() < deadline
        await asyncio.sleep(0.2)


def ended(worker: WorkerProcess) -> tuple[int, float]:
    """Ask a worker to end; return its exit code and the time that it took."""
    began = time.monotonic()
    worker.process.terminate()
    return worker.await_end(), time.monotonic() - began


@pytest.mark.parametrize("when", ["at work", "idle", "taking over", "before its start"])
def test_a_worker_ends_while_brokers_are_silent(installation: Installation, when: str) -> None:
    """It takes at most 20 seconds: code 0, a line on what is left to others, who continue as if nothing was."""
    installation.more["session_timeout_ms"] = 45_000
    total = installation.send(readings(4_000))
    if when == "before its start":
        with silent(installation.broker), installation.worker() as worker:
            time.sleep(3)
            code, seconds = ended(worker)
    else:
        with installation.worker() as worker:
            match when:
                case "at work":
                    worker.await_committed(100)
                case "idle":
                    worker.await_committed(total)
                case _:
                    worker.await_log("health at")
            with silent(installation.broker):
                time.sleep(1)
                code, seconds = ended(worker)
    said = worker.said()
    assert code == 0, said
    assert seconds < MOST_SECONDS, said
    assert "bug" not in said
    assert when == "before its start" or "stopped" in said.splitlines()[-1], said
    total += installation.send(readings(400, start=4_000))
    with installation.worker("next", session_timeout_ms="6000") as worker:
        worker.await_committed(total)
        assert worker.stop() == 0
    installation.answered_once()
    assert_topics_hold_what_replay_computes(installation)


def test_silent_brokers_show(installation: Installation) -> None:
    """Partitions stay ready, because nobody else could decide them; page, metric and /readyz give the cause."""
    installation.more["session_timeout_ms"] = 45_000
    total = installation.send(readings(200))
    with installation.worker() as worker:
        worker.await_committed(total)
        worker.await_ready(200, "partitions [0, 1]")
        assert worker.metric("landmark_degraded") == 0
        with silent(installation.broker):
            worker.await_ready(200, "partitions [0, 1]; degraded: the brokers do not answer")
            assert worker.metric("landmark_degraded") == 1
            assert "Degraded: the brokers do not answer" in worker.get("/")[1]
            worker.await_log(
                "degraded: no answer from the brokers for 20 s; nothing is processed until they answer again"
            )
        awaited(lambda: "degraded" not in worker.ready()[1])
        assert worker.metric("landmark_degraded") == 0
        worker.await_log("the brokers answer again")
        said = worker.said()
        assert [said.count(line) for line in ("degraded: no", "answer again\n", ": processing records, ")] == [1, 1, 2]
        total += installation.send(readings(200, start=200))
        worker.await_committed(total)
        assert worker.stop() == 0
    installation.answered_once()


def test_partitions_wait_for_a_broker_that_does_not_answer(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A missing answer about the events topic stops no partition: they ask again, and continue when it comes."""
    monkeypatch.setattr(eventstopic, "_ANSWER_SECONDS", 1.0)
    caplog.set_level(logging.INFO, eventstopic.__name__)
    settings, name, halted = installation.settings(), installation.names.events, installation.broker.pid

    async def ask() -> None:
        """Confirm the topic for two partitions concurrently."""
        began_with = (await describe(settings, (name,)))[name].id
        topic = EventsTopic(settings, name, began_with)
        await asyncio.gather(*(topic.confirm(partition, began_with) for partition in (0, 1)))
        os.kill(halted, signal.SIGSTOP)
        while not _stands(halted):  # noqa: ASYNC110 (no event tells it)
            await asyncio.sleep(0.01)
        asking = [asyncio.create_task(topic.confirm(partition, began_with)) for partition in (0, 1)]
        async with asyncio.timeout(PATIENCE_SECONDS):
            # Both ask again, and one because no answer came: it closes the connection, perhaps under the other one.
            while not all(f"partition {nth}: cannot query" in caplog.text for nth in (0, 1)):
                assert not any(one.done() for one in asking)
                await asyncio.sleep(0.1)
            assert "TimeoutError" in caplog.text
            os.kill(halted, signal.SIGCONT)
            await asyncio.gather(*asking)
            await topic.look()
            await topic.close()
        assert topic.state == "same"

    with woken(installation.broker):
        asyncio.run(ask())


def _stands(process: int) -> bool:
    """Return whether all threads of a process are stopped: until then one may answer."""
    threads = Path(f"/proc/{process}/task").glob("*/stat")
    return all(thread.read_text().rpartition(") ")[2].startswith("T") for thread in threads)
