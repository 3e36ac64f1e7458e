"""``top``: running workers and audits at a glance, from their metrics."""

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from stream_app.cli import UsageError
from stream_app.cli.operating.frame import frame
from stream_app.cli.shared.configured import settings_of
from stream_app.formats import wire
from stream_app.monitoring.endpoint import Endpoint, EndpointError
from stream_app.monitoring.snapshot import Snapshot, Unreachable, document

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - read here, not bound to
"""Hosts that are listened on, by what one asks instead."""
PIPED_WIDTH = 200
"""Characters of a line where no terminal says how many it has."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.epilog = (
        "On a terminal it goes on until Ctrl-C; elsewhere, and with --once or --json, it looks twice, an interval "
        "apart, and prints one frame."
    )
    parser.add_argument(
        "--url",
        action="append",
        metavar="URL",
        help="of a worker or an audit; repeat it for more (default: http_host and http_port of the settings)",
    )
    parser.add_argument(
        "--interval", type=_seconds, default=2.0, metavar="SECONDS", help="between two looks (default: %(default)s)"
    )
    parser.add_argument("--once", action="store_true", help="print one frame")
    parser.add_argument("--config", type=Path, help="settings (default: landmark-stream.toml, if it is there)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Show; 0 in the end; raises `UsageError` where one frame was wanted and no endpoint could be seen."""
    try:
        endpoints = [Endpoint(url) for url in arguments.url or [_default(arguments)]]
    except EndpointError as error:
        raise UsageError(f"--url: {error}") from error
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
        raise UsageError(f"nothing to see\n{reasons}\nstart a worker, or name what runs with --url http://HOST:PORT")
    if arguments.json:
        print(wire.dump(document(snapshots)).decode())
    else:
        if not console.is_terminal:
            console.width = PIPED_WIDTH
        console.print(frame(snapshots))
    return 0


def _watch(console: Console, endpoints: Sequence[Endpoint], pool: ThreadPoolExecutor, interval: float) -> None:
    try:
        foot = Text(f"every {interval:g} s; Ctrl-C ends it", style="dim")
        with Live(Group(frame(_look(endpoints, pool)), foot), console=console, screen=True, auto_refresh=False) as live:
            while True:
                time.sleep(interval)
                live.update(Group(frame(_look(endpoints, pool)), foot), refresh=True)
    except KeyboardInterrupt:
        return


def _look(endpoints: Sequence[Endpoint], pool: ThreadPoolExecutor) -> list[Snapshot]:
    """Look at all endpoints at once: one that is slow to fail delays none."""
    return list(pool.map(Endpoint.look, endpoints))


def _default(arguments: argparse.Namespace) -> str:
    settings = settings_of(arguments)
    if settings.http_port == 0:
        raise UsageError("http_port is 0, any free port; the worker's log says which: name it with --url")
    host = settings.http_host
    return f"http://{EVERYWHERE.get(host, f'[{host}]' if ':' in host else host)}:{settings.http_port}"


def _seconds(text: str) -> float:
    """Return a time; raises `argparse.ArgumentTypeError` unless it is 0 to an hour."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is not 0 to 3600 seconds")
    return seconds
