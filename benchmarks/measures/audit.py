"""The benchmark `audit`: entries per second of an audit, relative to parsing and hashing them.

It measures processor time rather than clock time, because an audit uses one core. The ledger is what the worker would
have written.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.result import Figure, Result, Show, Target
from benchmarks.rig.process import usage_of
from benchmarks.rig.workload import Sizes, events
from stream_app.audit.files import LineReader
from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decision import decide
from stream_app.deciding.outcome import ProcessedRecord
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import encoding, wire
from stream_app.formats.records import InputRecord
from stream_app.privacy.noise.key import SECRET_BYTES, KeyRing
from stream_app.setup.configuration import WrittenPolicy, policies_from

DEFAULT = Sizes(events=190_000, series=10_000)
NEEDS_BROKER = False
TARGETS = (Target("peak_memory", "at most", 1024.0),)
_SHOWN = 10_000
_MEBIBYTE = 1024 * 1024


def run(folder: Path, sizes: Sizes, show: Show) -> Result:
    """Write a ledger into `folder`; then alternately audit it in a separate process and only parse and hash it."""
    ledger = folder / "ledger.jsonl"
    entries = _write(ledger, sizes, show)
    audited: list[float] = []
    memory: list[float] = []
    bare: list[float] = []
    command = (sys.executable, "-m", "stream_app", "audit", "--ledger", str(ledger))
    for number in range(sizes.repeats):
        show("audit", number, sizes.repeats)
        took = usage_of(command)
        audited.append(entries / took.seconds)
        memory.append(took.peak_bytes / _MEBIBYTE)
        bare.append(entries / _parse_and_hash(ledger))
    figures = {
        "audit": Figure.of("entries/s", audited),
        "parse_and_hash": Figure.of("entries/s", bare),
        "audit_over_parse_and_hash": Figure.of("", (ours / theirs for ours, theirs in zip(audited, bare, strict=True))),
        "peak_memory": Figure.of("MiB", memory),
    }
    return Result("audit", sizes.document(), figures, TARGETS)


def _write(ledger: Path, sizes: Sizes, show: Show) -> int:
    """Process all events into a ledger; return its number of entries."""
    limits = Limits()
    policies = policies_from([WrittenPolicy("bench", sizes.policy())], limits)
    context = Context(KeyRing("0" * 16, 0, bytes(SECRET_BYTES)), policies, limits)
    rows: dict[str, SeriesRow] = {}
    collection = Collection(bytes(SECRET_BYTES))
    count = 0
    with ledger.open("wb") as file:
        for number, event in enumerate(events(sizes)):
            if number % _SHOWN == 0:
                show("ledger", number, sizes.events)
            outcome = decide(context, rows.get, collection, InputRecord("events", 0, number, 0, event.key, event.value))
            if not isinstance(outcome, ProcessedRecord):
                raise TypeError("an event of the benchmark was rejected")
            rows[outcome.row.series] = outcome.row
            count += len(outcome.entries)
            file.writelines(b"%b\n" % entry.value for entry in outcome.entries)
    return count


def _parse_and_hash(ledger: Path) -> float:
    """Return the processor seconds for parsing and hashing each line, which every audit in Python has to do."""
    began = time.process_time()
    with ledger.open("rb") as file:
        lines = LineReader(file, ledger.stat().st_size, _each)
        while not lines.ended:
            lines.turn()
    return time.process_time() - began


def _each(lines: Sequence[bytes]) -> None:
    for data in lines:
        wire.load(data)
        encoding.digest(data)
