"""The benchmark `worker`: the worker's event rate relative to that of a bare client writing the same bytes."""

from benchmarks.result import Figure, Result, Show, Target
from benchmarks.rig.layout import Layout
from benchmarks.rig.process import Client
from benchmarks.rig.site import Ground, Site
from benchmarks.rig.watch import Rate, Watch
from benchmarks.rig.workers import work
from benchmarks.rig.workload import Sizes, events

DEFAULT = Sizes(events=400_000, series=10_000)
TARGETS = (Target("worker_over_bare", "at least", 0.35),)


def run(ground: Ground, sizes: Sizes, show: Show) -> Result:
    """Measure the worker and the bare client in turn, each pair on its own topics."""
    workers: list[Rate] = []
    bare: list[Rate] = []
    layouts: list[Layout] = []
    for number in range(sizes.repeats):
        with Site.made(ground, f"bench-worker-{number}", sizes) as site:
            site.send(events(sizes))
            workers.append(work(site, sizes.events, show).rate)
            layouts.append(Layout.read(site))
            bare.append(_write(site, layouts[-1], show))
    pairs = list(zip(workers, bare, strict=True))
    figures = {
        "worker": Figure.of("events/s", (rate.per_second for rate in workers)),
        "bare": Figure.of("events/s", (rate.per_second for rate in bare)),
        "worker_over_bare": Figure.of("ratio", (one.per_second / other.per_second for one, other in pairs)),
        "worker_cpu": Figure.of("us/event", (rate.cpu_microseconds for rate in workers)),
        "bare_cpu": Figure.of("us/event", (rate.cpu_microseconds for rate in bare)),
        "bare_cpu_over_worker_cpu": Figure.of(
            "ratio", (other.cpu_microseconds / one.cpu_microseconds for one, other in pairs)
        ),
        "batch": Figure.of("events", (layout.batch_records for layout in layouts)),
        "output": Figure.of("bytes/event", (layout.event_bytes for layout in layouts)),
    }
    return Result("worker", sizes.document(), figures, TARGETS)


def _write(site: Site, layout: Layout, show: Show) -> Rate:
    """Let the bare client write what the worker wrote; return its rate."""
    names = site.other_outputs()
    file = site.folder / "layout.json"
    file.write_bytes(layout.dump())
    watch = Watch.begun(site.settings, names.releases)
    command = (str(site.config), str(file), names.releases, names.ledger, names.changelog)
    with Client.started("benchmarks.rig.bare", command, site.ground.cores.client, site.folder / "bare.log") as client:
        return watch.until(site.sizes.events, client, show).rate(site.sizes.events)
