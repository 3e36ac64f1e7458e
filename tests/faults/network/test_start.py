"""A worker starts even if a broker closes the connection on one of its first requests."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from tests.faults.fleet import Fleet, Site
from tests.faults.network.brokers import Brokers
from tests.faults.network.proxy import FIND_COORDINATOR, METADATA, Deed, Proxy, Rule
from tests.faults.network.scenarios import of
from tests.faults.workload import DEFAULTS

LEAST = {METADATA: 6, FIND_COORDINATOR: 1}
"""The minimum number of requests of each kind that a worker sends before it owns partitions."""
OWNED_SECONDS = 30.0
"""A tenth of the age at which aiokafka refreshes metadata by itself."""


@pytest.fixture
async def brokers(tmp_path: Path) -> AsyncIterator[Brokers]:
    """Return a broker that advertises the port of a proxy."""
    async with Brokers(tmp_path / "brokers", 1) as started:
        yield started


async def test_a_start_outlives_a_reset_connection(brokers: Brokers, tmp_path: Path) -> None:
    """A worker starts without one of these answers; it used to exit with 2 or 1, or owned nothing for minutes."""
    site = Site(brokers.bootstrap_servers, tmp_path, "start", 2, DEFAULTS).prepare()
    failed: dict[tuple[int, int], str] = {}
    for api, least in LEAST.items():
        for nth in count(1):
            rule = Rule(of(api), Deed.RESET, first=nth, most=1)
            with Fleet(replace(site, bootstrap=brokers.fronted_servers)) as fleet:
                async with Proxy(brokers.routes, [rule]):
                    worker = fleet.start(f"{api}-{nth}")
                    try:
                        await worker.until_said("owns partitions [0, 1]", OWNED_SECONDS)
                    except AssertionError as error:
                        failed[api, nth] = str(error)
                    hit = rule.done > 0
                    if worker.runs:
                        await asyncio.to_thread(fleet.stop)
            if not hit:
                break
        assert nth > least, "too few were hit"
    assert not failed, failed
