"""A partition's restart, rehearsed: would it go on as before if the keys of old epochs were gone?

What a worker reads back at a start is read, and the input that waits is decided by the worker's own code; nothing is
written. Others may work meanwhile: what is committed, what binds and what waits is read in this order, so the picture
is one that a worker could have found at its start.

Crash schedules that need an old key, and what shows them here:

* Entries of an aborted batch bind (`stream_app.kafka.tail`). Without its key such an event is rejected, the entry is
  not computed again, and the partition stops for good: `Tail` says so here before it does there.
* An event waits, whether its worker died or never began: it would be rejected as ``key-erased``.
* A step is rejected that way, and entries of later steps bind: their chain differs, which `Tail` says as well.
* Rows are missing or behind, or input is lost: what waits cannot be told, and the restorer stops.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass

from stream_app import rows
from stream_app.context import Context
from stream_app.decider import Decider, Headers, Outlets
from stream_app.kafka import group
from stream_app.kafka.log import LogReader
from stream_app.kafka.metrics import Metrics
from stream_app.kafka.restore import Restorer
from stream_app.kafka.row import PartitionRow
from stream_app.kafka.shell import Shell
from stream_app.kafka.stopped import PartitionStoppedError
from stream_app.kafka.topicid import TopicFacts, describe
from stream_app.kafka.topics import TopicNames
from stream_app.outcome import InputRecord
from stream_app.privacy.policy import Policy
from stream_app.rows import SeriesRow
from stream_app.settings import Settings


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
    erased: int = 0
    """Of the records that wait, those whose key would be gone."""
    stopped: PartitionStoppedError | None = None
    """Why it would not go on."""


async def rehearse(settings: Settings, context: Context) -> AsyncIterator[Rehearsed]:
    """Yield what the restart of each partition would come to under ``context``.

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
        rehearsal = _Rehearsal(settings, context, names, facts, partition)
        yield await rehearsal.run(committed.get(partition))


class _Rehearsal:
    """One partition's."""

    def __init__(
        self, settings: Settings, context: Context, names: TopicNames, facts: Mapping[str, TopicFacts], partition: int
    ) -> None:
        """Take what the worker would know."""
        self._settings, self._context, self._names, self._partition = settings, context, names, partition
        self._rows = _Rows()
        self._defaults: dict[str, Policy] = {}
        shell = Shell(settings, context, None, names, Metrics(), self._rows, None)
        self._restorer = Restorer(shell, facts, partition)

    async def run(self, committed: int | None) -> Rehearsed:
        """Read back and decide what waits; ``committed`` is the group's offset."""
        try:
            restored = await self._restorer.restore(committed)
        except PartitionStoppedError as stopped:
            return Rehearsed(self._partition, stopped=stopped)
        row, tail = restored.row, restored.tail
        binding = 0 if tail is None else len(tail)
        outlets = Outlets(_drop, _drop, _drop, None if tail is None else tail.settle)
        waiting, erased, stopped_by = 0, 0, None
        try:
            collection = await self._restorer.recall(row, self._find)
            decider = Decider(self._context, self._find, outlets, collection)
            async for records in self._waiting(row.next_offset):
                waiting += len(records)
                left = iter(records)
                while not decider.decide(left):
                    pass  # nothing is sent: batches need no end
                if tail is not None:
                    tail.overdue(records[-1].offset + 1)
                erased = decider.rejected.get("key-erased", 0)
        except PartitionStoppedError as stopped:
            stopped_by = stopped
        return Rehearsed(self._partition, row, waiting, binding, erased, stopped_by)

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


class _Rows:
    """One partition's rows in memory, in the place of a worker's database."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._found: dict[bytes, bytes] = {}
        self._offset: int | None = None

    def read(self, partition: int, key: bytes) -> bytes | None:  # noqa: ARG002 (there is one)
        """Return the value at ``key``."""
        return self._found.get(key)

    def scan(self, partition: int, prefix: bytes) -> Iterator[bytes]:  # noqa: ARG002
        """Yield all values whose keys begin with ``prefix``."""
        yield from (value for key, value in self._found.items() if key.startswith(prefix))

    def offset(self, partition: int) -> int | None:  # noqa: ARG002
        """Return the changelog offset up to which, itself included, the changelog is held."""
        return self._offset

    def write(self, partition: int, rows: Iterable[tuple[bytes, bytes | None]], offset: int | None) -> None:  # noqa: ARG002
        """Take rows and changelog offset; a value of None deletes."""
        for key, value in rows:
            if value is None:
                self._found.pop(key, None)
            else:
                self._found[key] = value
        self._offset = offset

    def discard(self, partition: int) -> None:  # noqa: ARG002
        """Hold nothing any more."""
        self._found.clear()
        self._offset = None


def _drop(key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:
    """Put out nothing."""
