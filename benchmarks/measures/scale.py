"""The benchmark `scale`: the event rate of several workers relative to one, on the same backlog.

The workers run on all cores next to the broker, so the cores limit the gain from more workers. If `worker_cpu` and
`broker_cpu` are the times for one worker, c cores process at most c / (worker_cpu + broker_cpu) events per second,
however many workers share them.
"""

from typing import NamedTuple

from benchmarks.result import Figure, Result, Show
from benchmarks.rig.process import cpu_seconds
from benchmarks.rig.site import Ground, Site
from benchmarks.rig.watch import Rate, Watch
from benchmarks.rig.workers import Crew
from benchmarks.rig.workload import Sizes, events

DEFAULT = Sizes(events=400_000, series=10_000, partitions=8)
BROKER = {"group.initial.rebalance.delay.ms": "10000"}
"""The group waits until all workers have joined, so that none starts with partitions that it then loses."""
CREWS = {"one": 1, "two": 2, "four": 4}
"""Number of workers in each crew; crews with more workers than partitions are omitted."""
_MICRO = 1_000_000


class _Run(NamedTuple):
    crew: Rate
    broker_microseconds: float
    """The broker's processor time per event, including the workers' start."""


def run(ground: Ground, sizes: Sizes, show: Show) -> Result:
    """Measure each number of workers in turn, each on its own topics with the same events."""
    crews = {name: count for name, count in CREWS.items() if count <= sizes.partitions}
    runs = [
        {name: _run(ground, f"bench-scale-{number}-{name}", sizes, count, show) for name, count in crews.items()}
        for number in range(sizes.repeats)
    ]
    figures = {name: Figure.of("events/s", (found[name].crew.per_second for found in runs)) for name in crews}
    for name in list(crews)[1:]:
        ratios = (found[name].crew.per_second / found["one"].crew.per_second for found in runs)
        figures[f"{name}_over_one"] = Figure.of("ratio", ratios)
    for name in crews:
        figures[f"{name}_cpu"] = Figure.of("us/event", (found[name].crew.cpu_microseconds for found in runs))
        figures[f"{name}_broker_cpu"] = Figure.of("us/event", (found[name].broker_microseconds for found in runs))
    return Result("scale", sizes.document(), figures)


def _run(ground: Ground, site_name: str, sizes: Sizes, count: int, show: Show) -> _Run:
    with Site.made(ground, site_name, sizes) as site:
        site.send(events(sizes))
        watch, broker = Watch.begun(site.settings, site.names.releases), cpu_seconds(ground.broker.pid)
        with Crew.started(site, count) as crew:
            watch.until(sizes.events, crew, show)
            broker = cpu_seconds(ground.broker.pid) - broker
        return _Run(watch.rate(sizes.events), broker / sizes.events * _MICRO)
