"""One batch: input records decided in order, their outputs ready to be sent."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from stream_app import rows
from stream_app.context import Context
from stream_app.decision import Decided, InputRecord, decide
from stream_app.kafka.producer import Headers, Pages
from stream_app.kafka.tail import INPUT_HEADER, Tail
from stream_app.rows import SeriesRow

Lookup = Callable[[str], SeriesRow | None]

_SLICE = 128
"""Records decided before others may run, about a millisecond: the last batch's commit goes on meanwhile."""


@dataclass(slots=True)
class Batch:
    """What one transaction holds, and what is counted of it."""

    start: int
    end: int
    ledger: Pages
    releases: Pages
    rejects: Pages
    changelog: Pages
    messages: list[Any]
    records: int
    last_append_ms: int
    bound: bool = False
    """Whether binding ledger entries of later input are still to be recomputed."""
    changed: dict[str, SeriesRow] = field(default_factory=dict)
    stored: list[tuple[bytes, bytes]] = field(default_factory=list)
    decisions: Counter[tuple[str, str]] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    spent_nano: int = 0


async def decide_batch(  # noqa: PLR0913 (each of another owner)
    batch: Batch, context: Context, topic: str, partition: int, records: Sequence[Any], find: Lookup, tail: Tail | None
) -> None:
    """Decide ``records`` in order into ``batch``; ``find`` gives the row of a series before the batch.

    Raises:
        PartitionStoppedError: if a binding entry is recomputed differently.
    """
    view: dict[str, SeriesRow | None] = {}
    before: dict[str, SeriesRow | None] = {}

    def lookup(series: str) -> SeriesRow | None:
        if series in view:
            return view[series]
        row = view[series] = before[series] = find(series)
        return row

    ledger, release, reject = batch.ledger.append, batch.releases.append, batch.rejects.append
    decisions, changed = batch.decisions, batch.changed
    for start in range(0, len(records), _SLICE):
        for record in records[start : start + _SLICE]:
            offset = record.offset
            outcome = decide(
                context, lookup, InputRecord(topic, partition, offset, record.timestamp, record.key, record.value)
            )
            headers: Headers = [(INPUT_HEADER, b"%d" % offset)]
            if type(outcome) is Decided:
                row, entries, released, decision, spent = outcome
                view[row.series] = changed[row.series] = row
                if tail:
                    tail.settle(entries)
                for entry in entries:
                    ledger(entry.key, entry.value, entry.timestamp_ms, headers)
                if released is not None:
                    release(released.key, released.value, released.timestamp_ms, headers)
                decisions[decision or "control", row.policy.scheme.name] += 1
                batch.spent_nano += spent
            else:
                reason, (key, value, timestamp_ms) = outcome.reason, outcome.message
                reject(key, value, timestamp_ms, headers)
                batch.rejected[reason] += 1
        await asyncio.sleep(0)
    if tail:
        tail.overdue(batch.end)
        batch.bound = len(tail) > 0
    for series, row in changed.items():
        batch.stored += rows.dump(row, before[series])


def write_rows(batch: Batch, written: set[bytes]) -> None:
    """Put the changed rows into the changelog pages; ``written`` holds the shared rows that were put there before."""
    fresh = {key: value for key, value in batch.stored if key[:1] != b"d" or key not in written}
    written.update(key for key in fresh if key[:1] == b"d")
    batch.stored = list(fresh.items())
    append = batch.changelog.append
    for key, value in batch.stored:
        append(key, value, None, [])
