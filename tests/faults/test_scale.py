"""Workers come and go under a steady load; nothing is lost, doubled, or decided differently.

The short form belongs to every run of the suite. The long ones are asked for, and print how long partitions stood
still:

    python -m pytest tests/faults/test_scale.py --scale 4 -s
"""

import asyncio
import http.client
import itertools
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

from stream_app.kafka.broker import LocalBroker
from tests.faults.brokers import COUNT, Brokers
from tests.faults.fleet import PATIENCE_SECONDS, SESSION_MS, Fleet, Site, Worker
from tests.faults.gathered import Gathered
from tests.faults.pauses import Pause, beats, summary
from tests.faults.steady import Steady
from tests.faults.topics import Sent, Topics
from tests.faults.verdict import judge
from tests.faults.workload import DEFAULTS, LIFETIME_EPSILON, Workload

PARTITIONS = 8
SETTLE_SECONDS = 5.0
"""Long forms go on for so long between two changes."""

Mark = tuple[int, str]


@dataclass
class Run:
    """A fleet under load, and what was done to it when."""

    fleet: Fleet
    topics: Topics
    marks: list[Mark] = field(default_factory=list)

    def mark(self, what: str) -> None:
        """Note what is done now."""
        self.marks.append((int(time.time() * 1000), what))

    async def start(self, *names: str) -> None:
        """Start workers and wait until all say that they are ready."""
        self.mark(f"start {'+'.join(names)}")
        for name in names:
            self.fleet.start(name)
        await self.until_settled()

    async def stop(self, name: str) -> None:
        """Stop one as an orchestrator does."""
        self.mark(f"stop {name}")
        assert await asyncio.to_thread(self.fleet.workers[name].stop) == 0, self.fleet.workers[name].said()[-3000:]

    def kill(self, name: str) -> None:
        """Kill one without warning."""
        self.mark(f"kill {name}")
        self.fleet.workers[name].kill()

    async def until_settled(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until all workers are ready and work on all partitions, each on one worker."""
        workers = [worker for worker in self.fleet.workers.values() if worker.runs]
        for worker in workers:
            await worker.until_ready(seconds)
        deadline = time.monotonic() + seconds
        while sorted(itertools.chain.from_iterable(map(served, workers))) != list(range(PARTITIONS)):
            tales = {worker.name: worker.said()[-1500:] for worker in workers}
            assert time.monotonic() < deadline, f"never settled: {tales}"
            await asyncio.sleep(0.2)

    async def until_decided_more(self, records: int) -> None:
        """Wait until the outputs have grown by so many records: the load goes on."""
        wanted, deadline = await self.topics.written() + records, time.monotonic() + PATIENCE_SECONDS
        while await self.topics.written() < wanted:
            assert time.monotonic() < deadline, "the workers stand still"
            await asyncio.sleep(0.2)

    async def report(self) -> None:
        """Print how long partitions stood still around each change."""
        times = await beats(self.topics)
        for (since, what), (until, _) in itertools.pairwise([*self.marks, (int(time.time() * 1000), "end")]):
            pauses = [Pause.of(number, times[number], since, until) for number in times]
            print(f"{what:14} {summary(pauses)}")


def served(worker: Worker) -> list[int]:
    """Return the partitions that a worker says it is ready on."""
    status, text = worker.get("/readyz")
    return json.loads(text.decode().removeprefix("partitions ")) if status == http.client.OK else []


def mixed(seed: int) -> Iterator[Sent]:
    """Yield events without end, a quarter of them collected data; `closing` of its `Gathered` ends that."""
    workload, gathered = Workload(seed), Gathered(seed)
    for nth in itertools.count():
        yield from (gathered if nth % 4 == 0 else workload).events(1)


@asynccontextmanager
async def under_load(bootstrap: str, folder: Path, per_second: float, standby: int) -> AsyncIterator[Run]:
    """Yield a run whose events flow; at the end everything is decided and judged."""
    more = {"lifetime_epsilon": LIFETIME_EPSILON, "standby_replicas": standby}
    site = Site(bootstrap, folder, folder.name, PARTITIONS, DEFAULTS, more, signed=True).prepare()
    topics, steady = Topics(site), None
    with Fleet(site) as fleet:
        run = Run(fleet, topics)
        async with Steady(topics, mixed(1), per_second) as steady:
            yield run
        # Open steps keep the group's offset behind; their wards are closed by name.
        closing = list(Gathered(1).closing())
        await topics.send(closing)
        await topics.until_decided(fleet)
        fleet.stop()
    verdict = await judge(site)
    assert verdict.inputs == steady.sent + len(closing)
    assert verdict.unsigned == 0
    print(f"\n{folder.name}: {asdict(verdict)}")


async def test_workers_come_go_and_die(broker: LocalBroker, tmp_path: Path) -> None:
    """One joins, is killed while the other holds its copies, comes back, and the first one leaves for good."""
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


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("standby", [0, 1])
@pytest.mark.parametrize("change", LONG)
async def test_scale(broker: LocalBroker, tmp_path: Path, scale: int, change: str, standby: int) -> None:
    """Up to ``--scale`` workers, with and without standby replicas."""
    if not scale:
        pytest.skip("a long run: --scale 4")
    async with under_load(broker.bootstrap_servers, tmp_path / f"{change}-{standby}", 300, standby) as run:
        await LONG[change](run, scale)
    await run.report()


@pytest.mark.timeout(3600)
async def test_brokers_restart_and_die(tmp_path: Path, scale: int) -> None:
    """Three brokers are restarted one by one, then killed one by one, under two workers."""
    if not scale:
        pytest.skip("a long run: --scale 4")
    async with (
        Brokers(tmp_path / "cluster") as brokers,
        under_load(brokers.bootstrap_servers, tmp_path / "brokers", 150, standby=1) as run,
    ):
        await run.start("a", "b")
        for end in (brokers.stop, brokers.kill):
            for number in range(COUNT):
                await asyncio.sleep(SETTLE_SECONDS)
                run.mark(f"{end.__name__} broker {number + 1}")
                await end(number)
                await run.until_decided_more(100)
                await brokers.start(number)
                await run.until_decided_more(100)
    await run.report()
