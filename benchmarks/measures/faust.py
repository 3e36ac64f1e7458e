"""The benchmark `faust`: the worker compared with stock Faust, which decides nothing and guarantees less."""

from benchmarks.result import Figure, Result, Show, Target
from benchmarks.rig.layout import Layout
from benchmarks.rig.process import Client
from benchmarks.rig.site import Ground, Site
from benchmarks.rig.watch import Rate, Watch
from benchmarks.rig.workers import work
from benchmarks.rig.workload import Sizes, events

DEFAULT = Sizes(events=400_000, series=10_000)
TARGETS = (Target("worker_over_stock", "at least", 15),)
STOCK_SHARE = 20
"""Stock Faust processes the first 1/``STOCK_SHARE`` of the events, because all would take minutes."""


def run(ground: Ground, sizes: Sizes, show: Show) -> Result:
    """Measure the worker and the stock agent in turn, each pair on its own topics."""
    workers: list[Rate] = []
    stock: list[Rate] = []
    for number in range(sizes.repeats):
        with Site.made(ground, f"bench-faust-{number}", sizes) as site:
            site.send(events(sizes))
            workers.append(work(site, sizes.events, show).rate)
            stock.append(_serve(site, Layout.read(site), show))
    pairs = list(zip(workers, stock, strict=True))
    figures = {
        "worker": Figure.of("events/s", (rate.per_second for rate in workers)),
        "stock": Figure.of("events/s", (rate.per_second for rate in stock)),
        "worker_over_stock": Figure.of("ratio", (one.per_second / other.per_second for one, other in pairs)),
        "worker_cpu": Figure.of("us/event", (rate.cpu_microseconds for rate in workers)),
        "stock_cpu": Figure.of("us/event", (rate.cpu_microseconds for rate in stock)),
    }
    return Result("faust", sizes.document(), figures, TARGETS)


def _serve(site: Site, layout: Layout, show: Show) -> Rate:
    """Let a stock agent answer the first events; return its rate."""
    names = site.other_outputs()
    file = site.folder / "layout.json"
    file.write_bytes(layout.dump())
    watch = Watch.begun(site.settings, names.releases)
    command = (str(site.config), str(file), names.releases, names.ledger)
    log = site.folder / "stock.log"
    with Client.started("benchmarks.rig.stock", command, site.ground.cores.client, log) as client:
        return watch.until(max(1, site.sizes.events // STOCK_SHARE), client, show, whole=False).rate()
