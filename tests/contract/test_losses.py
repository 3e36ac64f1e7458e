"""Events that affect a cluster: time, expiring ids, a broker that loses power and the ends of its logs."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from aiokafka.errors import InvalidProducerIdMapping, KafkaError, OutOfOrderSequenceNumber, ProducerFenced

from stream_app.kafka.brokers import Brokers, Extent, Writer
from stream_app.localbroker.broker import LocalBroker
from stream_app.setup import keyfile
from tests.contract.acts import commit, ends, seen, send, soon
from tests.contract.clusters import Cluster
from tests.contract.inmemory import InMemory
from tests.contract.onbroker import OnBroker
from tests.kafka.evidence.cutlog import lose_power

TIMEOUT_MS = 3_000
_LOOKS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}
_FORGETS = {
    "transactional.id.expiration.ms": "1000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "200",
}


class HarshInMemory:
    """The cluster in memory, which such events can affect."""

    def __init__(self) -> None:
        """Begin with a cluster whose time passes."""
        self.cluster = InMemory()

    async def expire(self, application: str) -> None:
        """Let the transactional id of partition 0 expire."""
        assert self.cluster.cluster.transactions.expire(f"{application}-0")

    async def lose_tail(self, *ends: tuple[str, int]) -> None:
        """Lose power and, in partition 0 of the topics, everything from an offset on."""
        for topic, end in ends:
            self.cluster.cluster.log(topic, 0).lose_tail(end)


class HarshBroker:
    """A broker of its own, which is killed and started again."""

    def __init__(self, broker: LocalBroker, folder: Path) -> None:
        """Take a broker that runs; after each restart it is another process in the same folder."""
        self._folder = broker.folder
        self.cluster = OnBroker(broker.bootstrap_servers, folder, f"contract-{uuid.uuid4().hex[:8]}")

    async def expire(self, application: str) -> None:  # noqa: ARG002 (every idle one expires)
        """Restart the broker so that it forgets ids soon, and wait until it has done so."""
        await self._restart({**_LOOKS, **_FORGETS})
        await asyncio.sleep(4)

    async def lose_tail(self, *ends: tuple[str, int]) -> None:
        """Truncate logs while the broker is down; it then runs again under the same address."""
        running = LocalBroker.find(self._folder)
        assert running is not None
        await asyncio.to_thread(lose_power, running, ends)
        await self._restart(_LOOKS)

    async def _restart(self, overrides: dict[str, str]) -> None:
        def restart() -> None:
            if (running := LocalBroker.find(self._folder)) is not None:
                running.stop()
            LocalBroker.start(self._folder, overrides=overrides)

        await asyncio.to_thread(restart)


Harsh = HarshInMemory | HarshBroker


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    """Run a broker that constantly looks for late transactions."""
    folder = tmp_path_factory.mktemp("harsh")
    yield LocalBroker.start(folder, overrides=_LOOKS)
    running = LocalBroker.find(folder)
    if running is not None:
        running.stop()


@pytest.fixture
def harsh_broker(own_broker: LocalBroker, tmp_path: Path) -> HarshBroker:
    """Return the broker as a cluster that such events can affect."""
    keyfile.create(tmp_path / "key")
    return HarshBroker(own_broker, tmp_path)


@pytest_asyncio.fixture(params=["memory", pytest.param("broker", marks=pytest.mark.broker)])
async def harsh(request: pytest.FixtureRequest) -> AsyncIterator[Harsh]:
    """Yield both clusters, one after the other."""
    # By name: what names a broker counts as a test that needs one.
    found: Harsh = HarshInMemory() if request.param == "memory" else request.getfixturevalue("harsh_broker")
    await found.cluster.open()
    yield found
    await found.cluster.close()


@pytest.fixture
def cluster(harsh: Harsh) -> Cluster:
    """Return the cluster that these events affect."""
    return harsh.cluster


async def test_a_late_transaction_is_aborted_by_the_coordinator(cluster: Cluster, topic: str, brokers: Brokers) -> None:
    """Its writer learns of it from its next request; whoever fences continues with the id."""
    other = await cluster.make("u")
    writers = {act: await cluster.brokers(act, timeout_ms=TIMEOUT_MS).fence(0) for act in ("commit", "send", "add")}
    for writer in writers.values():
        await writer.begin()
        await send(writer, topic, b"late")
    await soon(lambda: ends(brokers, topic), (6, 6))
    for act, writer in writers.items():
        with pytest.raises(ProducerFenced):
            await (writer.commit() if act == "commit" else send(writer, topic if act == "send" else other, b"more"))
        await writer.abort()
        assert (await cluster.brokers(act).fence(0)).id == writer.id
    assert await ends(brokers, topic) == (6, 6)
    assert await ends(brokers, other) == (0, 0)
    assert await seen(brokers, topic, "read_committed") == []


async def test_a_transaction_in_time_lasts(cluster: Cluster, topic: str, brokers: Brokers, writer: Writer) -> None:
    """The time of one transaction does not affect that of another."""
    late = await cluster.brokers("b", timeout_ms=TIMEOUT_MS).fence(0)
    for one in (writer, late):
        await one.begin()
        await send(one, topic, b"1")
    await soon(lambda: ends(brokers, topic), (0, 3))
    await writer.commit()
    await soon(lambda: ends(brokers, topic), (4, 4))
    assert await seen(brokers, topic, "read_committed") == [(0, b"1")]


async def test_logs_lose_their_tails(harsh: Harsh, cluster: Cluster) -> None:
    """Logs end earlier and grow again from the same offsets; their writers and readers then see the same."""
    topics = {name: await cluster.make(name) for name in ("tail", "marker", "all")}
    writers = {name: await cluster.brokers(name).fence(0) for name in topics}
    brokers = cluster.brokers("looks")
    for name, topic in topics.items():
        for value in (b"0", b"2", b"4"):
            await commit(writers[name], topic, value)
        await soon(lambda topic=topic: ends(brokers, topic), (6, 6))  # type: ignore[misc]
    await harsh.lose_tail((topics["tail"], 4), (topics["marker"], 3), (topics["all"], 0))
    await _tail(cluster, topics["tail"], writers["tail"])
    await _marker(cluster, topics["marker"])
    await _all(cluster, topics["all"], writers["all"])


async def _tail(cluster: Cluster, topic: str, writer: Writer) -> None:
    """A broker detects that records of a producer are missing."""
    brokers = cluster.brokers("tail")
    assert await ends(brokers, topic) == (4, 4)
    assert await seen(brokers, topic, "read_committed") == [(0, b"0"), (2, b"2")]
    assert await seen(brokers, topic, "read_uncommitted", 6) == []
    await writer.begin()
    with pytest.raises(OutOfOrderSequenceNumber):
        await send(writer, topic, b"5")
    await writer.abort()
    await soon(lambda: ends(brokers, topic), (5, 5))
    owner = await brokers.fence(0)
    assert owner.id == writer.id
    assert await commit(owner, topic, b"6") == Extent(5, 6)
    await soon(lambda: ends(brokers, topic), (7, 7))
    assert await seen(brokers, topic, "read_committed") == [(0, b"0"), (2, b"2"), (5, b"6")]


async def _marker(cluster: Cluster, topic: str) -> None:
    """The coordinator has ended the transaction, but it hangs: no fence aborts it; the next commit commits it."""
    brokers = cluster.brokers("marker")
    assert await ends(brokers, topic) == (2, 3)
    owner = await brokers.fence(0)
    assert await ends(brokers, topic) == (2, 3)
    assert await commit(owner, topic, b"3") == Extent(3, 4)
    await soon(lambda: ends(brokers, topic), (5, 5))
    assert await seen(brokers, topic, "read_committed") == [(0, b"0"), (2, b"2"), (3, b"3")]


async def _all(cluster: Cluster, topic: str, writer: Writer) -> None:
    """No producer is known then, and any record of a producer is accepted."""
    brokers = cluster.brokers("all")
    assert await ends(brokers, topic) == (0, 0)
    assert await commit(writer, topic, b"5") == Extent(0, 1)
    await soon(lambda: ends(brokers, topic), (2, 2))
    assert await seen(brokers, topic, "read_committed") == [(0, b"5")]


async def test_an_expired_id_is_another_one_afterwards(
    harsh: Harsh, topic: str, brokers: Brokers, writer: Writer
) -> None:
    """The owner learns of it with its next record, and has to fence again."""
    await commit(writer, topic, b"0")
    await soon(lambda: ends(brokers, topic), (2, 2))
    await harsh.expire("a")
    await writer.begin()
    with pytest.raises(KafkaError) as refused:
        await send(writer, topic, b"2")
    assert isinstance(refused.value.__cause__, InvalidProducerIdMapping)
    await writer.abort()
    owner = await brokers.fence(0)
    assert owner.id != writer.id
    assert await commit(owner, topic, b"2") == Extent(2, 3)
    await soon(lambda: ends(brokers, topic), (4, 4))
