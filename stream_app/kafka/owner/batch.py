"""One batch: input records decided in order, their outputs ready to be sent."""

import asyncio
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from stream_app.deciding.collection import Collection
from stream_app.deciding.columns.batch import BatchDecider
from stream_app.deciding.context import Context
from stream_app.deciding.decider import Headers, Outlets
from stream_app.deciding.members import Claims, Member
from stream_app.deciding.outcome import Renewal
from stream_app.deciding.rows import SeriesRow
from stream_app.kafka.brokers import Pages
from stream_app.kafka.owner.cache import RowReader
from stream_app.kafka.owner.inbox import BatchInput
from stream_app.kafka.owner.tail import Tail
from stream_app.privacy.reason import Reason

MOST_SECONDS = 0.05
"""Time of its own after which a batch takes no record more that is decided alone: what waits behind it waits for it."""
SAMPLED = 50
"""Series of a batch whose budget, rate and loss are observed: all of them would cost as much as deciding."""


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
    recall_offset: int
    """The first offset needed to count the steps open after it again; its end if none is open."""
    first_append_ms: int
    last_append_ms: int
    last_offset: int
    """Of the last record; -1 without records."""
    open_steps: int = 0
    """Steps that take contributions behind it."""
    rest: BatchInput | None = None
    """What of the input was left for the next batch, since this one's outputs are many."""
    bound: bool = False
    """Whether binding ledger entries of later input are still to be recomputed."""
    silent: bool = False
    """Whether outputs of its input were committed before: nothing but rows and what lacks of them is written."""
    last_reject: int = -1
    """The input offset of its last reject; -1: it has none."""
    changed: dict[str, SeriesRow] = field(default_factory=dict)
    """Rows of the series that changed one by one."""
    links: list[tuple[str, int, str]] = field(default_factory=list)
    """Series, sequence and hash of the last entry of every series that changed; nothing where no heads are written."""
    sample: list[SeriesRow] = field(default_factory=list)
    """Rows of some of them."""
    members: dict[str, Member] = field(default_factory=dict)
    """Those that changed, by the names of their chains."""
    claims: list[Claims] = field(default_factory=list)
    """The same, before and after."""
    stored: list[tuple[bytes, bytes]] = field(default_factory=list)
    """Table rows to write, but for sealed ones."""
    sealed: dict[bytes, bytes | None] = field(default_factory=dict)
    """Rows of open steps, by their keys; None deletes one."""
    decisions: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """By decision, scheme and digest of the default policy that ruled, empty for a policy of the series' own."""
    together: int = 0
    """Records that were decided together, as columns."""
    passed: int = 0
    """Records times views that cannot begin, behind the reject that says so."""
    rejected: dict[Reason, int] = field(default_factory=dict)
    spent: dict[tuple[str, str], int] = field(default_factory=dict)
    """Nano-epsilon of all releases, by scheme and digest."""
    used: dict[tuple[str, str], int] = field(default_factory=dict)
    """By how much the budget in use grew, in nano-epsilon, by scheme and digest."""
    renewals: dict[Renewal, int] = field(default_factory=dict)
    """Of bounds at which an event came, by what came of them."""
    losses: list[tuple[float | None, float | None]] = field(default_factory=list)
    """Backward loss before and after, of series whose policy names a correlation."""

    @classmethod
    def of(cls, given: BatchInput, ledger: Pages, releases: Pages, rejects: Pages, changelog: Pages) -> "Batch":
        """Return the batch of some input before anything of it is decided; the pages are those of its transaction."""
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
    """Decide records in order; ``new`` makes pages, ``rows`` stand as the batch before left them, and go on with it.

    ``collection`` holds what open steps count or read, and goes on with them as well. ``linked``: heads are written,
    and need the last entries of what changed. Raises `LostCountersError` if the counters of an open step are not in
    ``collection``, and `PartitionStoppedError` if a ledger entry that binds is recomputed differently.
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
        """Put a reject out, and remember which input it came of."""
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
    batch.rest, batch.silent, batch.last_reject = rest, silent, rejected
    floor = collection.floor()
    batch.recall_offset = batch.end if floor is None else floor
    batch.open_steps = len(collection)
    tail.overdue(batch.end)
    batch.bound = tail.binds(batch.end)
    alone = decider.alone
    batch.changed, batch.stored, batch.sealed = alone.changed, decider.stored(), collection.units.written()
    batch.links, batch.sample = list(decider.links()) if linked else [], decider.rows(SAMPLED)
    batch.members, batch.claims = alone.members, alone.claims()
    if not silent:  # else they were counted when they were written
        batch.decisions, batch.rejected, batch.together = decider.decisions, alone.rejected, decider.together
        batch.spent, batch.used, batch.renewals = decider.spent, decider.used, alone.renewals
        batch.passed = alone.passed
    if context.correlations:  # nobody counts them otherwise, and the series of a batch are thousands
        batch.losses = alone.losses()
    rows.take(alone.changed)
    return batch
