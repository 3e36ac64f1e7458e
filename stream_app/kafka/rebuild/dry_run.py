"""A dry run of a partition's start: would it go on as before, now, or if the keys of old epochs were gone?

What a worker reads back at a start is read, and the input that waits is decided by the worker's own code; nothing is
written. Others may work meanwhile: what is committed, what binds and what waits is read in this order, so the picture
is one that a worker could have found at its start.

Crash schedules that need an old key, and what shows them here:

* Entries of an aborted batch bind (`stream_app.kafka.owner.tail`). Without its key such an event is rejected, the entry
  is not computed again, and the partition stops for good: `Tail` says so here before it does there.
* An event waits, whether its worker died or never began: it would be rejected as ``key-erased``.
* A step is rejected that way, and entries of later steps bind: their chain differs, which `Tail` says as well.
* A step is open: it would be passed over when it closes, and what it counts or read never be released.
  `Shortfall` decides the same with the whole key, and tells what is missing without.
* Rows are missing or behind, or input is lost: what waits cannot be told, and the restorer stops.

What would be lost without these keys shows in two runs over the same records, with the whole key and with what is left
of it. No loss hides behind a gain: releases are compared step by step, and records one by one. Where no record is
decided otherwise and no release is missing, both runs came to the same: the first difference is either a record that
only one of them rejects, or an open step that only one passes over.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from stream_app.deciding import rows
from stream_app.deciding.collection import Collection, LostCountersError
from stream_app.deciding.context import Context
from stream_app.deciding.decider import Decider, Headers, Outlets, Settle
from stream_app.deciding.members import FindMember, load_member, no_member
from stream_app.deciding.rows import Lookup, SeriesRow
from stream_app.deciding.units.sealed import PREFIX
from stream_app.formats.records import InputRecord
from stream_app.kafka.brokers import TopicFacts
from stream_app.kafka.client.brokers import KafkaBrokers
from stream_app.kafka.client.cluster import group_offsets
from stream_app.kafka.client.eventstopic import EventsTopic
from stream_app.kafka.client.topicid import describe
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.evidence.row import PartitionRow
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.recall import input_record, recall
from stream_app.kafka.owner.restore import Restorer
from stream_app.kafka.parts import ReadBack, Site
from stream_app.kafka.stops import PartitionStoppedError, stopping
from stream_app.privacy.policy import Policy
from stream_app.setup.settings import Settings

Step = tuple[bytes | None, int]  # series in UTF-8, and where the step begins, in milliseconds: what a release is of


class Run:
    """Records decided under one context; which are rejected and which steps are released is kept, for a batch each."""

    def __init__(
        self,
        context: Context,
        find: Lookup,
        collection: Collection,
        settle: Settle | None = None,
        find_member: FindMember = no_member,
    ) -> None:
        self.releases: set[Step] = set()
        self.rejects: set[int] = set()
        self._keys, self._find = context.keys, find
        outlets = Outlets(_drop, self._release, self._reject, settle)
        self._decider = Decider(context, find, outlets, collection, find_member)

    @property
    def changed(self) -> Iterable[str]:
        """The series whose rows are not those of before."""
        return self._decider.changed

    def decide(self, records: Sequence[InputRecord]) -> None:
        """Decide ``records`` in order; raises what stops a partition."""
        self.releases, self.rejects = set(), set()
        left = iter(records)
        while not self._decider.decide(left):
            pass  # nothing is sent: batches need no end

    def to_come(self, series: Iterable[str]) -> Iterator[Step]:
        """Yield the open steps of these series, but not those that will be passed over."""
        keys = self._keys
        for name in series:
            row = self._decider.changed.get(name) or self._find(name)
            if row is None:
                continue
            begun = () if row.open_steps is None else row.open_steps.begun
            units = () if row.open_units is None else row.open_units.steps
            begun += tuple(step.index for step in units if step.key == keys.fingerprint)
            for index in begun:
                start_ms = row.policy.start_of(index)
                if keys.secret_of(keys.epoch_of(start_ms)) is not None:
                    yield row.key, start_ms

    def _release(self, key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:  # noqa: ARG002
        self.releases.add((key, timestamp_ms))

    def _reject(self, key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:  # noqa: ARG002
        ((_, offset),) = headers
        self.rejects.add(int(offset))


class Shortfall:
    """Two runs over the same records, with the whole key and with what is left of it, and how they differ."""

    def __init__(self, whole: Run, later: Run) -> None:
        self.otherwise = 0  # records that only one of the runs rejects
        self._whole, self._later = whole, later
        self._missing: set[Step] = set()
        self._gained: set[Step] = set()

    def decide(self, records: Sequence[InputRecord]) -> None:
        """Decide ``records`` in both; raises what stops a partition."""
        self._whole.decide(records)
        self._later.decide(records)
        self.otherwise += len(self._whole.rejects ^ self._later.rejects)
        self._missing |= self._whole.releases - self._later.releases
        self._gained |= self._later.releases - self._whole.releases

    def lost(self, stored: Iterable[str]) -> int:
        """Return how many steps are released, or open, with the whole key and will never be released without.

        ``stored`` names the series whose rows may have had open steps before the first record.
        """
        series = {*stored, *self._whole.changed, *self._later.changed}
        # By another record than with the whole key, or later, is not lost.
        return len(self._missing.union(self._whole.to_come(series)) - self._gained.union(self._later.to_come(series)))


def _drop(key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:
    """Put out nothing."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """What the restart of one partition came to."""

    partition: int
    row: PartitionRow | None = None  # none: it could not be read back
    waiting: int = 0  # input records that are not decided
    binding: int = 0  # ledger entries that a worker must compute again
    otherwise: int = 0
    """Of the records that wait, those that only one of the keys rejects: as ``key-erased``, or in consequence."""
    lost: int = 0  # releases that would never come: of such records, and of collected steps, which are passed over
    stopped: PartitionStoppedError | None = None  # why it would not go on


async def dry_runs(
    settings: Settings, whole: Context, later: Context, *, accept_new_key: bool = False
) -> AsyncIterator[DryRun]:
    """Yield what the restart of each partition would come to under ``later``, whose keys may not be ``whole`` any more.

    Raises `LookupError` if a topic is missing.
    """
    names = TopicNames.of(settings.prefix, settings.application)
    facts = await describe(settings, names)
    missing = [name for name in names if name not in facts]
    if missing:
        raise LookupError(f"topics {', '.join(missing)} are missing: specify their `prefix` and `application`")
    committed = await group_offsets(settings, names.events)
    brokers = KafkaBrokers(settings, names, EventsTopic(settings, names.events, facts[names.events].id))
    site = Site(settings=settings, context=later, names=names, brokers=brokers, accept_new_key=accept_new_key)
    for partition in range(facts[names.events].partitions):
        yield await _dry_run(site, whole, facts, partition, committed.get(partition))


async def _dry_run(
    site: Site, whole: Context, facts: Mapping[str, TopicFacts], partition: int, committed: int | None
) -> DryRun:
    """Read a partition back and decide what waits; ``committed`` is the group's offset."""
    table, defaults = MemoryRows(), dict[str, Policy]()
    read = partial(table.read, partition)
    row: PartitionRow | None = None

    def find(series: str) -> SeriesRow | None:
        return rows.load(read, series, defaults)

    async def run(context: Context, row: PartitionRow, settle: Settle | None) -> Run:
        collection = await recall(replace(site, context=context), partition, row, find, read)
        return Run(context, find, collection, settle, partial(load_member, read))

    try:
        restored = await Restorer(site, table, facts, partition, ReadBack()).restore(committed, None)
        row, tail = restored.row, restored.tail
        binding = len(tail)
        shortfall = Shortfall(await run(whole, row, None), await run(site.context, row, tail.settle))
    except PartitionStoppedError as stopped:
        return DryRun(partition, row, stopped=stopped)
    waiting, stopped_by = 0, None
    try:
        async with site.brokers.reader("read_committed") as reader:
            async for records in reader.records(site.names.events, partition, row.next_offset):
                waiting += len(records)
                shortfall.decide([input_record(record) for record in records])
                tail.overdue(records[-1].offset + 1)
    except (PartitionStoppedError, LookupError, LostCountersError) as error:
        stopped_by = stopping(partition, error)
    opened = row.recall_offset < row.next_offset or any(table.scan(partition, PREFIX))
    lost = shortfall.lost(table.series(partition) if opened else ())
    return DryRun(partition, row, waiting, binding, shortfall.otherwise, lost, stopped_by)
