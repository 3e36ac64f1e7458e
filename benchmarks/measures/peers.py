"""The benchmark `peers`: this worker and programs that write as many records, measured in turn on one core.

docs/benchmarks.md says what each of them does and does not do.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from benchmarks.peers import page
from benchmarks.peers.programs import Programs
from benchmarks.peers.roster import PEERS, Peer, of_tree
from benchmarks.peers.trial import Finding, Loads, tried
from benchmarks.result import Figure, Result, Show, Target
from benchmarks.rig.site import Ground
from benchmarks.rig.workload import Sizes

LOADS = (2_000, 12_000)
"""Events per second at which latencies are measured, in addition to half of each peer's own rate."""
TARGETS = (
    Target("worker_over_streams", "at least", 1.3),
    Target("worker_over_bare", "at least", 0.4),
    Target("worker_over_plain_p99_2000", "at most", 1.0),
    Target("worker_over_plain_p99_12000", "at most", 1.25),
    Target("worker_over_streams_p99_12000", "at most", 1.0),
)
_MEGA = 1_000_000


@dataclass(frozen=True, slots=True)
class PeerSizes(Sizes):
    """Sizes, and the peers to measure."""

    warm: int = 1_000_000
    """Uncounted events for the Java program to warm up; other peers get a share of them."""
    seconds: float = 8.0
    """Duration of each load."""
    only: tuple[str, ...] | None = None
    """Names of the peers to measure, or None for all."""
    tree: Path | None = None
    """Another checkout with its own environment, whose worker is measured too."""

    def document(self) -> dict[str, object]:
        """Return the sizes as JSON values, without the path of a folder."""
        shown = {name: getattr(self, name) for name in (*Sizes.__slots__, "warm", "seconds", "only")}
        return shown if self.tree is None else {**shown, "tree": self.tree.name}


DEFAULT = PeerSizes(events=400_000, series=10_000)


def run(ground: Ground, sizes: PeerSizes, show: Show) -> Result:
    """Try each peer ``repeats`` times, in turn."""
    programs = Programs(ground.folder)
    peers = _chosen(sizes)
    for at, peer in enumerate(peers):
        show("made ready", at, len(peers))
        if peer.needs is not None:
            peer.needs(programs)
    found: dict[str, list[Finding]] = {peer.name: [] for peer in peers}
    for number in range(sizes.repeats):
        # Whatever runs first in a round is slower, so every other round runs in reverse.
        for at, peer in enumerate(peers[:: -1 if number % 2 else 1]):
            show("trials", number * len(peers) + at, sizes.repeats * len(peers))
            loads = Loads(number, sizes.warm, sizes.seconds, LOADS)
            found[peer.name].append(tried(ground, peer, programs, sizes, loads, show))
    figures = dict(_figures(found))
    targets = tuple(target for target in TARGETS if target.figure in figures)
    return Result("peers", sizes.document(), figures, targets)


def table(result: Result) -> Table:
    """Return a table for people, one row per peer."""
    shown = Table()
    head, *rows = page.rows(result.document())
    for column in head:
        shown.add_column(column, justify="left" if column == head[0] else "right")
    for row in rows:
        shown.add_row(*row)
    return shown


def _chosen(sizes: PeerSizes) -> list[Peer]:
    peers = [*PEERS, *(() if sizes.tree is None else (of_tree(sizes.tree),))]
    return [peer for peer in peers if sizes.only is None or peer.name in sizes.only]


def _figures(found: Mapping[str, list[Finding]]) -> Iterator[tuple[str, Figure]]:
    for name, trials in found.items():
        yield f"{name}_rate", Figure.of("events/s", (trial.rate.per_second for trial in trials))
        yield f"{name}_cpu", Figure.of("us/event", (trial.rate.cpu_microseconds for trial in trials))
        yield f"{name}_resident", Figure.of("MB", (trial.resident_bytes / _MEGA for trial in trials))
        for load in (*map(str, LOADS), "half"):
            known = [trial.latencies[load] for trial in trials if load in trial.latencies]
            if known:
                yield f"{name}_p50_{load}", Figure.of("ms", (latency.p50 for latency in known))
                yield f"{name}_p99_{load}", Figure.of("ms", (latency.p99 for latency in known))
        for written in (trial.written for trial in trials if trial.written is not None):
            for kind, count in written.records.items():
                yield f"{name}_{kind}_records", Figure.of("records/event", [count])
                yield f"{name}_{kind}_bytes", Figure.of("bytes", [written.value_bytes[kind]])
    for one in ("worker", "tree"):
        for other in ("streams", "streams-quick", "bare", "plain", "tree"):
            if one in found and other in found and one != other:
                yield from _ratios(one, other, found)


def _ratios(one: str, other: str, found: Mapping[str, list[Finding]]) -> Iterator[tuple[str, Figure]]:
    pairs = list(zip(found[one], found[other], strict=True))
    yield f"{one}_over_{other}", Figure.of("ratio", (a.rate.per_second / b.rate.per_second for a, b in pairs))
    yield (
        f"{other}_cpu_over_{one}_cpu",
        Figure.of("ratio", (b.rate.cpu_microseconds / a.rate.cpu_microseconds for a, b in pairs)),
    )
    for load in map(str, LOADS):
        known = [
            a.latencies[load].p99 / b.latencies[load].p99
            for a, b in pairs
            if load in a.latencies and load in b.latencies
        ]
        if known:
            yield f"{one}_over_{other}_p99_{load}", Figure.of("ratio", known)
