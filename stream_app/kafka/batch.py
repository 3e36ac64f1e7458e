"""One batch: input records decided in order, their outputs ready to be sent."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from stream_app import rows
from stream_app.context import Context
from stream_app.decision import InputRecord, Rejected, decide
from stream_app.kafka.producer import Headers, Pages
from stream_app.kafka.tail import INPUT_HEADER, Tail
from stream_app.rows import SeriesRow

Lookup = Callable[[str], SeriesRow | None]

_SLICE = 128
"""Records decided before others may run, about a millisecond: the last batch's commit goes on meanwhile."""


class Outputs(NamedTuple):
    """The pages of one transaction, a topic each."""

    ledger: Pages
    releases: Pages
    rejects: Pages
    changelog: Pages


@dataclass(slots=True)
class Batch:
    """What one transaction holds, and what is counted of it."""

    start: int
    end: int
    outputs: Outputs
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


class Decider:
    """Decides one batch, record by record; rows of the batch are seen by the records after them."""

    def __init__(self, batch: Batch, context: Context, find: Lookup, tail: Tail | None) -> None:
        """Take ``find`` for the row of a series before the batch, and the ledger entries that bind."""
        self._batch, self._context, self._find, self._tail = batch, context, find, tail
        self._view: dict[str, SeriesRow | None] = {}
        self._before: dict[str, SeriesRow | None] = {}

    async def decide(self, records: Sequence[InputRecord]) -> None:
        """Decide ``records`` in order.

        Raises:
            PartitionStoppedError: if a binding entry is recomputed differently.
        """
        batch, context, lookup, view = self._batch, self._context, self._lookup, self._view
        ledger, release, reject = (pages.append for pages in batch.outputs[:3])
        decisions, changed, tail = batch.decisions, batch.changed, self._tail
        for start in range(0, len(records), _SLICE):
            for record in records[start : start + _SLICE]:
                offset = record.offset
                outcome = decide(context, lookup, record)
                headers: Headers = [(INPUT_HEADER, b"%d" % offset)]
                if isinstance(outcome, Rejected):
                    key, value, timestamp_ms = outcome.message
                    reject(key, value, timestamp_ms, headers)
                    batch.rejected[outcome.reason] += 1
                    continue
                row, entries, released, decision, spent = outcome
                view[row.series] = changed[row.series] = row
                if tail is not None:
                    tail.settle(entries)
                for entry in entries:
                    ledger(entry.key, entry.value, entry.timestamp_ms, headers)
                if released is not None:
                    release(released.key, released.value, released.timestamp_ms, headers)
                decisions[decision or "control", row.policy.scheme.name] += 1
                batch.spent_nano += spent
            await asyncio.sleep(0)
        if tail is not None:
            tail.overdue(batch.end)
            batch.bound = len(tail) > 0
        for series, row in changed.items():
            batch.stored += rows.dump(row, self._before[series])

    def _lookup(self, series: str) -> SeriesRow | None:
        if series in self._view:
            return self._view[series]
        row = self._view[series] = self._before[series] = self._find(series)
        return row
