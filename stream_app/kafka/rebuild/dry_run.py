"""A partition's restart, rehearsed: would it go on as before, now, or if the keys of old epochs were gone?

What a worker reads back at a start is read, and the input that waits is decided by the worker's own code; nothing is
written. Others may work meanwhile: what is committed, what binds and what waits is read in this order, so the picture
is one that a worker could have found at its start.

Crash schedules that need an old key, and what shows them here:

* Entries of an aborted batch bind (`stream_app.kafka.owner.tail`). Without its key such an event is rejected, the entry
  is not computed again, and the partition stops for good: `Tail` says so here before it does there.
* An event waits, whether its worker died or never began: it would be rejected as ``key-erased``.
* A step is rejected that way, and entries of later steps bind: their chain differs, which `Tail` says as well.
* A step of collected data is open: it would be passed over when it closes, and what it counts never be released.
  `Shortfall` decides the same with the whole key, and tells what is missing without.
* Rows are missing or behind, or input is lost: what waits cannot be told, and the restorer stops.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from stream_app.deciding import rows
from stream_app.deciding.collection import LostCountersError
from stream_app.deciding.context import Context
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import InputRecord
from stream_app.kafka.client import group
from stream_app.kafka.client.eventstopic import EventsTopic
from stream_app.kafka.client.log import LogReader
from stream_app.kafka.client.topicid import TopicFacts, describe
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.evidence.row import PartitionRow
from stream_app.kafka.evidence.stops import PartitionStoppedError
from stream_app.kafka.evidence.trouble import stopping
from stream_app.kafka.owner.parts import Shell
from stream_app.kafka.owner.restore import Restorer
from stream_app.kafka.rebuild.rowcopy import RowCopy
from stream_app.kafka.rebuild.shortfall import Run, Shortfall
from stream_app.monitoring.metrics import Metrics
from stream_app.privacy.policy import Policy
from stream_app.setup.settings import Settings


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What the restart of one partition came to."""

    partition: int
    row: PartitionRow | None = None
    """None: it could not be read back."""
    waiting: int = 0
    """Input records that are not decided."""
    binding: int = 0
    """Ledger entries that a worker must compute again."""
    otherwise: int = 0
    """Of the records that wait, those that only one of the keys rejects: as ``key-erased``, or in consequence."""
    lost: int = 0
    """Releases that would never come: of such records, and of collected steps, which are passed over."""
    stopped: PartitionStoppedError | None = None
    """Why it would not go on."""


async def rehearse(settings: Settings, whole: Context, later: Context) -> AsyncIterator[Rehearsed]:
    """Yield what the restart of each partition would come to under ``later``, whose keys may not be ``whole`` any more.

    Raises:
        LookupError: if a topic is missing.
    """
    names = TopicNames.of(settings.prefix, settings.application)
    facts = await describe(settings, names)
    missing = [name for name in names if name not in facts]
    if missing:
        raise LookupError(f"topics {', '.join(missing)} are missing: name their `prefix` and `application`")
    committed = await group.committed(settings, names.events)
    for partition in range(facts[names.events].partitions):
        rehearsal = _Rehearsal(settings, (whole, later), names, facts, partition)
        yield await rehearsal.run(committed.get(partition))


class _Rehearsal:
    """One partition's."""

    def __init__(
        self,
        settings: Settings,
        contexts: tuple[Context, Context],
        names: TopicNames,
        facts: Mapping[str, TopicFacts],
        partition: int,
    ) -> None:
        """Take what the worker would know, with the whole key and after the erasure."""
        self._settings, self._names, self._partition = settings, names, partition
        self._whole, self._later = contexts
        self._rows = RowCopy()
        self._defaults: dict[str, Policy] = {}
        topic = EventsTopic(settings, names.events, facts[names.events].id)
        shell = Shell(settings, self._later, None, topic, names, Metrics(), self._rows, None)
        self._restorer = Restorer(shell, facts, partition)

    async def run(self, committed: int | None) -> Rehearsed:
        """Read back and decide what waits; ``committed`` is the group's offset."""
        row: PartitionRow | None = None
        try:
            restored = await self._restorer.restore(committed, None)
            row, tail = restored.row, restored.tail
            binding = 0 if tail is None else len(tail)
            settle = None if tail is None else tail.settle
            whole = Run(self._whole, self._find, await self._restorer.recall(row, self._find))
            later = Run(self._later, self._find, await self._restorer.recall(row, self._find), settle)
        except PartitionStoppedError as stopped:
            return Rehearsed(self._partition, row, stopped=stopped)
        waiting, stopped_by, shortfall = 0, None, Shortfall(whole, later)
        try:
            async for records in self._waiting(row.next_offset):
                waiting += len(records)
                shortfall.decide(records)
                if tail is not None:
                    tail.overdue(records[-1].offset + 1)
        except (PartitionStoppedError, LookupError, LostCountersError) as error:
            stopped_by = stopping(self._partition, error)
        lost = shortfall.lost(self._rows.series() if row.recall_offset < row.next_offset else ())
        return Rehearsed(self._partition, row, waiting, binding, shortfall.otherwise, lost, stopped_by)

    async def _waiting(self, start: int) -> AsyncIterator[list[InputRecord]]:
        async with LogReader.opened(self._settings, "read_committed") as reader:
            async for found in reader.records(self._names.events, self._partition, start):
                yield [
                    InputRecord(
                        record.topic, record.partition, record.offset, record.timestamp, record.key, record.value
                    )
                    for record in found
                ]

    def _find(self, series: str) -> SeriesRow | None:
        return rows.load(lambda key: self._rows.read(self._partition, key), series, self._defaults)
