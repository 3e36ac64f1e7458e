"""The real worker on a site: one on the client's core, or several that share the partitions."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from benchmarks.result import Show
from benchmarks.rig import health
from benchmarks.rig.process import Client
from benchmarks.rig.site import Ground, Seat, Site
from benchmarks.rig.watch import Rate, Watch
from benchmarks.rig.workload import Sizes, events


@dataclass(frozen=True, slots=True)
class Work:
    """A worker's run over all events sent."""

    watch: Watch
    events: int
    peak_bytes: int

    @property
    def rate(self) -> Rate:
        """The worker's rate."""
        return self.watch.rate(self.events)


@contextmanager
def worker(site: Site) -> Iterator[Client]:
    """Run a worker on the client's core; leaving the block stops it."""
    command = ("worker", "--config", str(site.config))
    with Client.started("stream_app", command, site.ground.cores.client, site.folder / "worker.log") as client:
        yield client


def work(site: Site, events: int, show: Show) -> Work:
    """Run a worker over ``events`` unprocessed events."""
    watch = Watch.begun(site.settings, site.names.releases)
    with worker(site) as client:
        watch.until(events, client, show)
        peak = client.peak_bytes()
    return Work(watch, events, peak)


def new_and_known(ground: Ground, name: str, sizes: Sizes, show: Show, **settings: object) -> tuple[Work, Work]:
    """Return a worker's work on new series, and on known series after a restart that empties its cache.

    ``settings`` holds further settings of the site; with a `member_separator`, the series belong to persons.
    """
    members = "member_separator" in settings
    with Site.made(ground, name, sizes, **settings) as site:
        site.send(events(replace(sizes, events=sizes.series), members=members))
        fresh = work(site, sizes.series, show)
        site.send(events(sizes, start=sizes.series, members=members))
        return fresh, work(site, sizes.events, show)


@dataclass(frozen=True, slots=True)
class Member:
    """One worker of a crew."""

    seat: Seat
    client: Client

    def served(self) -> list[int]:
        """Return the worker's active partitions; none while the group rebalances."""
        return health.served(self.seat.http_port)

    def measure(self, name: str) -> dict[int | None, float]:
        """Return one of the worker's metrics by partition, with None for the whole worker."""
        return health.measure(self.seat.http_port, name)


@dataclass(frozen=True, slots=True)
class Crew:
    """Several workers that share the partitions of a site, watched as one client."""

    members: tuple[Member, ...]

    @classmethod
    @contextmanager
    def started(cls, site: Site, count: int, **more: object) -> "Iterator[Crew]":
        """Start all workers at the same time, on all cores; leaving the block stops those still running."""
        cores = site.ground.cores.client | site.ground.cores.others
        seats = [site.seat(f"worker-{number}", **more) for number in range(count)]
        with ExitStack() as stack:
            members = []
            for seat in seats:
                command = ("worker", "--config", str(seat.config))
                client = stack.enter_context(Client.started("stream_app", command, cores, seat.log))
                members.append(Member(seat, client))
            yield cls(tuple(members))

    def check(self) -> None:
        """Raise `ClientError` if one of the workers has ended."""
        for member in self.members:
            member.client.check()

    def last_words(self) -> str:
        """Return the ends of the workers' logs."""
        return "\n".join(f"{member.seat.log.stem}: {member.client.last_words()}" for member in self.members)

    def cpu_seconds(self) -> float:
        """Return the processor time of all workers so far."""
        return sum(member.client.cpu_seconds() for member in self.members)
