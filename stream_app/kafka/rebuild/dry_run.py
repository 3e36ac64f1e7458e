"""A dry run of a partition's start, which shows whether it would continue as before, with or without the old keys.

The run reads back what a worker reads at startup, and processes the waiting input with the worker's own code; it writes
nothing. Workers may keep running in the meantime. The run reads committed, then binding, then waiting records, so a
worker could have found the same result when it started.

Some sequences of events around a crash need an old key. The dry run shows them as follows:

* Entries of an aborted batch bind (`stream_app.kafka.owner.tail`). Without the key of an event in it, the event is
  rejected, its entry is not computed again, and the partition stops for good: `Tail` reports this here first.
* An event is waiting, whether its worker died or never started: it would be rejected as ``key-erased``.
* A step is rejected in this way, and entries of later steps bind: their chain differs, which `Tail` also reports.
* A step is open: it would be skipped when it closes, and its counts or readings would never be released. `Shortfall`
  processes the same input with the whole key, and finds what is missing without it.
* Rows are missing or out of date, or input is lost: the waiting input is unknown, and the restorer stops.

Two runs over the same records, with the whole key and with the keys that remain, show what would be lost without the
old keys. A gain cannot hide a loss: releases are compared step by step, and records one by one. If no record is
processed differently and no release is missing, both runs gave the same result: the first difference would be a record
that only one run rejects, or an open step that only one run skips.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from stream_app.deciding import rows
from stream_app.deciding.collection import Collection, LostCountersError
from stream_app.deciding.context import Context
from stream_app.deciding.decider import Decider, Headers, Outlets, Settle, input_of
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

Step = tuple[bytes | None, int]  # a release's series in UTF-8, and the start of its step in milliseconds


class Run:
    """A run of the worker's code under one context; it keeps the rejects and releases of the last batch."""

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
        """The series whose rows have changed."""
        return self._decider.changed

    def decide(self, records: Sequence[InputRecord]) -> None:
        """Process ``records`` in order; raises any error that stops a partition."""
        self.releases, self.rejects = set(), set()
        left = iter(records)
        while not self._decider.decide(left):
            pass  # nothing is sent: batches need no end

    def to_come(self, series: Iterable[str]) -> Iterator[Step]:
        """Yield the open steps of these series, except those that will be skipped."""
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
        self.rejects.add(input_of(headers))


class Shortfall:
    """The differences between two runs over the same records: one with the whole key, one with the remaining keys."""

    def __init__(self, whole: Run, later: Run) -> None:
        self.otherwise = 0  # records that only one of the runs rejects
        self._whole, self._later = whole, later
        self._missing: set[Step] = set()
        self._gained: set[Step] = set()

    def decide(self, records: Sequence[InputRecord]) -> None:
        """Process ``records`` in both runs; raises any error that stops a partition."""
        self._whole.decide(records)
        self._later.decide(records)
        self.otherwise += len(self._whole.rejects ^ self._later.rejects)
        self._missing |= self._whole.releases - self._later.releases
        self._gained |= self._later.releases - self._whole.releases

    def lost(self, stored: Iterable[str]) -> int:
        """Return the number of steps that are released or open with the whole key, but never released without it.

        ``stored`` names the series whose rows may have had open steps before the first record.
        """
        series = {*stored, *self._whole.changed, *self._later.changed}
        # A release that comes later, or from another record, is not lost.
        return len(self._missing.union(self._whole.to_come(series)) - self._gained.union(self._later.to_come(series)))


def _drop(key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:
    """Discard a record."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """The result of a dry run of one partition's restart."""

    partition: int
    row: PartitionRow | None = None  # None if it could not be read back
    waiting: int = 0  # input records not yet processed
    binding: int = 0  # ledger entries that a worker must compute again
    otherwise: int = 0
    """Waiting records that are rejected under one key but not the other, as ``key-erased`` or as a consequence."""
    lost: int = 0  # releases lost because of such records or of collected steps skipped
    stopped: PartitionStoppedError | None = None  # why it would not continue


async def dry_runs(
    settings: Settings, whole: Context, later: Context, *, accept_new_key: bool = False
) -> AsyncIterator[DryRun]:
    """Yield the result of restarting each partition under ``later``, which may lack keys of ``whole``.

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
    """Restore a partition and process the waiting input; ``committed`` is the group's offset."""
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
