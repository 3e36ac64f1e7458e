"""``audit``: check a ledger by a second implementation of its arithmetic; the verdict stands in the first line."""

import argparse
import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from pathlib import Path

from aiokafka.errors import KafkaError
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from stream_app.audit import Auditor, Report
from stream_app.audit.files import read_files
from stream_app.audit.picture import Picture, PictureError
from stream_app.audit.reader import dump
from stream_app.audit.topic import TopicError, read_topics
from stream_app.cli import UsageError, proofs
from stream_app.cli.attested import add_head_arguments, feed_head_files, feed_head_topic, trusted_keys
from stream_app.kafka.security import client_arguments
from stream_app.settings import InvalidSettingsError, Settings

HELP = "check a ledger: chain, arithmetic, theorem"
NANO = 10**9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.epilog = (
        "Without files the ledger and releases topics are read as far as they were committed. "
        "Exit code: 0 holds, 1 findings, 2 unreadable."
    )
    parser.add_argument("--ledger", type=Path, metavar="FILE", help="the ledger as JSON Lines, instead of its topic")
    parser.add_argument("--releases", type=Path, metavar="FILE", help="the releases as JSON Lines, compared with it")
    parser.add_argument("--no-releases", action="store_true", help="from the topics: read the ledger alone")
    parser.add_argument(
        "--lifetime",
        type=_nano,
        metavar="EPSILON",
        help="bound on a series' total over its policy versions "
        "(default: lifetime_epsilon of the configuration for the topics, else the series' first epsilon)",
    )
    add_head_arguments(parser)
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw spends and what is left of the budgets")
    parser.add_argument("--config", type=Path, help="configuration file (default: landmark-stream.toml if there)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Audit; 0 when the ledger holds, 1 with findings; raises `UsageError` for what cannot be read."""
    if arguments.prove is not None:
        return proofs.prove(arguments)
    if arguments.proof is not None:
        return proofs.check(arguments)
    if arguments.ledger is None and arguments.releases is not None:
        raise UsageError("--releases FILE: give --ledger FILE with it; without files both topics are read")
    if arguments.ledger is not None and arguments.no_releases:
        raise UsageError("--no-releases: it is for the topics; leave --releases away instead")
    picture = Picture() if arguments.picture is not None else None
    report = _from_topics(arguments, picture) if arguments.ledger is None else _from_files(arguments, picture)
    if picture is not None:
        try:
            picture.draw(arguments.picture)
        except (PictureError, OSError) as error:
            raise UsageError(f"--picture: {error}") from error
    print(dump(report.document()) if arguments.json else report.text())
    return 0 if report.holds else 1


def _from_files(arguments: argparse.Namespace, picture: Picture | None) -> Report:
    auditor = Auditor(
        compare=arguments.releases is not None,
        lifetime_nano=arguments.lifetime,
        watch=picture.watch if picture is not None else None,
        keys=trusted_keys(arguments),
    )
    feed_head_files(arguments, auditor)
    try:
        with _progress() as progress:
            lines = read_files(auditor, arguments.ledger, arguments.releases, progress)
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}; name a file that can be read") from error
    if lines and not auditor.recognised:
        raise UsageError(f"--ledger {arguments.ledger}: none of its {lines} lines is a ledger entry; is it the ledger?")
    return auditor.finish()


def _from_topics(arguments: argparse.Namespace, picture: Picture | None) -> Report:
    try:
        settings = Settings.load(arguments.config)
    except InvalidSettingsError as error:
        raise UsageError(f"configuration:\n{error}") from error
    lifetime = arguments.lifetime
    if lifetime is None and settings.lifetime_epsilon is not None:
        lifetime = _nano(repr(settings.lifetime_epsilon))
    auditor = Auditor(
        compare=not arguments.no_releases,
        lifetime_nano=lifetime,
        watch=picture.watch if picture is not None else None,
        keys=trusted_keys(arguments),
        topic=f"{settings.prefix}.ledger",
    )
    feed_head_files(arguments, auditor)
    releases = None if arguments.no_releases else f"{settings.prefix}.releases"
    try:
        feed_head_topic(arguments, auditor, client_arguments(settings), f"{settings.prefix}.heads")
        with _progress() as progress:
            reading = read_topics(auditor, client_arguments(settings), f"{settings.prefix}.ledger", releases, progress)
            judged = asyncio.run(reading)
    except TopicError as error:
        raise UsageError(str(error)) from error
    except (KafkaError, OSError) as error:
        where = f"brokers at {settings.bootstrap_servers} (bootstrap_servers)"
        raise UsageError(f"{where}: {error}. Start one with `kafka start`, or name others") from error
    return auditor.finish(judged)


def _nano(text: str) -> int:
    """Return an epsilon in nano-epsilon; raises `argparse.ArgumentTypeError` unless it is above 0."""
    try:
        epsilon = Decimal(text)
    except InvalidOperation:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not epsilon.is_finite() or epsilon <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return int(epsilon * NANO)


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """Show how far the reading is, on a terminal only."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("audit"), BarColumn(), TaskProgressColumn(show_speed=True), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("audit", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
