"""Restores a partition: catches up with the changelog, checks its row, and reads the ledger's tail."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from stream_app.deciding import rows
from stream_app.deciding.members import load_member
from stream_app.kafka.brokers import Reader, Rows, TopicFacts
from stream_app.kafka.evidence import ends as log_ends
from stream_app.kafka.evidence.claim import holds_entries
from stream_app.kafka.evidence.ends import AnsweredInput, Ends
from stream_app.kafka.evidence.outputs import outputs_of
from stream_app.kafka.evidence.row import PartitionRow, last_row, placed_by
from stream_app.kafka.evidence.skipped import skipped
from stream_app.kafka.owner.changelogcopy import ChangelogCopy
from stream_app.kafka.owner.tail import Tail
from stream_app.kafka.parts import ReadBack, Site, new_life
from stream_app.kafka.stops import PartitionStoppedError, StopReason
from stream_app.privacy.policy import Policy

logger = logging.getLogger(__name__)
NOISE_KEY = "noise key"
Judge = Callable[[PartitionRow], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RestoredPartition:
    """Where a partition continues."""

    row: PartitionRow
    tail: Tail
    fresh: bool
    """Whether the row is written first, because nothing was processed yet or the separator or key has changed.

    While entries are binding or input is answered, a changed key does not count: the row keeps its old key in the
    meantime.
    """


def separator_changed(partition: int, was: str, now: str) -> PartitionStoppedError:
    """Return the error for series that the separator ``was`` assigned to partitions; an empty text means none."""
    asked = f"member_separator {was or None!r}, which assigned the series to partitions"
    return PartitionStoppedError(partition, "separator-changed", asked, f"{now or None!r} in the configuration")


class Restorer:
    """Restores one partition's state; its producer must be open, so that nobody else can write."""

    def __init__(
        self, site: Site, rows: Rows, facts: Mapping[str, TopicFacts], partition: int, progress: ReadBack
    ) -> None:
        self._site, self._context, self._names, self._rows = site, site.context, site.names, rows
        self._facts, self._partition = facts, partition
        changelog = site.names.changelog
        self._separator = site.settings.member_separator or ""
        # All partitions together gather at most the memory allowed for memtables, which stay empty meanwhile.
        loaded_bytes = site.settings.rocksdb_budget_bytes // (2 * site.settings.partitions)
        self._copy = ChangelogCopy(rows, changelog, facts[changelog].id, partition, progress, loaded_bytes)

    async def restore(self, committed: int | None, judge: Judge | None) -> RestoredPartition:
        """Return where to continue; ``committed`` is the group's offset.

        If others wrote after a row, ``judge`` stops the partition before their records are read. If ``judge`` is None,
        the owner may be writing, so logs read one after another are not compared. Raises `PartitionStoppedError` if
        continuing could process something twice or lose something.
        """
        self._copy.discard_foreign()
        async with self._site.brokers.reader("read_committed") as reader:
            committed_end = await self._copy.catch_up(reader)
            row = self._copy.row()
            events = self._facts[self._names.events].partitions
            placed = await placed_by(reader, self._names, events) if row is None else None
            if placed is not None and placed.partitions != events:
                # Series that the new number places here spent budget elsewhere.
                asked = f"{placed.partitions} partitions, as another partition's row says"
                raise self._stopped("partition-count", asked, f"{events} in the cluster")
            placing = placed if row is None else row
            other = placing is not None and placing.separator != self._separator
            if other:
                await self._check_separators(reader, events)
            if judge is not None and row is not None:
                await judge(row)
            answered = lacking = None
            if judge is not None:
                covered = None if row is None else row.next_offset
                answered = await log_ends.answered_of(reader, self._names, self._partition, covered)
                lacking = None if row is None else await log_ends.cut_short(reader, self._names, self._partition)
        async with self._site.brokers.reader("read_uncommitted") as reader:
            first, end = await reader.bounds(self._names.events, self._partition)
            ends = await log_ends.ends_of(reader, self._names, self._partition)
            if row is None:
                decided = await holds_entries(reader, self._names.ledger, self._partition)
                return self._first_row(committed, first, ends, decided=decided)
            self._check_topics(row)
            rekeyed = self._rekeyed(row)
            row = replace(row, separator=self._separator)
            if lacking is not None:
                raise lacking.stopped(self._partition)
            row = self._whole(row, ends, committed_end, answered)
            outputs = None
            if answered is not None and answered.before > row.next_offset:
                row = self._settled(row, answered.before, first)
                async with self._site.brokers.reader("read_committed") as logs:
                    outputs = await outputs_of(logs, self._names, self._partition, row, answered, ends)
            tail = Tail(self._partition, self._changes(row), outputs)
            await self._check_group(row, tail.answered, committed)
            self._check(row, first)
            if end < max(row.next_offset, tail.answered):
                raise log_ends.input_short(max(row.next_offset, tail.answered), end).stopped(self._partition)
            await self._check_last(reader, row)
            await tail.read(reader, self._names.ledger, row.ledger_offset, self._sequence_of())
        self._tell_changes(row, tail)
        # Binding entries must be recomputed under the key that wrote them, so the row keeps that key until then.
        return RestoredPartition(row, tail, fresh=other or (rekeyed and not tail.binds(row.next_offset)))

    def _first_row(self, committed: int | None, first: int, ends: Ends, *, decided: bool) -> RestoredPartition:
        if lacking := log_ends.shortage(None, ends):
            raise lacking.stopped(self._partition)
        # If a partition's first transaction failed, its owner may have committed offset 0: no input lies below it. Any
        # other offset may follow input that was processed and has expired since, so it indicates a lost row.
        if decided or (committed or 0) > 0:
            asked = "the partition's row in the state table, because input was processed before"
            found = f"none; the group's offset is {committed}, and the ledger ends at {ends.ledger.end}"
            raise self._stopped("row-missing", asked, found)
        row = PartitionRow(
            topic=self._facts[self._names.events].id,
            changelog=self._facts[self._names.changelog].id,
            partitions=self._facts[self._names.events].partitions,
            next_offset=first,
            recall_offset=first,
            ledger_offset=0,
            key=self._context.keys.fingerprint,
            configuration=self._context.fingerprint,
            changelog_first=ends.changelog.first,
            ledger_first=ends.ledger.first,
            releases_offset=ends.releases.end,
            separator=self._separator,
        )
        return RestoredPartition(row, Tail(self._partition, ()), fresh=True)

    def _whole(self, row: PartitionRow, ends: Ends, committed_end: int, answered: AnsweredInput | None) -> PartitionRow:
        """Return the row with all facts about the logs, if the logs contain what the row requires."""
        lacking = log_ends.shortage(row, ends)
        if lacking is None and answered is not None:
            lost = log_ends.disagreement(answered, ends, row.releases_lost, row.last_reject)
            lacking = log_ends.torn(ends.changelog, committed_end) or lost
        if lacking is not None:
            raise lacking.stopped(self._partition)
        whole, warnings = log_ends.adopted(row, ends)
        for warning in warnings:
            logger.warning("partition %d: %s", self._partition, warning)
        return whole

    def _check_topics(self, row: PartitionRow) -> None:
        events = self._facts[self._names.events]
        if row.topic != events.id:
            asked = f"topic {self._names.events} with id {row.topic}"
            raise self._stopped("topic-replaced", asked, f"id {events.id}: it was deleted and created again")
        changelog = self._facts[self._names.changelog]
        if row.changelog != changelog.id:
            # A changelog recreated under a running worker contains only what was written since.
            asked = f"changelog {self._names.changelog} with id {row.changelog}, to which the state was written"
            raise self._stopped("changelog-short", asked, f"id {changelog.id}: it was deleted and created again")
        if row.partitions != events.partitions or row.partitions != self._site.settings.partitions:
            found = f"{events.partitions} in the cluster, {self._site.settings.partitions} in the configuration"
            asked = f"{row.partitions} partitions, as when series were assigned to them"
            raise self._stopped("partition-count", asked, found)

    def _rekeyed(self, row: PartitionRow) -> bool:
        """Return whether the row was written under another noise key; erasing epochs does not change a key."""
        own = self._context.keys.fingerprint
        if row.key != own and not self._site.accept_new_key:
            asked = f"the noise key with fingerprint {row.key}, under which the partition was last written"
            raise self._stopped("key-changed", asked, f"a key with fingerprint {own}")
        return row.key != own

    async def _check_separators(self, reader: Reader, partitions: int) -> None:
        """Check that no other separator assigned series to any partition; otherwise, a series could start over here."""
        for partition in range(partitions):
            row = await last_row(reader, self._names, partition)
            if row is None or row.separator == self._separator:
                continue
            if await holds_entries(reader, self._names.ledger, partition):
                raise separator_changed(self._partition, row.separator, self._separator)

    def _settled(self, row: PartitionRow, answered: int, first: int) -> PartitionRow:
        """Return the row to continue from; outputs of input below ``answered`` show that later rows are lost."""
        if first > row.recall_offset:
            asked = f"a state that is up to date with the outputs of input before {answered}"
            found = f"a state that ends at {row.next_offset}, and input that is kept only from {first} on"
            raise self._stopped("row-behind", asked, found)
        what = (
            "partition %d: the input from %d to %d is newer than the state but already has outputs; only missing "
            "outputs are written"
        )
        logger.warning(what, self._partition, row.next_offset, answered - 1)
        return replace(row, life=new_life(self._site))

    async def _check_group(self, row: PartitionRow, answered: int, committed: int | None) -> None:
        if committed is None or committed <= max(row.next_offset, answered, row.group_offset):
            return
        async with self._site.brokers.reader("read_committed") as reader:
            passed = await skipped(reader, self._names.events, self._partition, answered, committed)
        # After the last record with an output, the group's offset may have passed only markers.
        if answered <= row.next_offset or passed is not None:
            found = f"a state that ends at {row.next_offset}: committed changelog rows are lost"
            raise self._stopped("row-behind", f"a state that is up to date with the group's offset {committed}", found)

    def _check(self, row: PartitionRow, first: int) -> None:
        if first > row.next_offset:
            raise log_ends.input_lost(row.next_offset, first).stopped(self._partition)
        if first > row.recall_offset:
            raise log_ends.counts_lost(row.recall_offset, first).stopped(self._partition)

    async def _check_last(self, reader: Reader, row: PartitionRow) -> None:
        """Compare the last processed record with the log, because a log that lost its tail may have grown again."""
        events, last = self._names.events, row.last_offset
        if last < 0:
            return
        async for records in reader.records(events, self._partition, last, last + 1):
            found = records[0]
            if (found.offset, found.timestamp) == (last, row.last_append_ms):
                return
            first, _ = await reader.bounds(events, self._partition)
            if first <= last:
                asked = f"the last processed record, appended at {row.last_append_ms}, at offset {last}"
                raise self._stopped(
                    "input-short", asked, f"a record appended at {found.timestamp} at offset {found.offset}"
                )
            return

    def _sequence_of(self) -> Callable[[str], int]:
        known: dict[str, int] = {}
        defaults: dict[str, Policy] = {}

        def sequence_of(series: str) -> int:
            if series not in known:
                row = rows.load(read, series, defaults) or load_member(read, series)
                known[series] = 0 if row is None else row.sequence
            return known[series]

        def read(key: bytes) -> bytes | None:
            return self._rows.read(self._partition, key)

        return sequence_of

    def _changes(self, row: PartitionRow) -> list[str]:
        key = (NOISE_KEY, row.key, self._context.keys.fingerprint)
        pairs = (key, ("configuration", row.configuration, self._context.fingerprint))
        text = "the {} has fingerprint {}, but the state was created with {}"
        return [text.format(name, new, old) for name, old, new in pairs if old != new]

    def _tell_changes(self, row: PartitionRow, tail: Tail) -> None:
        for change in self._changes(row):
            if tail:
                text = "partition %d: %s, and %d ledger entries are binding: recomputing must give the same entries"
                logger.warning(text, self._partition, change, len(tail))
            elif NOISE_KEY in change:
                logger.warning("partition %d: accepted because of --accept-new-key: %s", self._partition, change)
            else:
                logger.info("partition %d: accepted: %s", self._partition, change)

    def _stopped(self, reason: StopReason, asked: str, found: str) -> PartitionStoppedError:
        return PartitionStoppedError(self._partition, reason, asked, found)
