"""``read events|releases|ledger|rejects|heads``: print records, one JSON object per line."""

import argparse
import asyncio
import csv
import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from fnmatch import fnmatchcase
from importlib.util import find_spec
from typing import Any, BinaryIO, Final, NamedTuple

from aiokafka import ConsumerRecord
from aiokafka.errors import KafkaError

from stream_app.analysis.policies import STEP, Policies
from stream_app.analysis.release import Release
from stream_app.analysis.rows import by_column, columns_of, row_of
from stream_app.audit.files import UNCOMMITTED
from stream_app.cli import UsageError
from stream_app.cli.shared.arguments import add_config, moment_of
from stream_app.cli.shared.configured import reaching, settings_of
from stream_app.formats import wire
from stream_app.formats.records import MemberRecord
from stream_app.kafka.client.log import records_of
from stream_app.kafka.client.refusal import refusal_of
from stream_app.kafka.client.topicid import assert_there
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.evidence.claim import is_claim
from stream_app.kafka.rebuild.backup import decided, end_line, event_line
from stream_app.setup.settings import Settings

TOPICS = ("events", "releases", "ledger", "rejects", "heads")
BACKED_UP = ("events", "rejects")
"""Topics that `resend` accepts; complete output ends with a line that says how far the input was processed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        "A complete output of events or rejects ends with a line that says how far the input was processed; `resend` "
        "needs both outputs. A ledger read with --uncommitted begins with a line that says so; `left` accepts such a "
        "ledger, but `audit` does not."
    )
    parser.add_argument("topic", choices=TOPICS, help="the topic to read; events contain raw values")
    add_config(parser)
    series_help = "only series that match; may be repeated"
    parser.add_argument("--series", action="append", metavar="GLOB", help=series_help)
    begins = parser.add_mutually_exclusive_group()
    from_help = "where to start (default: %(default)s)"
    begins.add_argument("--from", dest="begin", choices=("start", "end"), default="start", help=from_help)
    begins.add_argument(
        "--since",
        metavar="TIMESTAMP",
        help="only records at or after this time (releases and ledger: the step's start); ms, or ISO 8601 with offset",
    )
    without_leaves_help = "heads: only the signed records, which a witness keeps"
    parser.add_argument("--without-leaves", action="store_true", help=without_leaves_help)
    uncommitted_help = "include aborted records; `left` needs those of the ledger, because they count too"
    parser.add_argument("--uncommitted", action="store_true", help=uncommitted_help)
    parser.add_argument("--limit", type=int, help="stop after this many records")
    parser.add_argument("--follow", action="store_true", help="continue with new committed records until Ctrl-C")
    format_help = (
        "releases: csv and parquet give a table with landmark flags and 95 %% intervals (default: %(default)s)"
    )
    parser.add_argument("--format", choices=("jsonl", *FORMATS), default="jsonl", help=format_help)
    parser.add_argument("--json", action="store_true", help="has no effect: the output is JSON Lines anyway")


def run(arguments: argparse.Namespace) -> int:
    """Print records; return 0 at the end of the topic."""
    if arguments.series is not None and arguments.topic == "heads":
        raise UsageError(
            "--series: a signed checkpoint covers many series; `audit --prove SERIES` writes the proof for one series"
        )
    if arguments.without_leaves and arguments.topic != "heads":
        raise UsageError("--without-leaves: only heads have leaves; omit it")
    if arguments.format != "jsonl":
        _check_table(arguments)
    settings = settings_of(arguments)
    with reaching(settings):
        asyncio.run(_read(arguments, settings))
    return 0


async def _read(arguments: argparse.Namespace, settings: Settings) -> None:
    names = TopicNames.of(settings.prefix, settings.application)
    topic: str = getattr(names, arguments.topic)
    shown = 0
    if arguments.limit == 0:
        return
    from_end = arguments.begin == "end"
    since_ms = None if arguments.since is None else moment_of("--since", arguments.since, negative=False)
    rows: list[Release] = []
    ends = await _ends(settings, names, topic) if _is_backup(arguments) else None
    if arguments.uncommitted and arguments.topic == "ledger":
        _print(arguments, UNCOMMITTED)
    with _silence_told(arguments, topic) as came:
        async for record in records_of(
            settings,
            topic,
            isolation="read_uncommitted" if arguments.uncommitted else "read_committed",
            follow=arguments.follow,
            from_end=from_end,
            since_ms=since_ms,
        ):
            if not _asked_for(arguments, record):
                continue
            came()
            shown += 1
            if arguments.format != "jsonl":
                found: Any = wire.load(record.value or b"null")
                rows.append(Release.of(found))
            else:
                _print(arguments, event_line(record) if arguments.topic == "events" else record.value)
            if shown == arguments.limit:
                break
    if arguments.format != "jsonl":
        policies = await _policies(settings, names)
        table = [row_of(*policies.of(release)) for release in rows]
        FORMATS[arguments.format].write(table, columns_of(table), sys.stdout.buffer)
    if ends is not None:
        _print(arguments, end_line(ends))


def _asked_for(arguments: argparse.Namespace, record: ConsumerRecord) -> bool:
    if arguments.topic == "ledger" and is_claim(record):
        return False  # it has no series and no chain
    return _wanted(arguments, record.value)


@contextmanager
def _silence_told(arguments: argparse.Namespace, topic: str) -> Iterator[Callable[[], None]]:
    """Print where to look if no record arrives in time, unless the yielded function is called."""
    silence = asyncio.get_running_loop().call_later(QUIET_SECONDS, _tell_silence, topic)
    if not arguments.follow:
        silence.cancel()
    try:
        yield silence.cancel
    finally:
        silence.cancel()


QUIET_SECONDS: Final = 5
"""Seconds after which ``--follow`` reports that no record has arrived."""


def _tell_silence(topic: str) -> None:
    """Say that no record has arrived yet, and where to look for the cause."""
    where = "is a worker running (`landmark-stream top`), and what did it reject (`landmark-stream read rejects`)?"
    print(
        f"landmark-stream read: {topic} has no such record yet; waiting; {where}",
        file=sys.stderr,
    )


def _print(arguments: argparse.Namespace, line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    if arguments.follow:
        sys.stdout.flush()


def _check_table(arguments: argparse.Namespace) -> None:
    name = f"--format {arguments.format}"
    if arguments.topic != "releases":
        raise UsageError(f"{name}: only releases can be written as a table; omit it")
    if arguments.follow:
        raise UsageError(f"{name}: a table is written once all its columns are known; omit --follow")
    package = FORMATS[arguments.format].package
    if package is not None:
        if sys.stdout.isatty():
            raise UsageError(f"{name}: is binary; redirect it to a file, with > releases.{arguments.format}")
        if find_spec(package) is None:
            raise UsageError(
                f"{name}: needs the package {package}, which is not installed; run pip install {package}, or use csv"
            )


async def _policies(settings: Settings, names: TopicNames) -> Policies:
    """Return the public policies in the ledger, which identify landmark releases and each release's error."""
    found = Policies()
    async for record in records_of(settings, names.ledger):
        if not is_claim(record) and STEP not in (record.value or b""):
            entry: Any = wire.load(record.value or b"null")
            found.entry(entry)
    return found


def _write_parquet(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], out: BinaryIO) -> None:
    import pyarrow as pa  # noqa: PLC0415 - optional, and slow to load
    import pyarrow.parquet as pq  # noqa: PLC0415

    pq.write_table(pa.table(by_column(rows, columns)), out)


def _write_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], out: BinaryIO) -> None:
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row.get(name)) for name in columns] for row in rows)
    text.flush()
    text.detach()


def _cell(found: object) -> object:
    match found:
        case bool():
            return str(found).lower()
        case datetime():
            return found.isoformat().replace("+00:00", "Z")
        case _:
            return found


class TableFormat(NamedTuple):
    """A table writer and the optional package that it needs; a writer without a package writes text."""

    write: Callable[[Sequence[Mapping[str, Any]], Sequence[str], BinaryIO], None]
    package: str | None = None


FORMATS: Final = {"csv": TableFormat(_write_csv), "parquet": TableFormat(_write_parquet, "pyarrow")}
"""The table formats that exist besides the records themselves."""


def _is_backup(arguments: argparse.Namespace) -> bool:
    """Return whether the command reads the whole of a topic that `resend` accepts."""
    chosen = arguments.series is not None or arguments.since is not None or arguments.limit is not None
    chosen = chosen or arguments.begin == "end" or arguments.follow or arguments.uncommitted
    return arguments.topic in BACKED_UP and not chosen


async def _ends(settings: Settings, names: TopicNames, topic: str) -> Mapping[int, int] | None:
    """Return how far the input was processed, or None if the output is not a complete backup.

    Raises `LookupError` if the topic is missing.
    """
    await assert_there(settings, topic)
    try:
        return await decided(settings, names, topic)
    except (LookupError, KafkaError) as error:
        why = str(refusal_of(settings, error)) if isinstance(error, KafkaError) else str(error)
        print(
            f"landmark-stream read: the last line `end` is missing, so `resend` will not accept this output: {why}",
            file=sys.stderr,
        )
        return None


def _wanted(arguments: argparse.Namespace, value: bytes | None) -> bool:
    if arguments.series is None and not arguments.without_leaves:
        return True
    if arguments.topic == "events":
        record = wire.decode(value)
        series = record.member if isinstance(record, MemberRecord) else record.series
    else:
        found: Any = wire.load(value or b"null")
        if arguments.without_leaves:
            return bool(found["type"] == "head")
        series = found.get("series")
    if series is None:  # an unreadable record, or its rejected record
        return False
    return any(series == wanted or fnmatchcase(series, wanted) for wanted in arguments.series)
