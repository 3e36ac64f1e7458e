"""Open steps of collected or multi-reading series, recovered from the input after rows are lost.

The ledger and releases show which steps were closed. Only watermarks or readings in the input show which steps are
open.

The module also finds aborted ledger entries whose input was deleted, so that no worker will compute them again. Readers
of uncommitted records may have seen them, so their epsilon counts as spent. Recovery therefore adopts these entries and
their releases byte for byte, and the chains continue after them.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from stream_app.deciding.context import Context
from stream_app.deciding.rebuild import RebuiltRows
from stream_app.deciding.rows import SeriesRow
from stream_app.deciding.views.refusals import Refusals
from stream_app.formats import encoding, wire
from stream_app.formats.records import Observation, Watermark, of_series
from stream_app.kafka.brokers import Brokers, LogRecord, Reader, Writer
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.evidence.claim import is_claim
from stream_app.kafka.evidence.foreign import entry_of, input_offset
from stream_app.kafka.rebuild.folding import FoldedLogs
from stream_app.kafka.rebuild.given_up import GivenUp
from stream_app.kafka.stops import PartitionStoppedError
from stream_app.privacy.collected.plain import after_watermark, first_open, opened, read_open
from stream_app.privacy.collected.steps import ALL_GIVEN_UP, OpenSteps, first_of
from stream_app.privacy.policy import Policy
from stream_app.privacy.state import NEVER

_LOOK_SECONDS = 0.05
_LOOKS = 600
"""The maximum number of looks: markers take milliseconds, but busy brokers get 30 s."""


class _Entry(NamedTuple):
    record: Any
    entry: Any


class AbortedRecords(NamedTuple):
    """Records to write again, in the order of the log, and the rows that result."""

    entries: list[Any]
    releases: list[Any]
    told: RebuiltRows  # including these records


async def aborted_entries(
    reader: Reader,
    context: Context,
    names: TopicNames,
    partition: int,
    before: int,
    past: FoldedLogs,
    given_up: GivenUp,
) -> AbortedRecords:
    """Return the aborted entries of input below ``before`` that follow from the rows of ``past``.

    ``reader`` reads uncommitted records. Raises `PartitionStoppedError` if the release of such an entry never reached
    the log and may not be ``given_up``.
    """
    told = RebuiltRows(context, past.rows, past.members)
    aborted = await _aborted(reader, names.ledger, partition, before, told)
    wanted = {entry["release"] for _, entry in aborted if entry["entry"] == "release"}
    releases = await _releases(reader, names.releases, partition, wanted) if wanted else {}
    by_hash = {found: record.value for found, record in releases.items()}
    moved = AbortedRecords([], [], told)
    for record, entry in aborted:
        sequence, previous = told.place(entry["series"])
        known: Mapping[str, bytes] = by_hash
        if (entry["sequence"], entry["previous"]) != (sequence + 1, previous):
            continue
        if entry["entry"] == "release":
            # PRIVACY: the entry's hash reveals a release of few possible values as well as the release itself would. So
            # the series cannot continue from before the entry, and from after it only as a series whose release is
            # given up.
            known = given_up.or_given_up(entry, input_offset(record), by_hash)
            if entry["release"] not in known:
                asked = f"the release of an aborted ledger entry, sequence {entry['sequence']}, whose input is lost"
                found = "none in the log: the worker died between the entry and the release"
                raise PartitionStoppedError(partition, "release-lost", asked, found)
            if entry["release"] in releases:
                moved.releases.append(releases[entry["release"]])
        moved.entries.append(record)
        told.take(record.value, known)
    return moved


async def abort_open(brokers: Brokers, writer: Writer, names: TopicNames, partition: int) -> None:
    """Abort writes left open in the logs; otherwise the next commit by their only writer would commit them.

    Such writes arise on brokers that do not verify partitions (KIP-890): a late commit ended the transaction for its
    coordinator, but the producer kept writing. To end the open transaction with a marker of this producer, one of its
    records is written again and aborted. Raises `PartitionStoppedError` if the transaction belongs to another producer
    whose id expired, because nobody else can end that transaction.
    """
    async with brokers.reader("read_committed") as ended, brokers.reader("read_uncommitted") as whole:
        found: dict[str, LogRecord] = {}
        for topic in (names.ledger, names.releases, names.rejects, names.changelog):
            _, end = await ended.bounds(topic, partition)
            async for records in whole.records(topic, partition, end):
                found[topic] = records[0]
                break
        if not found:
            return
        await writer.begin(*found)
        for topic, record in found.items():
            pages = writer.pages()
            pages.append(record.key, record.value, record.timestamp, list(record.headers))
            await writer.send(topic, pages)
        await writer.abort()
        for topic, record in found.items():
            for _ in range(_LOOKS):
                if (await ended.bounds(topic, partition))[1] > record.offset:
                    break
                await asyncio.sleep(_LOOK_SECONDS)
            else:
                asked = f"{topic} without a transaction of a producer that no longer exists"
                left = f"a transaction open on its partition {partition} from start offset {record.offset} onward"
                raise PartitionStoppedError(partition, "transaction-open", asked, left)


async def adopt(writer: Writer, names: TopicNames, found: AbortedRecords) -> None:
    """Write the records again and commit them: entries before releases, as always."""
    await writer.begin()
    for topic, records in ((names.ledger, found.entries), (names.releases, found.releases)):
        pages = writer.pages()
        for record in records:
            pages.append(record.key, record.value, record.timestamp, list(record.headers))
        if pages.records:
            await writer.send(topic, pages)
    await writer.commit()


async def _aborted(reader: Reader, topic: str, partition: int, before: int, told: RebuiltRows) -> list[_Entry]:
    """Return the first copy of each entry that is newer than the rows and belongs to input below ``before``."""
    found: dict[tuple[str, int], _Entry] = {}
    async for records in reader.records(topic, partition, 0):
        for record in records:
            if is_claim(record) or input_offset(record) >= before:
                continue
            entry = entry_of(record)
            if entry["sequence"] > told.place(entry["series"])[0]:
                found.setdefault((entry["series"], entry["sequence"]), _Entry(record, entry))
    return list(found.values())


async def _releases(reader: Reader, topic: str, partition: int, wanted: set[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    async for records in reader.records(topic, partition, 0):
        for record in records:
            digest = encoding.digest(record.value)
            if digest in wanted:
                found[digest] = record
    return found


LOST: Final = "input-lost"
"""The reason given by a reject that reports lost input.

The reject names the last deleted record, and its header names the last processed one.
"""


class Loss(NamedTuple):
    """An accepted loss of input that was deleted while steps were open.

    All steps that may have been open are given up. The loss is written to the rejects topic, so it outlives the rows: a
    later rebuild gives up the same steps.
    """

    first: int  # first offset kept: series with an older policy may have had open steps
    line: int  # where the input continued; decides which steps are given up and which are counted again
    series: str | None = None  # the series with units whose steps it gave up; None: all series with steps in memory


def more_lost(losses: Iterable[Loss], first: int, group: int, next_offset: int) -> Loss | None:
    """Return the input lost beyond the accepted ``losses``; None if no open step needs that input.

    The log begins at ``first``. No open step was opened before the group's offset ``group``.
    """
    covered = any(loss.first >= first for loss in losses)
    return None if group >= first or covered else Loss(first, next_offset)


class FoundSteps:
    """The open steps of a partition's series, updated record by record."""

    def __init__(self, past: FoldedLogs, losses: Iterable[Loss], rejected: Refusals) -> None:
        """Start before the first watermark; ``rejected`` says which series refused a record.

        Invariant: a step given up after a loss is never counted again. All steps given up come before all steps
        counted, so a release after a loss's ``line`` shows that every step given up for that loss is past.
        """
        self._rows = {series: row for series, row in past.rows.items() if _opens(row.policy) and not row.state.closed}
        self._adopted, self._rejected = past.adopted, rejected
        self._open: dict[str, OpenSteps] = {}
        self._lines: dict[str, int] = {}
        for loss in losses:
            for series in self._rows:
                old = past.adopted.get(series, NEVER) < loss.first
                if old and past.released.get(series, NEVER) < loss.line:
                    self._lines[series] = max(loss.line, self._lines.get(series, loss.line))

    def take(self, offset: int, value: bytes | None) -> None:
        """Apply a record that was already processed; records must come in order."""
        found = wire.decode(value)
        if not isinstance(found, Observation | Watermark):
            return
        for series in self._rejected.takers(offset, found.series):
            self._take(offset, of_series(found, series))

    def _take(self, offset: int, found: Observation | Watermark) -> None:
        """Apply a record for one of the series that received it."""
        row = self._rows.get(found.series)
        since = max(self._adopted.get(found.series, NEVER), self._lines.get(found.series, NEVER))
        if row is None or offset < since:
            return
        policy = row.policy
        before, index = self._opened(found.series), found.timestamp_ms // policy.step_ms
        if isinstance(found, Watermark):
            seedless = found.seed is None and policy.collect is not None  # it was rejected, even if no reject says so
            if not seedless and (before is None or index > before.first):
                self._open[found.series] = after_watermark(policy, before, index, offset)
        elif read_open(policy) and before != ALL_GIVEN_UP and index >= first_open(policy, row.state, first_of(before)):
            self._open[found.series] = opened(policy, row.state, before, index, offset)

    def rows(self) -> dict[str, SeriesRow]:
        """Return the rows of all series that may have open steps, including those steps."""
        return {series: replace(row, open_steps=self._opened(series)) for series, row in self._rows.items()}

    def _opened(self, series: str) -> OpenSteps | None:
        return self._open.get(series, ALL_GIVEN_UP if series in self._lines else None)

    def given_up(self, line: int = 0) -> list[str]:
        """Return the series known to have lost their open steps to a loss at ``line`` or later."""
        return [series for series, found in self._lines.items() if found >= line]

    def begin(self, start: int) -> int:
        """Return the offset to read from if no counted step was opened before ``start``."""
        return min([start, *self._lines.values()])

    @property
    def collects(self) -> bool:
        """Whether the input can contain open steps of any series."""
        return bool(self._rows)

    @property
    def steps(self) -> int:
        """The number of open steps that are counted or read."""
        return sum(len(found.begun) for found in self._open.values())

    def floor(self, next_offset: int) -> int:
        """Return the offset of the oldest record that opened a step that is still open, or ``next_offset``."""
        kept = (offset for found in self._open.values() for offset in found.offsets if offset >= 0)
        return min(kept, default=next_offset)


def _opens(policy: Policy) -> bool:
    return policy.collect is not None or policy.within is not None
