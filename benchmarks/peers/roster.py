"""The peers by name: how each is started on a site, and how many events it gets."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.peers import work
from benchmarks.peers.programs import ROOT, Programs, python_of
from benchmarks.rig.site import Site


class Command(NamedTuple):
    """Words to run, and the folder to run them in."""

    words: list[str]
    where: Path = ROOT


Start = Callable[[Site, Programs], Command]


@dataclass(frozen=True, slots=True)
class Peer:
    """A program that answers events."""

    name: str
    title: str
    start: Start
    warm: float = 0.1
    """Share of the run's warm-up events that the peer gets before anything counts."""
    share: float = 1.0
    """Share of the run's events used to measure the peer; slow peers would take minutes for all."""
    needs: Callable[[Programs], object] | None = None
    """Function that fetches or makes what the peer needs before measurement."""


def _loop(which: str) -> Start:
    return lambda site, _: Command([sys.executable, "-m", "benchmarks.peers.loop", which, str(site.config)])


def _streams(commit_ms: int) -> Start:
    return lambda site, programs: _streams_command(site, programs, commit_ms)


def _streams_command(site: Site, programs: Programs, commit_ms: int) -> Command:
    names = site.names
    settings = {
        "application.id": site.settings.application,
        "bootstrap.servers": site.settings.bootstrap_servers,
        "state.dir": str(site.folder / "streams"),
        "replication.factor": "1",
        "auto.offset.reset": "earliest",
        "commit.interval.ms": str(commit_ms),
        "max.poll.records": "8000",
        "producer.linger.ms": "100",
        "producer.batch.size": "1000000",
        "producer.buffer.memory": "134217728",
        "statestore.cache.max.bytes": "0",
    }
    words = [names.events, names.releases, names.ledger, work.KEY.decode()]
    words += [str(pad) for pad in (work.ENTRY_PAD, work.ROW_PAD)]
    return Command([*programs.streams, *words, *(f"{name}={value}" for name, value in settings.items())])


def _quix(site: Site, programs: Programs) -> Command:
    names, settings = site.names, site.settings
    words = [settings.bootstrap_servers, settings.application, names.events, names.releases, names.ledger]
    return Command([programs.quix, "-m", "benchmarks.peers.quix", *words, str(site.folder / "quix")])


def _stock(site: Site, _: Programs) -> Command:
    return Command([sys.executable, "-m", "benchmarks.rig.stock", str(site.config)])


def _worker(tree: Path) -> Start:
    words = [str(python_of(tree)), "-m", "stream_app", "worker", "--config"]
    return lambda site, _: Command([*words, str(site.config)], tree)


def _java(programs: Programs) -> object:
    return programs.streams


WORKERS = frozenset({"worker", "tree"})
PEERS = (
    Peer("bare", "bare aiokafka client", _loop("bare")),
    Peer("plain", "plain aiokafka loop", _loop("plain")),
    Peer("streams", "Kafka Streams", _streams(100), warm=1.0, needs=_java),
    Peer("streams-quick", "Kafka Streams, commits every 25 ms", _streams(25), warm=1.0, needs=_java),
    Peer("quix", "Quix Streams", _quix, warm=0.02, share=0.25, needs=lambda programs: programs.quix),
    Peer("stock", "Faust as it comes", _stock, warm=0.01, share=0.05),
    Peer("worker", "this worker", _worker(ROOT)),
)


def of_tree(tree: Path) -> Peer:
    """Return the worker of another checkout as a peer; it has its own environment."""
    return Peer("tree", "the other checkout", _worker(tree))
