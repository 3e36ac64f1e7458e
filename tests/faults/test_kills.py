"""Workers repeatedly killed without warning at random; nothing is lost, doubled, or decided differently."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np

from stream_app.localbroker.broker import LocalBroker
from tests.faults.fleet import Fleet, Site
from tests.faults.gathered import Gathered
from tests.faults.measured import FORMS, Measured
from tests.faults.persons import CAP_EPSILON, PERSONS, SEPARATOR, Persons
from tests.faults.topics import Sent, Topics
from tests.faults.verdict import judge
from tests.faults.workload import LIFETIME_EPSILON, RENEWED, Workload
from tests.patience import PATIENCE_SECONDS

PARTITIONS = 4
MORE = {
    "lifetime_epsilon": LIFETIME_EPSILON,
    "batch_records": 150,
    "member_separator": SEPARATOR,
    "member_epsilon": CAP_EPSILON,
}


async def test_kills(broker: LocalBroker, tmp_path: Path, kills: int, events: int, seed: int) -> None:
    """Every promise holds although two workers on four partitions are killed repeatedly while events flow.

    Default policies are renewed on the way. A third of the events is collected data, whose counts are in the memory of
    the killed workers. Another part belongs to persons with several series each, whose claims meet their caps. Another
    consists of days and weeks of many units, whose readings are in sealed rows.
    """
    site = Site(broker.bootstrap_servers, tmp_path, "kills", PARTITIONS, RENEWED, MORE, signed=True).prepare()
    topics, draw = Topics(site), np.random.default_rng(seed)
    workload, gathered, persons, measured = Workload(seed), Gathered(seed), Persons(seed), Measured(seed)
    began = time.monotonic()
    portion = events // (kills + 1)
    at_work = 0
    with Fleet(site) as fleet:
        await fleet.begin("a", "b")
        for _ in range(kills):
            before = await topics.written()
            await topics.send(_mixed(workload, gathered, persons, measured, portion))
            name = ["a", "b"][int(draw.integers(2))]
            if draw.random() < 0.7:
                at_work += 1
                await _until_written(topics, before + int(portion * draw.uniform(0.05, 0.5)))
            else:
                # Any moment: starting, rebalancing, reading back.
                await asyncio.sleep(float(draw.uniform(0, 8)))
            fleet.workers[name].kill()
            await asyncio.sleep(float(draw.uniform(0, 1)))
            fleet.start(name)
        rest = events - gathered.wards - sum(one.sent for one in (workload, gathered, persons, measured))
        await topics.send(_mixed(workload, gathered, persons, measured, rest))
        await topics.send(gathered.closing())
        await topics.until_decided(fleet)
        fleet.stop()
    seconds = time.monotonic() - began
    verdict = await judge(site)
    assert verdict.inputs == events
    assert verdict.heads >= PARTITIONS
    assert verdict.unsigned == 0
    assert verdict.renewals > 0
    assert verdict.members > PERSONS
    assert verdict.reasons["member-cap"] > 0
    assert verdict.statistics > len(FORMS)
    assert verdict.late_landmarks > 0
    recalls = sum(worker.log.read_text().count("of open steps again") for worker in fleet.workers.values())
    assert recalls > 0
    print(f"{kills} kills ({at_work} at work), {recalls} recalls, {seconds:.0f} s, {asdict(verdict)}")


def _mixed(workload: Workload, gathered: Gathered, persons: Persons, measured: Measured, count: int) -> Iterator[Sent]:
    of_eight = (workload, persons, workload, measured, workload, measured, workload, workload)
    for nth in range(count):
        yield from (gathered if nth % 3 == 0 else of_eight[nth % 8]).events(1)


async def _until_written(topics: Topics, wanted: int, seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while await topics.written() < wanted:
        assert time.monotonic() < deadline, "the workers stand still"
        await asyncio.sleep(0.02)
