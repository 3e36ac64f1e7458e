"""``watermark SERIES...``: end steps that collect data or take several readings, once or periodically.

The time is given by the user or comes from this command's clock; a worker's clock never ends a step. Each record has a
fresh seed, which is kept only in the record.
"""

import argparse
import asyncio
import threading
import time
from collections.abc import Iterator

from stream_app.cli import UsageError
from stream_app.cli.shared.answers import add_wait, sent_and_answered
from stream_app.cli.shared.arguments import add_config, milliseconds_of
from stream_app.cli.shared.configured import reaching, settings_of
from stream_app.deciding.members import member_of
from stream_app.formats import records, wire
from stream_app.kafka.client.sending import Event, send_events
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.setup.keyfile import fresh_secret

_UNANSWERED = (
    "a worker rejects such a record for a series whose steps take neither contributions nor several readings; --wait "
    "SECONDS shows this"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument("series", nargs="+", help="series whose policies collect, or whose steps take several readings")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--at", metavar="TIME", help="time of the watermark: ms, or ISO 8601 with offset (default: now)")
    kind.add_argument("--every", type=float, metavar="SECONDS", help="repeat at this interval until interrupted")
    kind.add_argument(
        "--intrusion", action="store_true", help=("announce an intrusion instead: someone saw the worker's memory")
    )
    lag_help = "how late contributions and readings may arrive (default: 0)"
    parser.add_argument("--lag", type=float, default=0.0, metavar="SECONDS", help=lag_help)
    add_wait(parser)
    add_config(parser)
    parser.add_argument("--json", action="store_true", help="print the count of each round as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Send one record per series, once or at each interval; return 0 once every record is acknowledged."""
    if arguments.every is not None and not 0 < arguments.every <= threading.TIMEOUT_MAX:
        raise UsageError(
            f"--every {arguments.every}: use a number of seconds above 0, up to {threading.TIMEOUT_MAX:.0f}"
        )
    if not 0 <= arguments.lag <= LAST_TIMESTAMP_MS / 1000:
        raise UsageError(f"--lag {arguments.lag}: use 0 to {LAST_TIMESTAMP_MS // 1000} seconds")
    if arguments.wait is not None and (arguments.every is not None or arguments.intrusion):
        raise UsageError("--wait: for a single watermark per series; omit --every or --intrusion")
    settings = settings_of(arguments)
    for timestamp_ms in _times(arguments):
        found = [
            Event(member_of(series, settings.member_separator).encode(), record(series, timestamp_ms, arguments))
            for series in arguments.series
        ]
        if arguments.wait is not None:
            waiting = [event.value for event in found]
            return sent_and_answered(settings, waiting, "release", arguments.wait, as_json=arguments.json)
        with reaching(settings):
            sent = asyncio.run(send_events(settings, found))
        document = {"sent": sent} if arguments.intrusion else {"sent": sent, "timestamp": timestamp_ms}
        said = f"{sent} sent" if arguments.every is not None or arguments.intrusion else f"{sent} sent; {_UNANSWERED}"
        print(wire.dump(document).decode() if arguments.json else said, flush=True)
    return 0


def record(series: str, timestamp_ms: int, arguments: argparse.Namespace) -> bytes:
    """Return the record for one series, with its own seed; raise `UsageError` if no worker would accept the record."""
    seed = fresh_secret().hex()
    if arguments.intrusion:
        value = wire.dump({"type": "intrusion", "series": series, "seed": seed})
    else:
        value = wire.dump({"type": "watermark", "series": series, "timestamp": timestamp_ms, "seed": seed})
    if isinstance(wire.decode(value), records.MalformedRecord):
        limits = f"use a series of 1 to {wire.LARGEST_SERIES_BYTES} bytes and a time of 0 to {LAST_TIMESTAMP_MS}"
        raise UsageError(f"series {series!r} at {timestamp_ms}: {limits}")
    return value


def _times(arguments: argparse.Namespace) -> Iterator[int]:
    """Yield the time of each round in milliseconds; rounds after a slow one do not catch up."""
    lag_ms = int(arguments.lag * 1000)
    if arguments.at is not None:
        given = milliseconds_of(arguments.at)
        if given is None:
            raise UsageError(f"--at {arguments.at}: use ms since 1970, or ISO 8601 with offset")
        yield given - lag_ms
        return
    due = time.monotonic()
    while True:
        yield int(time.time() * 1000) - lag_ms
        if arguments.every is None:
            return
        due = max(due + arguments.every, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
