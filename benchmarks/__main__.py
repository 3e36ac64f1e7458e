"""``make bench NAME=.. ARGS=..`` or ``python -m benchmarks NAME ..``: run benchmarks.

It prints their figures and targets.
"""

import argparse
import importlib
import logging
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from aiokafka.errors import KafkaError
from rich.console import Console
from rich.table import Table

from benchmarks.peers.programs import ROOT, python_of
from benchmarks.peers.roster import PEERS, of_tree
from benchmarks.result import Bars, Result
from benchmarks.rig.machine import Machine
from benchmarks.rig.process import ClientError
from benchmarks.rig.site import Ground
from benchmarks.rig.workload import FILTERS, SCHEMES, VALUES
from stream_app.formats import wire
from stream_app.localbroker import LocalBrokerError

BENCHES: Mapping[str, str] = {
    "worker": "events/s over those of a bare client that writes the same bytes",
    "faust": "events/s over those of Faust as it comes",
    "peers": "speed, latency and memory beside Kafka Streams, Quix Streams, Faust and plain loops (docs/benchmarks.md)",
    "series": "memory and speed with a million series",
    "members": "what claims and caps cost: 100,000 members with five series each, and the same series without",
    "latency": "from append to committed release at half load",
    "scale": "events/s of two and of four workers over those of one",
    "recovery": "reading the state of a million series back from the changelog",
    "takeover": "from a worker's kill until another decides, with a standby replica and without",
    "sizing": "bytes and processor time for each series, event and ledger entry (docs/sizing.md)",
    "loss": "temporal loss of a million timestamps, against the published algorithm",
    "core": "one decision and its parts, without Kafka",
    "collect": "contributions/s of one open step, their memory, and a closed cell, without Kafka",
    "units": "readings/s of open days over those of plain observations, their changelog, memory and recovery",
    "feeder": "the error of a released sum of 200 homes, and of 200 private series added up, without Kafka",
    "audit": "entries/s of an audit over those of parsing and hashing them, and its memory",
}
"""The benchmarks by name, each with what it measures.

A benchmark's module in ``measures`` has ``DEFAULT`` sizes and ``run(ground, sizes, show)``. ``BROKER`` holds further
broker settings, and ``table(result)`` returns a table for people to show above the figures. If ``NEEDS_BROKER`` is
False, ``run`` gets the empty folder instead of the ground.
"""
_OF_ALL = ("events", "series", "partitions", "repeats", "scheme", "filter", "kind")
_OF_PEERS = ("only", "tree", "warm", "seconds")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmarks; return 0 if all of them ran, whatever they found.

    Returns 1 if a client or the broker failed, and 2 if there is no broker.
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # it logs each retry, as for newly created topics
    machine = Machine.this()
    out = Console(stderr=arguments.json)
    if not out.is_terminal:
        out.width = 120
    out.print(str(machine), highlight=False)
    given = {size: value for size in _OF_ALL + _OF_PEERS if (value := getattr(arguments, size)) is not None}
    if arguments.name != "peers" and (foreign := [f"--{size}" for size in _OF_PEERS if size in given]):
        parser.error(f"{', '.join(foreign)}: for the benchmark peers alone")
    results: list[Result] = []
    try:
        for name in [arguments.name] if arguments.name else BENCHES:
            with tempfile.TemporaryDirectory(prefix="landmark-bench-", dir=arguments.folder) as folder:
                results.append(measured(name, Path(folder).absolute(), given))
            if hasattr(module := _module(name), "table"):
                out.print(module.table(results[-1]))
            out.print(_table(results[-1]))
    except (ClientError, KafkaError, LocalBrokerError, OSError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1 if isinstance(error, ClientError | KafkaError) else 2
    except KeyboardInterrupt:
        return 130
    if arguments.json:
        document = {"machine": machine.document(), "results": [result.document() for result in results]}
        print(wire.dump(document).decode())
    return 0


def measured(name: str, folder: Path, given: Mapping[str, Any]) -> Result:
    """Run a benchmark in an empty ``folder`` with its default sizes, except for those in ``given``.

    Raises:
        ClientError: if a program under measurement fails.
        LocalBrokerError: if there is no broker.
    """
    module = _module(name)
    sizes = replace(module.DEFAULT, **given)
    with Bars() as bars:
        if not getattr(module, "NEEDS_BROKER", True):
            return cast("Result", module.run(folder, sizes, bars.show))
        with Ground.prepared(folder, getattr(module, "BROKER", None)) as ground:
            return cast("Result", module.run(ground, sizes, bars.show))


def _module(name: str) -> Any:
    return importlib.import_module(f"benchmarks.measures.{name}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure the worker against bare clients, as ratios of one run.",
        epilog="Exit codes: 0 done, 1 a client or the broker failed in the midst of a run, 2 unusable arguments, or no "
        "broker could be started.",
    )
    listed = "; ".join(f"{name}: {text}" for name, text in BENCHES.items())
    parser.add_argument("name", nargs="?", choices=BENCHES, metavar="NAME", help=f"{listed} (default: all)")
    for size, text in (
        ("events", "events of a run"),
        ("series", "series that they belong to"),
        ("partitions", "partitions of every topic"),
        ("repeats", "runs of each program, in turn"),
    ):
        parser.add_argument(f"--{size}", type=_positive, help=f"{text} (default: the benchmark's own)")
    parser.add_argument("--scheme", choices=SCHEMES, help="scheme of the policy (default: adaptive; core: all)")
    parser.add_argument("--filter", choices=FILTERS, help="filter of the policy (default: the scheme's own)")
    parser.add_argument("--kind", choices=VALUES, help="kind of the values (default: number; core: all)")
    peers = parser.add_argument_group("of peers alone")
    names = ",".join(peer.name for peer in PEERS)
    peers.add_argument("--only", type=_peers, metavar="NAME,..", help=f"measure these peers: {names} (default: all)")
    peers.add_argument("--tree", type=_checkout, help="measure the worker of another checkout too, as tree")
    peers.add_argument("--warm", type=_positive, help="events before Kafka Streams counts (default: 1000000)")
    peers.add_argument("--seconds", type=_positive, help="how long each load lasts, for latencies (default: 8)")
    parser.add_argument("--folder", type=Path, help="where broker and state live meanwhile (default: a temporary one)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _table(result: Result) -> Table:
    sizes = ", ".join(f"{name} {size}" for name, size in result.sizes.items() if size is not None)
    table = Table(title=f"{result.bench}: {sizes}")
    for column in ("figure", "median", "least", "most", "unit", "target"):
        table.add_column(column, justify="left" if column in {"figure", "unit", "target"} else "right")
    targets = {target.figure: target for target in result.targets}
    for name, figure in result.figures.items():
        target, verdict = targets.get(name), ""
        if target is not None:
            verdict = f"{target.bound} {_number(target.value)}: {'met' if target.met(result.figures) else 'missed'}"
        shown = (_number(value) for value in (figure.median, min(figure.runs), max(figure.runs)))
        table.add_row(name.replace("_", " "), *shown, figure.unit, verdict)
    return table


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _peers(text: str) -> tuple[str, ...]:
    known = {peer.name for peer in (*PEERS, of_tree(ROOT))}
    if unknown := sorted(set(text.split(",")) - known):
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: there are {', '.join(sorted(known))}")
    return tuple(text.split(","))


def _checkout(text: str) -> Path:
    tree = Path(text).resolve()
    if not python_of(tree).exists():
        raise argparse.ArgumentTypeError(f"{tree}: no checkout with an environment; run `make install` there")
    return tree


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: use a whole number of at least 1")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
