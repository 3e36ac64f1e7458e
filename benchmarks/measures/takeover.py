"""The benchmark `takeover`: time from killing a worker until another one decides, with and without standby.

`noticed` is Kafka's part: the dead worker's session and the group's agreement. `take_over` is the worker's part, for
the slowest partition: from its assignment until the worker decides there. Nothing is processed meanwhile: the state
does not change, and no input waits.
"""

import shutil
from dataclasses import dataclass, replace

from benchmarks.result import Figure, Result, Show
from benchmarks.rig import health
from benchmarks.rig.process import ClientError
from benchmarks.rig.site import Ground, Site
from benchmarks.rig.workers import Crew, Member, work
from benchmarks.rig.workload import Sizes, events

DEFAULT = Sizes(events=1_000_000, series=1_000_000, partitions=8)
SESSION_MS = 10_000
_WORKERS = 2
_REPLICAS = {"without": 0, "standby": 1}
_ROWS = "landmark_recovered_rows"
_BEHIND = "landmark_standby_remaining"
_RESTORE = "landmark_restore_seconds"


@dataclass(frozen=True, slots=True)
class _Replacement:
    """The cost of replacing a killed worker."""

    seconds: float
    """Time until the other worker decided on every partition."""
    take_over_seconds: float
    """Time of the slowest moved partition, from its assignment."""
    rows: int
    """Rows read back for the replacement."""


def run(ground: Ground, sizes: Sizes, show: Show) -> Result:
    """Kill one of two workers, with and without standby replicas in turn.

    The state has one row for every series.
    """
    if sizes.partitions < _WORKERS:
        raise ClientError(f"two workers share no {sizes.partitions} partition; ask for more")
    losses: dict[str, list[_Replacement]] = {name: [] for name in _REPLICAS}
    with Site.made(ground, "bench-takeover", sizes) as site:
        site.send(events(replace(sizes, events=sizes.series)))
        work(site, sizes.series, show)
        for number in range(sizes.repeats):
            for nth, (name, replicas) in enumerate(_REPLICAS.items()):
                show("losses", 2 * number + nth, 2 * sizes.repeats)
                losses[name].append(_lose(site, replicas))
    figures: dict[str, Figure] = {}
    for name, found in losses.items():
        figures[f"{name}_noticed"] = Figure.of("s", (loss.seconds - loss.take_over_seconds for loss in found))
        figures[f"{name}_take_over"] = Figure.of("s", (loss.take_over_seconds for loss in found))
        figures[f"{name}_rows"] = Figure.of("rows", (loss.rows for loss in found))
    pairs = zip(losses["without"], losses["standby"], strict=True)
    ratios = (one.take_over_seconds / other.take_over_seconds for one, other in pairs)
    figures["take_over_without_over_standby"] = Figure.of("ratio", ratios)
    return Result("takeover", sizes.document(), figures)


def _lose(site: Site, replicas: int) -> _Replacement:
    """Start two workers without state, wait until their state is complete, and kill one."""
    partitions = list(range(site.sizes.partitions))
    with Crew.started(site, _WORKERS, standby_replicas=replicas, session_timeout_ms=SESSION_MS) as crew:
        stays, dies = crew.members
        health.until(lambda: _shared_out(stays, dies, partitions), "shared out", crew)
        if replicas:
            health.until(
                lambda: stays.measure(_ROWS)[None] >= site.sizes.series and stays.measure(_BEHIND)[None] == 0,
                "followed by a copy of everything",
                crew,
            )
        moves, before = dies.served(), stays.measure(_ROWS)[None]
        dies.client.kill()
        seconds = health.until(lambda: stays.served() == partitions, "taken over", stays.client)
        restored, rows = stays.measure(_RESTORE), stays.measure(_ROWS)[None] - before
    for member in crew.members:
        shutil.rmtree(member.seat.data_folder)
    return _Replacement(seconds, max(restored[partition] for partition in moves), int(rows))


def _shared_out(stays: Member, dies: Member, partitions: list[int]) -> bool:
    """Return whether both workers are deciding; the first to join owns all partitions for a while."""
    kept, moves = stays.served(), dies.served()
    return bool(kept and moves) and sorted(kept + moves) == partitions
