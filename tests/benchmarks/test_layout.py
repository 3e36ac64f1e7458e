"""The bare client writes the worker's layout: the same records, bytes and transactions."""

from pathlib import Path

from benchmarks.rig.layout import Layout
from benchmarks.rig.process import Client
from benchmarks.rig.site import Ground, Site
from benchmarks.rig.watch import Watch
from benchmarks.rig.workers import work
from benchmarks.rig.workload import Sizes, events


def test_bare_client_writes_what_the_worker_wrote(ground: Ground, tmp_path: Path) -> None:
    """When read back, the transactions of both are equal in input, number of records and mean bytes."""
    sizes = Sizes(events=10_000, series=50, partitions=2)
    with Site.made(ground, "layout", sizes) as site:
        site.send(events(sizes))
        work(site, sizes.events, _quiet)
        written = Layout.read(site)
        assert sum(one.releases for partition in written.transactions for one in partition) == sizes.events
        assert Layout.load(written.dump()) == written
        names = site.other_outputs()
        (tmp_path / "layout.json").write_bytes(written.dump())
        words = (str(site.config), str(tmp_path / "layout.json"), names.releases, names.ledger, names.changelog)
        watch = Watch.begun(site.settings, names.releases)
        with Client.started("benchmarks.rig.bare", words, ground.cores.client, tmp_path / "bare.log") as client:
            watch.until(sizes.events, client, _quiet)
        site.names = names
        assert Layout.read(site) == written


def _quiet(*_: object) -> None:
    """Show nothing."""
