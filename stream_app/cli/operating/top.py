"""``top``: show a table of running workers and audits, from their metrics."""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from typing import Final
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from stream_app.cli import UsageError, mendable, printable
from stream_app.cli.shared.arguments import add_config, number
from stream_app.cli.shared.configured import settings_of
from stream_app.formats import wire
from stream_app.monitoring.scrape import Distribution, Scrape, ScrapeError, scrape_of
from stream_app.monitoring.snapshot import (
    AuditSnapshot,
    Snapshot,
    Unreachable,
    WorkerSnapshot,
    document,
    snapshot_of,
    together,
)

TIMEOUT_SECONDS: Final = 3.0
MOST_BYTES: Final = 8 * 1024 * 1024  # maximum size of an answer; a worker's is under 100 KB


class Endpoint:
    """One metrics endpoint, which is scraped repeatedly."""

    def __init__(self, url: str) -> None:
        """Accept a URL with or without the path /metrics; raise `ValueError` if it is invalid."""
        wrong = ValueError(f"{url!r} is not an endpoint; use http://HOST:PORT, or https")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise wrong from None
        if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0 or not url.isprintable():
            raise wrong
        self.url = url
        self._asked = url if parts.path not in {"", "/"} else f"{parts.scheme}://{parts.netloc}/metrics"
        # Proxy settings in the environment are meant for outside hosts, but would also apply to 127.0.0.1.
        self._opener = build_opener(ProxyHandler({}))
        self._before: Scrape | None = None

    def snapshot(self) -> Snapshot:
        """Scrape the endpoint and return its snapshot; rates cover the time since the last call."""
        try:
            with self._opener.open(self._asked, timeout=TIMEOUT_SECONDS) as answer:
                scrape = scrape_of(answer.read(MOST_BYTES).decode(), time.monotonic())
        except (OSError, HTTPException, UnicodeDecodeError) as error:
            reason = error.reason if isinstance(error, URLError) else error
            return Unreachable(self.url, f"does not answer: {getattr(reason, 'strerror', None) or reason}")
        except ScrapeError as error:
            return Unreachable(self.url, str(error))
        before, self._before = self._before, scrape
        return snapshot_of(self.url, before, scrape)


EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - read here, not bound to
"""The host to connect to, for each wildcard host that a server may listen on."""
PIPED_WIDTH = 200  # width of the table in a pipe, in characters
NANO = 10**9
BAD = "bold red"
SECONDS = number("{} is not a number of seconds from 0 to 3600", 0, 3600)


def _served(seen: WorkerSnapshot) -> str:
    """Return how many partitions are served and, if the worker reports it, how many there are."""
    return f"{seen.partitions_running}" + (f" of {seen.partitions_configured}" if seen.partitions_configured else "")


WORKER_ROWS: tuple[tuple[str, Callable[[WorkerSnapshot], str]], ...] = (
    ("events", lambda seen: f"{seen.events:,}"),
    ("events per second", lambda seen: _rate(seen.events_per_second)),
    ("not processed yet", lambda seen: "unknown" if seen.outside_group else f"{seen.lag_records:,}"),
    ("append to commit", lambda seen: f"{seen.lag_seconds:.1f} s"),
    ("commit of a batch", lambda seen: "-" if seen.commit_seconds is None else f"{seen.commit_seconds * 1000:.0f} ms"),
    ("largest loss so far", lambda seen: seen.most_used),
    ("share of budget remaining", lambda seen: _mean(seen.budget_left)),
    ("sampling rate", lambda seen: _mean(seen.sampling_rate)),
    ("rejects per second", lambda seen: _rate(seen.rejects_per_second)),
    ("series in memory", lambda seen: f"{seen.cached_series:,}"),
    ("partitions served", _served),
    ("sum over all steps", lambda seen: f"{seen.spent_nano / NANO:,.6f}"),
    ("increase per second", lambda seen: _small(seen.spend_nano_per_second)),
)
AUDIT_ROWS: tuple[tuple[str, Callable[[AuditSnapshot], str]], ...] = (
    ("entries audited", lambda seen: f"{seen.entries:,}"),
    ("series audited", lambda seen: f"{seen.series:,}"),
    ("not audited yet", lambda seen: f"{seen.lag_records:,}"),
    ("not signed yet", lambda seen: f"{seen.unsigned_entries:,}"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        "On a terminal it continues until Ctrl-C. Elsewhere, and with --once or --json, it reads the metrics twice, "
        "an interval apart, and prints one frame."
    )
    url_help = (
        "address of a worker or an audit; may be repeated (default: http_host and http_port of the configuration)"
    )
    parser.add_argument("--url", action="append", metavar="URL", help=url_help)
    interval_help = "seconds between two readings (default: %(default)s)"
    parser.add_argument("--interval", type=SECONDS, default=2.0, metavar="SECONDS", help=interval_help)
    parser.add_argument("--once", action="store_true", help="print one frame and exit")
    add_config(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Show frames and return 0; raise `UsageError` if a single frame is requested and no endpoint answers."""
    with mendable(ValueError, by="--url: "):
        endpoints = [Endpoint(url) for url in arguments.url or [_default(arguments)]]
    console = Console()
    with ThreadPoolExecutor(len(endpoints)) as pool:
        if console.is_terminal and not console.is_dumb_terminal and not arguments.once and not arguments.json:
            _watch(console, endpoints, pool, arguments.interval)
            return 0
        _look(endpoints, pool)
        time.sleep(arguments.interval)
        snapshots = _look(endpoints, pool)
    if all(isinstance(snapshot, Unreachable) for snapshot in snapshots):
        reasons = "\n".join(
            f"{snapshot.url}: {snapshot.reason}" for snapshot in snapshots if isinstance(snapshot, Unreachable)
        )
        raise UsageError(
            f"nothing to show\n{reasons}\nstart a worker, or use --url http://HOST:PORT for a running worker or audit"
        )
    if arguments.json:
        print(wire.dump(document(snapshots)).decode())
    else:
        if not console.is_terminal:
            console.width = PIPED_WIDTH
        console.print(frame(snapshots))
    return 0


def _watch(console: Console, endpoints: Sequence[Endpoint], pool: ThreadPoolExecutor, interval: float) -> None:
    try:
        foot = Text(f"updates every {interval:g} s; Ctrl-C exits", style="dim")
        with Live(Group(frame(_look(endpoints, pool)), foot), console=console, screen=True, auto_refresh=False) as live:
            while True:
                time.sleep(interval)
                live.update(Group(frame(_look(endpoints, pool)), foot), refresh=True)
    except KeyboardInterrupt:
        return


def _look(endpoints: Sequence[Endpoint], pool: ThreadPoolExecutor) -> list[Snapshot]:
    """Scrape all endpoints in parallel, so that a slow failure does not delay the others."""
    return list(pool.map(Endpoint.snapshot, endpoints))


def _default(arguments: argparse.Namespace) -> str:
    settings = settings_of(arguments)
    if settings.http_port == 0:
        raise UsageError("http_port is 0 (any free port); the worker's log shows the port: specify it with --url")
    host = settings.http_host
    return f"http://{EVERYWHERE.get(host, f'[{host}]' if ':' in host else host)}:{settings.http_port}"


def frame(snapshots: Sequence[Snapshot]) -> RenderableType:
    """Return the display for all endpoints: workers, audits, and unreachable endpoints."""
    parts: list[RenderableType] = []
    workers = [snapshot for snapshot in snapshots if isinstance(snapshot, WorkerSnapshot)]
    audits = [snapshot for snapshot in snapshots if isinstance(snapshot, AuditSnapshot)]
    if workers:
        parts.append(_workers(workers))
    if audits:
        parts.append(_audits(audits))
    missing = [snapshot for snapshot in snapshots if isinstance(snapshot, Unreachable)]
    parts += [Text(printable(f"{snapshot.url}: {snapshot.reason}"), style=BAD) for snapshot in missing]
    return Group(*parts)


def _workers(workers: Sequence[WorkerSnapshot]) -> Table:
    table = _table("worker", workers)
    if len(workers) > 1:
        table.add_column("all", justify="right")
        workers = [*workers, together(workers)]
    for name, cell in WORKER_ROWS:
        table.add_row(name, *(cell(seen) for seen in workers))
    _counts(table, "decided", [seen.decisions for seen in workers])
    _counts(table, "rejected", [seen.rejects for seen in workers])
    if any(seen.outside_group for seen in workers):
        table.add_row("outside the consumer group", *(f"{seen.outside_group}" for seen in workers), style=BAD)
    _counts(table, "partitions stopped", [seen.partitions_stopped for seen in workers], BAD)
    for name, counts, style in (
        ("open steps", [seen.open_steps for seen in workers], None),
        ("series with a correlation", [seen.correlated_series for seen in workers], None),
        ("series above the alarm", [seen.alarmed_series for seen in workers], BAD),
        ("people with a limit", [seen.capped_members for seen in workers], None),
        ("nine tenths reserved", [seen.claimed_members for seen in workers], None),
        ("left to restore", [seen.recovery_remaining for seen in workers], None),
    ):
        if any(counts):
            table.add_row(name, *(f"{count:,}" for count in counts), style=style)
    return table


def _audits(audits: Sequence[AuditSnapshot]) -> Table:
    table = _table("audit", audits)
    for name, cell in AUDIT_ROWS:
        table.add_row(name, *(cell(seen) for seen in audits))
    verdicts = (f"{sum(seen.findings.values()):,}" for seen in audits)
    table.add_row("findings", *verdicts, style=BAD if any(seen.findings for seen in audits) else None)
    _counts(table, "found", [seen.findings for seen in audits], BAD)
    return table


def _table(what: str, snapshots: Sequence[WorkerSnapshot | AuditSnapshot]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(what)
    for snapshot in snapshots:
        table.add_column(Text(urlsplit(snapshot.url).netloc), justify="right")
    return table


def _counts(table: Table, what: str, counts: Sequence[Mapping[str, int]], style: str | None = None) -> None:
    """Add a row for each name that any instance counted, in order of first appearance."""
    for name in dict.fromkeys(name for each in counts for name in each):
        table.add_row(Text(printable(f"{what}: {name}")), *(f"{each.get(name, 0):,}" for each in counts), style=style)


def _rate(per_second: float | None) -> str:
    return "-" if per_second is None else f"{per_second:,.1f}"


def _mean(found: Distribution) -> str:
    return "-" if found.mean is None else f"{found.mean:.1%}".replace("%", " %")


def _small(nano_per_second: float | None) -> str:
    return "-" if nano_per_second is None else f"{nano_per_second / NANO:,.6f}"
