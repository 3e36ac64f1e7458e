"""Every test of this folder runs twice: on the cluster in memory, and on a real broker."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from stream_app.kafka.brokers import Brokers, Writer
from stream_app.localbroker.broker import LocalBroker
from stream_app.setup import keyfile
from tests.contract.clusters import Cluster
from tests.contract.inmemory import InMemory
from tests.contract.onbroker import OnBroker
from tests.kafka.faust.conftest import store_in

__all__ = ["store_in"]  # a fixture


@pytest_asyncio.fixture(params=["memory", pytest.param("broker", marks=pytest.mark.broker)])
async def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Cluster]:
    """Yield both clusters in turn, each without topics of the test."""
    found: Cluster
    if request.param == "memory":
        found = InMemory()
    else:
        broker: LocalBroker = request.getfixturevalue("broker")
        keyfile.create(tmp_path / "key")
        found = OnBroker(broker.bootstrap_servers, tmp_path, f"contract-{uuid.uuid4().hex[:8]}")
    await found.open()
    yield found
    await found.close()


@pytest_asyncio.fixture
async def topic(cluster: Cluster) -> str:
    """Make a topic of one partition."""
    return await cluster.make("t")


@pytest.fixture
def brokers(cluster: Cluster, topic: str) -> Brokers:
    """Return the cluster as seen by a worker with that events topic."""
    return cluster.brokers("a", topic)


@pytest_asyncio.fixture
async def writer(brokers: Brokers) -> Writer:
    """Return the first writer of partition 0."""
    return await brokers.fence(0)
