"""Running the real worker on a site."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.process import Client
from benchmarks.progress import Show
from benchmarks.site import Site
from benchmarks.watch import Rate, Watch


@dataclass(frozen=True, slots=True)
class Work:
    """What a worker did with everything that was sent."""

    watch: Watch
    events: int
    peak_bytes: int

    @property
    def rate(self) -> Rate:
        """How fast it was."""
        return self.watch.rate(self.events)


@contextmanager
def worker(site: Site) -> Iterator[Client]:
    """Run a worker on the client's core; leaving the block stops it."""
    command = ("worker", "--config", str(site.config))
    with Client.started("stream_app", command, site.ground.cores.client, site.folder / "worker.log") as client:
        yield client


def work(site: Site, events: int, show: Show) -> Work:
    """Run a worker over ``events`` events that it has not decided yet."""
    watch = Watch.begun(site.settings, site.names.releases)
    with worker(site) as client:
        watch.until(events, client, show)
        peak = client.peak_bytes()
    return Work(watch, events, peak)
