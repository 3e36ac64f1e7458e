"""Workers come and go under a steady load; nothing is lost, doubled, or decided differently.

The short form belongs to `make test`. The long ones belong to `make long` and print how long partitions paused:

    python -m pytest tests/faults/load/test_scale.py --speed long --scale 4 -s
"""

import asyncio
from pathlib import Path

import pytest

from stream_app.localbroker.broker import LocalBroker
from tests.faults.fleet import SESSION_MS
from tests.faults.load.underload import PARTITIONS, Run, served, under_load
from tests.faults.network.brokers import COUNT, Brokers

SETTLE_SECONDS = 5.0
"""How long the long forms run between two changes."""


async def test_workers_come_go_and_die(broker: LocalBroker, tmp_path: Path) -> None:
    """One joins, is killed while the other holds its copies, and comes back; then the first leaves for good."""
    async with under_load(broker.bootstrap_servers, tmp_path / "scale", 120, standby=1) as run:
        await run.start("a")
        await run.until_decided_more(200)
        await run.start("b")
        a, b = run.fleet.workers["a"], run.fleet.workers["b"]
        stayed, moved = served(a), served(b)
        assert len(stayed) == len(moved) == PARTITIONS // 2
        # What stays where it was goes on where it was: nothing is read back for it.
        assert f"owns partitions {stayed}; takes over []" in a.said()
        await run.until_decided_more(200)
        run.kill("b")
        await run.until_settled()
        assert f"owns partitions {sorted(stayed + moved)}; takes over {moved}" in a.said()
        await run.start("b")
        await run.until_decided_more(200)
        await run.stop("a")
        await run.until_settled()
        await run.until_decided_more(200)
    await run.report()


async def _grow(run: Run, count: int) -> None:
    names = "abcdefgh"[:count]
    for name in names:
        await run.start(name)
        await asyncio.sleep(SETTLE_SECONDS)
    for name in reversed(names[1:]):
        await run.stop(name)
        await run.until_settled()
        await asyncio.sleep(SETTLE_SECONDS)


async def _roll(run: Run, count: int) -> None:
    names = "abcdefgh"[:count]
    await run.start(*names)
    for name in names:
        await asyncio.sleep(SETTLE_SECONDS)
        await run.stop(name)
        await run.start(name)


async def _kill(run: Run, count: int) -> None:
    names = "abcdefgh"[:count]
    await run.start(*names)
    for name in names:
        await asyncio.sleep(SETTLE_SECONDS)
        run.kill(name)
        await asyncio.sleep(SESSION_MS / 1000)
        await run.until_settled()
        await run.start(name)


LONG = {"grow": _grow, "roll": _roll, "kill": _kill}


@pytest.mark.long
@pytest.mark.parametrize("standby", [0, 1])
@pytest.mark.parametrize("change", LONG)
async def test_scale(broker: LocalBroker, tmp_path: Path, scale: int, change: str, standby: int) -> None:
    """Up to ``--scale`` workers come and go, with and without standby replicas."""
    async with under_load(broker.bootstrap_servers, tmp_path / f"{change}-{standby}", 300, standby) as run:
        await LONG[change](run, scale)
    await run.report()


@pytest.mark.long
async def test_brokers_restart_and_die(tmp_path: Path) -> None:
    """Three brokers are restarted one by one, then killed one by one, under two workers."""
    async with Brokers(tmp_path / "cluster") as brokers:
        async with under_load(brokers.bootstrap_servers, tmp_path / "brokers", 150, standby=1) as run:
            await run.start("a", "b")
            for end in (brokers.stop, brokers.kill):
                for number in range(COUNT):
                    await asyncio.sleep(SETTLE_SECONDS)
                    run.mark(f"{end.__name__} broker {number + 1}")
                    await end(number)
                    await run.until_decided_more(100)
                    run.mark(f"start broker {number + 1}")
                    await brokers.start(number)
                    await run.until_decided_more(100)
        await run.report()
