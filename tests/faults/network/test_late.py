"""Requests that are lost, held, or delivered late after their own repetition: nothing is lost, doubled or differs.

The table of all runs, a line each:

    python -m pytest tests/faults/network/test_late.py --speed long --table table.md
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.network.brokers import Brokers
from tests.faults.network.late import AFTERWARDS, Cluster, Row, run
from tests.faults.network.scenarios import COMMITS, IDLE, OTHERS

CLUSTERS = {
    "one": (1, 2, True),
    "one-unverified": (1, 2, False),
    "one-old": (1, 0, True),
    "one-old-unverified": (1, 0, False),
    "three": (3, 2, True),
    "three-old-unverified": (3, 0, False),
}
"""How many brokers, the level of `transaction.version`, and whether partitions of transactions are verified."""

QUICK = {"late between ledger and releases", "copied, then killed in the window"}
"""What `make test` runs, on one broker; the rest belongs to `make long`."""


class Clusters:
    """At most one cluster runs: asking for another one stops it."""

    def __init__(self, folder: Path) -> None:
        """Start none yet."""
        self._folder = folder
        self._name = ""
        self._cluster: Cluster | None = None

    def get(self, name: str) -> Cluster:
        """Return the running cluster of a name, started unless it is the last one that was asked for."""
        if self._cluster is None or self._name != name:
            self.stop()
            count, transactions, verified = CLUSTERS[name]
            more = {"transaction.partition.verification.enable": str(verified).lower()}
            brokers = Brokers(self._folder / name, count, more)
            self._name, self._cluster = name, Cluster(brokers, count, transactions, verified)
            asyncio.run(_begin(brokers, transactions))
        return self._cluster

    def stop(self) -> None:
        """Stop what runs."""
        if self._cluster is not None:
            asyncio.run(self._cluster.brokers.__aexit__(None, None, None))
        self._cluster = None


async def _begin(brokers: Brokers, transactions: int) -> None:
    await brokers.__aenter__()
    if transactions:
        await brokers.enable("transaction.version", transactions)


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    """Return clusters whose brokers advertise the ports of a proxy."""
    found = Clusters(tmp_path_factory.mktemp("clusters"))
    yield found
    found.stop()


@pytest.fixture
def cluster(request: pytest.FixtureRequest, clusters: Clusters) -> Cluster:
    """Return the cluster that the test names."""
    return clusters.get(request.param)


def _each(names: list[str], cluster: str) -> list[object]:
    return [
        pytest.param(
            cluster,
            name,
            id=f"{cluster}-{name}",
            marks=[] if cluster == "one" and name.removeprefix("EndTxn ") in QUICK else [pytest.mark.long],
        )
        for name in names
    ]


EACH = [
    *(each for name in CLUSTERS for each in _each([f"EndTxn {one}" for one in COMMITS], name)),
    *(each for name in ("one", "one-old-unverified", "three") for each in _each([*OTHERS, *IDLE], name)),
]


@pytest.mark.parametrize(("cluster", "scenario"), EACH, indirect=["cluster"])
async def test_late(
    cluster: Cluster, scenario: str, tmp_path: Path, seed: int, late: int, request: pytest.FixtureRequest
) -> None:
    """Whatever the network does with a request, each event is answered once, and the partition works on."""
    row = await run(cluster, scenario, tmp_path, seed, late)
    print(f"\n{Row.HEAD}{row}")
    table: Path | None = request.config.getoption("table")
    if table is not None:
        with table.open("a") as out:
            out.write((Row.HEAD if out.tell() == 0 else "") + str(row))
    assert not row.verdict.broken, row.verdict.broken
    assert row.stops.keys() <= row.allowed, row.stops
    assert row.verdict.inputs == late + AFTERWARDS
    assert sum(rule.done for rule in row.rules) > 0, "nothing was hit"
