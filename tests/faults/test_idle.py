"""Each event that may affect an idle worker, one by one: whatever is sent afterwards is released once.

The defaults take minutes to days; the test's own brokers use short ones.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from aiokafka.errors import KafkaError

from stream_app.kafka.client.routing import router
from tests.admin import administration
from tests.faults.network.brokers import Brokers
from tests.kafka.installation import Installation, readings
from tests.patience import ANSWER_SECONDS, PATIENCE_SECONDS, awaited

SERIES: Final = 20
"""Enough for at least one series in each partition."""
TRANSACTIONS: Final = 2
"""The level of `transaction.version` that a new cluster of Kafka 4.1 has."""

Act = Callable[[Brokers, Installation], None]


def restart(brokers: Brokers, _: Installation) -> None:
    """Stop the only broker, and start it again."""
    asyncio.run(brokers.stop(0))
    asyncio.run(brokers.start(0))


def move(brokers: Brokers, installation: Installation) -> None:
    """Stop the broker that coordinates the group; another broker takes over."""
    before = asyncio.run(_coordinator(installation, 0))
    asyncio.run(brokers.stop(before - 1))
    installation.broker = brokers.running
    assert asyncio.run(_coordinator(installation, before)) != before


def delete(_: Brokers, installation: Installation) -> None:
    """Delete all events, as the topic's retention does."""
    installation.forget_events(-1)
    assert installation.read(installation.names.events) == []


def expired(_: Brokers, installation: Installation) -> None:
    """Wait until the group's offsets have expired."""
    awaited(lambda: not installation.committed(), lambda: "the group keeps its offsets")


def nothing(_: Brokers, __: Installation) -> None:
    """Only let the time pass."""


class Case(NamedTuple):
    """What happens while nothing is sent."""

    brokers: Mapping[str, str] = {}
    """Settings of the brokers."""
    environment: Mapping[str, str] = {}
    """Environment from which Faust reads settings of the worker's consumer."""
    act: Act = nothing
    seconds: float = 12.0
    """The minimum time for which nothing is sent; several times the expiry time."""
    runs: bool = True
    """Whether the worker runs meanwhile; if not, another one starts afterwards."""
    nodes: int = 1
    """How many brokers there are."""
    said: str = ""
    """What the log then says."""


OFFSETS: Final = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "2000"}
CASES: Final = {
    "brokers close idle connections": Case({"connections.max.idle.ms": "3000"}),
    "the client closes idle connections": Case(environment={"CONSUMER_CONNECTIONS_MAX_IDLE_MS": "3000"}),
    "metadata age": Case(environment={"CONSUMER_METADATA_MAX_AGE_MS": "1000"}),
    "producer ids expire": Case(
        {"producer.id.expiration.ms": "3000", "producer.id.expiration.check.interval.ms": "1000"}
    ),
    "transactional ids expire": Case(
        {
            "transactional.id.expiration.ms": "3000",
            "transaction.remove.expired.transaction.cleanup.interval.ms": "1000",
        },
        said="reopening its producer",
    ),
    "the coordinator restarts": Case(act=restart),
    "the coordinator moves to another broker": Case(act=move, nodes=3),
    "the group's offsets expire, but not with a worker": Case(OFFSETS, seconds=90),
    "the group's offsets expire without a worker": Case(OFFSETS, act=expired, runs=False),
    "events are deleted": Case(act=delete),
    "events are deleted without a worker": Case(act=delete, runs=False),
}


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_what_is_sent_after_idleness_is_released_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same worker does so unless it ended meanwhile; nothing released before is released again."""
    case = CASES[name]
    for variable, value in case.environment.items():
        monkeypatch.setenv(variable, value)
    with _running(tmp_path / "kafka", case) as brokers:
        everywhere = {"bootstrap_servers": brokers.bootstrap_servers}
        installation = Installation(brokers.running, tmp_path / "installation", "idle", more=everywhere)
        route = router(installation.partitions)
        before = list(readings(SERIES, SERIES))
        after = list({route(one["series"].encode()): one for one in readings(SERIES, SERIES, SERIES)}.values())
        assert len(after) == installation.partitions
        total = installation.send(before) + len(after)
        with installation.worker("a") as worker:
            worker.await_committed(len(before))
            if not case.runs:
                assert worker.stop() == 0
            began = time.monotonic()
            case.act(brokers, installation)
            time.sleep(max(0.0, case.seconds - (time.monotonic() - began)))
            installation.send(after)
            if case.runs:
                worker.await_committed(total, ANSWER_SECONDS)
                assert worker.stop() == 0
                assert case.said in worker.log.read_text()
                assert worker.log.read_text().count("owns partitions [0, 1]") == 1, "it stayed in its group"
        if not case.runs:
            assert case.said in installation.decide(total, "b")
        found = [json.loads(record.value) for record in installation.read(installation.names.releases)]
        assert Counter(map(_place, found)) == Counter(map(_place, before + after))
        assert installation.command("audit") == 0


def _place(event: Mapping[str, object]) -> tuple[object, object]:
    return event["series"], event["timestamp"]


@contextmanager
def _running(folder: Path, case: Case) -> Iterator[Brokers]:
    brokers = Brokers(folder, case.nodes, case.brokers)
    try:
        asyncio.run(brokers.__aenter__())
        asyncio.run(brokers.enable("transaction.version", TRANSACTIONS))
        yield brokers
    finally:
        asyncio.run(brokers.__aexit__(None, None, None))


async def _coordinator(installation: Installation, before: int) -> int:
    """Return the broker that coordinates the group once it differs from ``before``."""
    async with administration(bootstrap_servers=installation.broker.bootstrap_servers) as admin:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    found = int(await admin.find_coordinator(installation.application))
                except KafkaError:
                    found = before
                if found != before:
                    return found
                await asyncio.sleep(0.5)
