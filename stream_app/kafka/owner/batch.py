"""One batch: input records processed in order, with outputs ready to be sent."""

import asyncio
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from stream_app.deciding.collection import Collection
from stream_app.deciding.columns.batch import BatchDecider
from stream_app.deciding.columns.states import States
from stream_app.deciding.context import Context
from stream_app.deciding.decider import Headers, Outlets
from stream_app.deciding.members import Claims, Member
from stream_app.deciding.outcome import Renewal
from stream_app.deciding.rows import SeriesRow
from stream_app.kafka.brokers import Pages
from stream_app.kafka.owner.budgets import BudgetGroup, budget_groups
from stream_app.kafka.owner.cache import RowReader
from stream_app.kafka.owner.inbox import BatchInput
from stream_app.kafka.owner.tail import Tail
from stream_app.privacy.reason import Reason

MOST_SECONDS = 0.05
"""The processing time after which a batch accepts no more single records, because later input has to wait."""
SAMPLED = 50
"""The number of series per batch whose budgets are observed, and whose losses are: observing all costs too much."""


class Sample(NamedTuple):
    """What the metrics observe of a batch: budgets of the first open series, and losses of the first that have one."""

    budgets: list[BudgetGroup]
    losses: list[float]

    @classmethod
    def of(cls, decider: BatchDecider, states: States) -> "Sample":
        """Return the sample of the series that a batch has just changed."""
        places, rows = decider.places[:SAMPLED], decider.alone.changed.values()
        opened = (row for row in rows if not row.state.closed)
        losses = (row.backward_loss for row in rows if row.backward_loss is not None)
        budgets = budget_groups(islice(opened, SAMPLED - len(places)), states, places)
        return cls(list(budgets), list(islice(losses, SAMPLED)))


@dataclass(slots=True)
class Batch:
    """The content of one transaction, and counts of its outcomes."""

    start: int
    end: int
    ledger: Pages
    releases: Pages
    rejects: Pages
    changelog: Pages
    messages: list[Any]
    records: int
    recall_offset: int
    """The first offset needed to count the open steps again; the batch's end if no step is open."""
    first_append_ms: int
    last_append_ms: int
    last_offset: int
    """Offset of the last record; -1 if there are no records."""
    open_steps: int = 0
    """Steps that accept contributions after the batch."""
    rest: BatchInput | None = None
    """Input left for the next batch because this batch has many outputs; None if nothing is left."""
    bound: bool = False
    """Whether binding ledger entries of later input have yet to be recomputed."""
    last_reject: int = -1
    """The input offset of the batch's last reject; -1 if the batch has no reject."""
    changed: dict[str, SeriesRow] = field(default_factory=dict)
    """Rows of the changed series that were processed individually."""
    links: list[tuple[str, int, str]] = field(default_factory=list)
    """Series, sequence and hash of the last entry of each changed series; empty without signed checkpoints."""
    sample: Sample = field(default_factory=lambda: Sample([], []))
    members: dict[str, Member] = field(default_factory=dict)
    """Rows of the persons that changed, by chain name."""
    claims: list[Claims] = field(default_factory=list)
    """The rows of the changed persons, before and after the batch."""
    stored: list[tuple[bytes, bytes]] = field(default_factory=list)
    """Table rows to write, except sealed ones."""
    sealed: dict[bytes, bytes | None] = field(default_factory=dict)
    """Rows of open steps, by key; None deletes a row."""
    decisions: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """Counts by decision, scheme and digest of the default policy (empty for a series' own policy)."""
    together: int = 0
    """Number of records that were processed together, as columns."""
    passed: int = 0
    """Records missed by views that, as an earlier reject shows, cannot start; counted per view."""
    rejected: dict[Reason, int] = field(default_factory=dict)
    spent: dict[tuple[str, str], int] = field(default_factory=dict)
    """Nano-epsilon spent on all measurements, by scheme and digest."""
    used: dict[tuple[str, str], int] = field(default_factory=dict)
    """The increase in used budget, in nano-epsilon, by scheme and digest."""
    renewals: dict[Renewal, int] = field(default_factory=dict)
    """Number of renewal bounds that were due, by outcome."""
    losses: list[tuple[float | None, float | None]] = field(default_factory=list)
    """The backward loss before and after the batch, for each series whose policy names a correlation."""

    @classmethod
    def of(cls, given: BatchInput, ledger: Pages, releases: Pages, rejects: Pages, changelog: Pages) -> "Batch":
        """Return the batch for some unprocessed input, with the pages of its transaction."""
        records, end = given.records, given.end
        times = records.timestamps_ms
        first_ms, last_ms = (times[0], times[-1]) if times else (0, 0)
        last = records.offsets[-1] if times else -1
        pages = (ledger, releases, rejects, changelog)
        return cls(given.start, end, *pages, given.messages, len(records), end, first_ms, last_ms, last)


async def decide(
    given: BatchInput,
    new: Callable[[], Pages],
    context: Context,
    rows: RowReader,
    tail: Tail,
    collection: Collection,
    *,
    linked: bool = False,
) -> Batch:
    """Process records in order; ``rows`` contains the rows after the previous batch, and is updated.

    ``new`` creates pages. ``collection`` contains what open steps count or read, and is updated as well. If ``linked``,
    signed checkpoints are written, which need the last entries of changed series. Raises `LostCountersError` if the
    counters of an open step are not in ``collection``, and `PartitionStoppedError` if a binding ledger entry is
    recomputed differently.
    """
    answered = tail.answered
    offsets = given.records.offsets
    cut = bisect_left(offsets, answered) or len(offsets)
    silent = cut > 0 and offsets[0] < answered
    records = given.records if cut == len(offsets) else given.records[:cut]
    pages = (new(), new(), new(), new())
    ledger, releases, rejects, _ = pages
    rejected = -1

    def reject(key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:
        """Append a reject, and remember its input offset."""
        nonlocal rejected
        ((_, offset),) = headers
        rejected = int(offset)
        rejects.append(key, value, timestamp_ms, headers)

    if silent:
        outlets = tail.outlets(ledger.append, releases.append, reject)
    else:
        settle = tail.settle if tail.binds(given.start) else None
        many = ledger.extend, releases.extend
        outlets = Outlets(ledger.append, releases.append, reject, settle, many)
    decider = BatchDecider(context, rows, outlets, collection, rows.find_member, rows.fewest)
    clock, spent = asyncio.get_running_loop().time, 0.0
    resumed = clock()
    for _ in decider.decide(records):
        spent += clock() - resumed
        decider.enough = spent >= MOST_SECONDS
        await asyncio.sleep(0)
        resumed = clock()
    done, rest = given.parted(decider.end)
    batch = Batch.of(done, *pages)
    batch.rest, batch.last_reject = rest, rejected
    floor = collection.floor()
    batch.recall_offset = batch.end if floor is None else floor
    batch.open_steps = len(collection)
    tail.overdue(batch.end)
    batch.bound = tail.binds(batch.end)
    alone = decider.alone
    batch.changed, batch.stored, batch.sealed = alone.changed, decider.stored(), collection.units.written()
    batch.links = list(decider.links()) if linked else []
    batch.sample = Sample.of(decider, rows.states)
    batch.members, batch.claims = alone.members, alone.claims()
    if not silent:  # otherwise they were counted when written
        batch.decisions, batch.rejected, batch.together = decider.decisions, alone.rejected, decider.together
        batch.spent, batch.used, batch.renewals = decider.spent, decider.used, alone.renewals
        batch.passed = alone.passed
    if context.correlations:  # otherwise unused, and a batch has thousands of series
        batch.losses = alone.losses()
    rows.take(alone.changed)
    return batch
