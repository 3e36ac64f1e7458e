"""The benchmark `recovery`: reading the state of very many series back after a lost local copy."""

import shutil
import time
from dataclasses import dataclass, replace

from benchmarks.result import Figure, Result, Show
from benchmarks.rig import health
from benchmarks.rig.site import Ground, Site
from benchmarks.rig.workers import work, worker
from benchmarks.rig.workload import Sizes, events

DEFAULT = Sizes(events=1_000_000, series=1_000_000)
_ROWS = "landmark_recovered_rows"
_MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class Start:
    """A worker's start: seconds until it was ready, processor time, and the rows that it read back."""

    seconds: float
    cpu_seconds: float
    rows: int


def run(ground: Ground, sizes: Sizes, show: Show) -> Result:
    """Measure starts with and without the local copy in turn, on one state."""
    kept: list[Start] = []
    lost: list[Start] = []
    with Site.made(ground, "bench-recovery", sizes) as site:
        site.send(events(replace(sizes, events=sizes.series)))
        work(site, sizes.series, show)
        for number in range(sizes.repeats):
            show("starts", 2 * number, 2 * sizes.repeats)
            kept.append(start(site))
            shutil.rmtree(site.settings.data_folder)
            lost.append(start(site))
    pairs = list(zip(kept, lost, strict=True))
    figures = {
        "start_with_state": Figure.of("s", (one.seconds for one in kept)),
        "start_without_state": Figure.of("s", (one.seconds for one in lost)),
        "recovery": Figure.of("s", (after.seconds - before.seconds for before, after in pairs)),
        "rows": Figure.of("rows", (one.rows for one in lost)),
        "rate": Figure.of("rows/s", (after.rows / (after.seconds - before.seconds) for before, after in pairs)),
        # Other programs on the machine affect it less than the rate.
        "row_cpu": Figure.of(
            "us/row", ((after.cpu_seconds - before.cpu_seconds) / after.rows * _MICRO for before, after in pairs)
        ),
    }
    return Result("recovery", sizes.document(), figures)


def start(site: Site) -> Start:
    """Start a worker and wait until it is ready.

    Raises:
        ClientError: if it ends, or is not ready for minutes.
    """
    began = time.perf_counter()
    with worker(site) as client:
        health.until(lambda: health.ready(site.http_port), "ready", client)
        seconds, cpu = time.perf_counter() - began, client.cpu_seconds()
        return Start(seconds, cpu, int(health.measure(site.http_port, _ROWS)[None]))
