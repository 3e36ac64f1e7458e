"""A fleet under a steady load while its workers change: they join, leave, die, are replaced."""

import asyncio
import http.client
import itertools
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.faults.fleet import Fleet, Site, Worker
from tests.faults.gathered import Gathered
from tests.faults.load.pauses import Pause, beats, summary
from tests.faults.load.steady import Steady
from tests.faults.measured import Measured
from tests.faults.topics import Sent, Topics
from tests.faults.verdict import judge
from tests.faults.workload import DEFAULTS, LIFETIME_EPSILON, Workload
from tests.patience import PATIENCE_SECONDS

PARTITIONS = 8

Mark = tuple[int, str]


@dataclass
class Run:
    """A fleet under load, with what was done to it and when."""

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
        """Stop a worker as an orchestrator does."""
        self.mark(f"stop {name}")
        assert await asyncio.to_thread(self.fleet.workers[name].stop) == 0, self.fleet.workers[name].said()[-3000:]

    def kill(self, name: str) -> None:
        """Kill one without warning."""
        self.mark(f"kill {name}")
        self.fleet.workers[name].kill()

    async def until_settled(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until all workers are ready and serve all partitions, each on one worker."""
        workers = [worker for worker in self.fleet.workers.values() if worker.runs]
        for worker in workers:
            await worker.until_ready(seconds)
        deadline = time.monotonic() + seconds
        while sorted(itertools.chain.from_iterable(map(served, workers))) != list(range(PARTITIONS)):
            tales = {worker.name: worker.said()[-1500:] for worker in workers}
            assert time.monotonic() < deadline, f"never settled: {tales}"
            await asyncio.sleep(0.2)

    async def until_decided_more(self, records: int) -> None:
        """Wait until the outputs have grown by this many records, which shows that the load continues."""
        wanted, deadline = await self.topics.written() + records, time.monotonic() + PATIENCE_SECONDS
        while await self.topics.written() < wanted:
            assert time.monotonic() < deadline, "the workers stand still"
            await asyncio.sleep(0.2)

    async def report(self) -> None:
        """Print how long partitions paused around each change."""
        times = await beats(self.topics)
        for (since, what), (until, _) in itertools.pairwise([*self.marks, (int(time.time() * 1000), "end")]):
            pauses = [Pause.of(number, times[number], since, until) for number in times]
            print(f"{what:14} {summary(pauses)}")


def served(worker: Worker) -> list[int]:
    """Return the partitions for which a worker reports that it is ready."""
    status, text = worker.get("/readyz")
    return json.loads(text.decode().removeprefix("partitions ")) if status == http.client.OK else []


def mixed(seed: int) -> Iterator[Sent]:
    """Yield events without end: half plain, a quarter collected, a quarter statistics of many units.

    `closing` of its `Gathered` ends the collected ones.
    """
    workload = Workload(seed)
    of_four = (Gathered(seed), workload, Measured(seed), workload)
    for nth in itertools.count():
        yield from of_four[nth % 4].events(1)


@asynccontextmanager
async def under_load(
    bootstrap: str, folder: Path, per_second: float, standby: int, *, replay: bool = True
) -> AsyncIterator[Run]:
    """Yield a run whose events flow; at the end all is decided and judged, against `replay` if applicable."""
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
    verdict = await judge(site, replay=replay)
    assert verdict.inputs == steady.sent + len(closing)
    assert verdict.unsigned == 0
    print(f"\n{folder.name}: {asdict(verdict)}")
