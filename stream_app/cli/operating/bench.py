"""``bench``: ratios of one run on this machine."""

import argparse
import logging
import sys
import tempfile
from pathlib import Path

from aiokafka.errors import KafkaError
from rich.console import Console
from rich.table import Table

from benchmarks import catalogue
from benchmarks.figure import Result
from benchmarks.machine import Machine
from benchmarks.process import ClientError
from benchmarks.sizes import FILTERS, SCHEMES, VALUES
from stream_app.cli import UsageError
from stream_app.formats import wire
from stream_app.localbroker.errors import LocalBrokerError

_SIZES = ("events", "series", "partitions", "repeats", "scheme", "filter", "kind")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    listed = "; ".join(f"{name}: {text}" for name, (_, text) in catalogue.BENCHES.items())
    parser.add_argument("name", nargs="?", choices=catalogue.BENCHES, metavar="NAME", help=f"{listed} (default: all)")
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
    parser.add_argument("--folder", type=Path, help="where broker and state live meanwhile (default: a temporary one)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Measure; 0 when everything ran, whatever was found, 1 when a program under measurement or the broker failed."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # it tells of each retry, as with topics just made
    machine = Machine.this()
    out = Console(stderr=arguments.json)
    if not out.is_terminal:
        out.width = 120
    out.print(str(machine), highlight=False)
    given = {size: getattr(arguments, size) for size in _SIZES if getattr(arguments, size) is not None}
    results: list[Result] = []
    try:
        for name in [arguments.name] if arguments.name else catalogue.BENCHES:
            with tempfile.TemporaryDirectory(prefix="landmark-bench-", dir=arguments.folder) as folder:
                results.append(catalogue.run(name, Path(folder), given))
            out.print(_table(results[-1]))
    except (ClientError, KafkaError) as error:
        print(f"landmark-stream bench: {error}", file=sys.stderr)
        return 1
    except (LocalBrokerError, OSError) as error:
        raise UsageError(str(error)) from error
    if arguments.json:
        document = {"machine": machine.document(), "results": [result.document() for result in results]}
        print(wire.dump(document).decode())
    return 0


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


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: use a whole number of at least 1")
    return int(text)
