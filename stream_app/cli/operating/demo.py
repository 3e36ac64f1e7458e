"""``demo``: run the whole system on a local Kafka with real data."""

import argparse
import asyncio
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from stream_app.cli import UsageError, mendable
from stream_app.cli.shared.eventfile import record_key
from stream_app.demo.data import DemoSeries, demo_series
from stream_app.demo.summary import SeriesSummary, parsed, reasons_of, summarise, table_of, weeks_of
from stream_app.formats import wire
from stream_app.kafka.client.log import records_of
from stream_app.kafka.client.sending import Event, send_events
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.evidence.claim import is_claim
from stream_app.kafka.provision import make_and_check
from stream_app.localbroker import LocalBrokerError
from stream_app.localbroker.broker import LocalBroker
from stream_app.processes import running
from stream_app.setup import keyfile
from stream_app.setup.settings import Settings

PARTITIONS = 4
PATIENCE_SECONDS = 120.0
MARKER = "made-by-landmark-stream-demo"
"""Name of the file that marks a folder as created by a demo, so that a later demo may empty it."""
INSTALL = "install what it needs: pip install matplotlib bokeh_sampledata"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    folder_help = "folder for broker, keys and state (default: %(default)s)"
    parser.add_argument("--folder", type=Path, default=Path(".landmark-stream") / "demo", help=folder_help)
    parser.add_argument(
        "--picture", type=Path, default=Path("demo.png"), help=("file for the picture (default: %(default)s)")
    )
    with_input_help = "draw the input beside the releases; keep that picture private"
    parser.add_argument("--with-input", action="store_true", help=with_input_help)
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Run the demo; return 0 if every event was answered and the audit holds, and 1 otherwise."""
    out = Console(stderr=arguments.json)
    if not out.is_terminal:
        out.width = 120
    try:
        series = demo_series()
    except (ModuleNotFoundError, FileNotFoundError):
        raise UsageError(f"the demo's data are not installed; {INSTALL}") from None
    if find_spec("matplotlib") is None:  # check before a broker starts
        raise UsageError(f"the demo's picture needs matplotlib; {INSTALL}")
    folder: Path = arguments.folder.absolute()
    with mendable(LocalBrokerError), _running_worker(folder, out) as config:
        return _demonstrate(arguments, out, series, config)


def _demonstrate(arguments: argparse.Namespace, out: Console, series: tuple[DemoSeries, ...], config: Path) -> int:
    from stream_app.demo.picture import laid_out  # noqa: PLC0415 - matplotlib loads in seconds, once the worker runs

    settings = Settings.load(config)
    total = sum(len(one.readings) for one in series)
    wanted = sum(one.answers() for one in series)
    out.print(f"sending {total:,} real events of {len(series)} series, each policy before its events")
    began = time.monotonic()
    answered, seconds = asyncio.run(_send_and_wait(settings, series, wanted, out, began))
    if answered < wanted:
        out.print(f"only {answered:,} of {wanted:,} answers arrived; see {config.parent / 'worker.log'}")
        return 1
    names = TopicNames.of(settings.prefix, settings.application)
    releases = parsed(asyncio.run(_values(settings, names.releases)))
    entries = parsed(asyncio.run(_values(settings, names.ledger)))
    refused = reasons_of(asyncio.run(_values(settings, names.rejects)))
    weekly, single = (next(one for one in series if one.unit != "m" and one.weekly == there) for there in (True, False))
    weeks = weeks_of(weekly, releases[weekly.name], releases[single.name])
    summaries = [summarise(one, releases[one.name], entries[one.name], weeks) for one in series]
    out.print(table_of(summaries))
    out.print(
        *([f"Rejected: {refused}."] if refused else []),
        "glucose-weekly publishes one mean per week. It protects any one hour, and omits two days in hospital.\nThe "
        "next row has the means of the same weeks, averaged from the releases of glucose-balanced, which publishes\n"
        "every reading and protects any single reading (5 minutes). The error is the mean distance from the true "
        "values,\nwhich only someone with the input can compute. The constant is the best single value in hindsight: "
        "a\nrelease with a larger error says less than that value. Used budget is the epsilon spent on all landmarks "
        "plus\nthe largest cost of one other step. The budgets of several series of one person add up.",
        sep="\n",
    )
    rate = f"{total / seconds:,.0f} events/s, worker and broker on this machine"
    out.print(f"{total:,} events in {seconds:.1f} s: {rate}")
    figure = laid_out(series, releases, entries, summaries, weeks, with_input=arguments.with_input)
    figure.savefig(arguments.picture, dpi=110, facecolor="white")
    out.print(f"picture: {arguments.picture}")
    audit = [sys.executable, "-m", "stream_app", "audit", "--config", str(config)]
    verdict = subprocess.run(audit, capture_output=True, text=True, check=False)
    out.print(verdict.stdout.strip() or verdict.stderr.strip(), markup=False)
    if arguments.json:
        print(wire.dump(_document(summaries, total, seconds, verdict.returncode)).decode())
    return verdict.returncode


async def _send_and_wait(
    settings: Settings, series: tuple[DemoSeries, ...], wanted: int, out: Console, began: float
) -> tuple[int, float]:
    """Send everything while counting answers; return the number of answers and the seconds until the last one."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=out) if out.is_terminal else None
    names = TopicNames.of(settings.prefix, settings.application)
    answers = AnswerCount()
    with progress or nullcontext():
        shown = progress.add_task("answered", total=wanted) if progress else None
        separator = settings.member_separator
        events = (Event(record_key(event, separator), event) for one in series for event in one.events())
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(send_events(settings, events))
            counting = [tasks.create_task(answers.count(settings, topic)) for topic in (names.releases, names.rejects)]
            while answers.seen < wanted and time.monotonic() - answers.last < PATIENCE_SECONDS:
                await asyncio.sleep(0.2)
                if progress and shown is not None:
                    progress.update(shown, completed=answers.seen)
            for task in counting:
                task.cancel()
    return answers.seen, answers.last - began


class AnswerCount:
    """The number of committed answers (releases or rejected records), and the time of the last one."""

    def __init__(self) -> None:
        self.seen = 0
        self.last = time.monotonic()

    async def count(self, settings: Settings, topic: str) -> None:
        """Count the records of a topic until the task is cancelled."""
        async for _ in records_of(settings, topic, follow=True):
            self.seen += 1
            self.last = time.monotonic()


async def _values(settings: Settings, topic: str) -> list[bytes]:
    return [record.value async for record in records_of(settings, topic) if not is_claim(record)]


def _document(summaries: list[SeriesSummary], total: int, seconds: float, verdict: int) -> dict[str, object]:
    return {
        "events": total,
        "seconds": seconds,
        "events_per_second": total / seconds,
        "holds": verdict == 0,
        "series": [summary.document() for summary in summaries],
    }


@contextmanager
def _running_worker(folder: Path, out: Console) -> Iterator[Path]:
    """Start a broker and a worker in ``folder``, with topics and a key; yield the configuration file.

    Both are stopped at the end.
    """
    _clear(folder)
    config = folder / "landmark-stream.toml"
    with LocalBroker.start(folder / "kafka", progress=out.print) as broker:
        config.write_text(
            f'bootstrap_servers = "{broker.bootstrap_servers}"\n'
            f'application = "landmark-demo"\npartitions = {PARTITIONS}\n'
            f'key_file = "{folder / "demo.key"}"\ndata_folder = "{folder / "state"}"\nhttp_port = 0\n'
        )
        keyfile.create(folder / "demo.key")
        out.print("making the topics")
        report = asyncio.run(make_and_check(Settings.load(config)))
        if report.differences:
            raise UsageError("\n".join(map(str, report.differences)))
        out.print("starting a worker")
        with running(("worker", "--config", str(config)), folder / "worker.log"):
            yield config


def _clear(folder: Path) -> None:
    """Create a folder, or empty it if an earlier demo made it; refuse any other folder that is not empty."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / MARKER).exists():
            raise UsageError(f"{folder} contains files that no demo created; specify another folder with --folder")
        if (running := LocalBroker.find(folder / "kafka")) is not None:
            running.stop()
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).touch()
