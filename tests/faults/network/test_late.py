"""Requests that are lost, held, or delivered late after a repetition: nothing is lost, doubled or differs.

The table of all runs, one line each:

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


async def _begin(brokers: Brokers, transactions: int) -> None:
    await brokers.__aenter__()
    if transactions:
        await brokers.enable("transaction.version", transactions)


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Run a cluster whose brokers advertise the ports of a proxy; it ends before the next one is made."""
    count, transactions, verified = CLUSTERS[request.param]
    more = {"transaction.partition.verification.enable": str(verified).lower()}
    brokers = Brokers(tmp_path_factory.mktemp(request.param), count, more)
    asyncio.run(_begin(brokers, transactions))
    yield Cluster(brokers, count, transactions, verified)
    asyncio.run(brokers.__aexit__(None, None, None))


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


@pytest.mark.parametrize(("cluster", "scenario"), EACH, indirect=["cluster"], scope="module")
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
