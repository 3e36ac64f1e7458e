"""Asking which topic the events topic is, while its broker does not answer."""

import asyncio
import logging
import os
import signal
from pathlib import Path

import pytest

from stream_app.kafka.client import eventstopic
from stream_app.kafka.client.eventstopic import EventsTopic
from stream_app.kafka.client.topicid import describe
from stream_app.localbroker.broker import LocalBroker
from tests.kafka.installation import Installation
from tests.patience import PATIENCE_SECONDS


def test_partitions_wait_for_a_broker_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No answer in time is no reason to stop: they ask again, and go on when it comes."""
    monkeypatch.setattr(eventstopic, "_ANSWER_SECONDS", 1.0)
    caplog.set_level(logging.INFO, eventstopic.__name__)
    with LocalBroker.start(tmp_path / "kafka") as broker:
        installation = Installation(broker, tmp_path / "installation", "away")
        settings, name = installation.settings(), installation.names.events

        async def ask() -> None:
            """Confirm the topic for two partitions at once."""
            began_with = (await describe(settings, (name,)))[name].id
            topic = EventsTopic(settings, name, began_with)
            await asyncio.gather(*(topic.confirm(partition, began_with) for partition in (0, 1)))
            os.kill(broker.pid, signal.SIGSTOP)
            while not _stands(broker.pid):  # noqa: ASYNC110 (no event tells it)
                await asyncio.sleep(0.01)
            asking = [asyncio.create_task(topic.confirm(partition, began_with)) for partition in (0, 1)]
            async with asyncio.timeout(PATIENCE_SECONDS):
                # Both ask again, and one because no answer came: it closes the connection, perhaps under the other one.
                while not all(f"partition {nth}: asking" in caplog.text for nth in (0, 1)):
                    assert not any(one.done() for one in asking)
                    await asyncio.sleep(0.1)
                assert "TimeoutError" in caplog.text
                os.kill(broker.pid, signal.SIGCONT)
                await asyncio.gather(*asking)
                await topic.look()
                await topic.close()
            assert topic.state == "same"

        asyncio.run(ask())


def _stands(process: int) -> bool:
    """Return whether all threads of a process are stopped: until then one may answer."""
    threads = Path(f"/proc/{process}/task").glob("*/stat")
    return all(thread.read_text().rpartition(") ")[2].startswith("T") for thread in threads)
