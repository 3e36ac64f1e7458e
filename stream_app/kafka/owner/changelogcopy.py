"""A partition's rows on this machine: a copy of the changelog that is brought up to date or discarded.

A local copy is worthless in three cases. The changelog topic was deleted and created again. The changelog ends before
the copy does; the partition then stops. Or the changelog lost its tail and has since grown from an earlier point. This
last case is recognized by the ``life`` field of the partition rows, by a different record at the copy's last offset, or
by the absence of that record if no later partition row exists.
"""

import logging
from bisect import bisect_right

from stream_app.formats.records import Records
from stream_app.kafka.brokers import DamagedCopyError, LocalStateError, Reader, Rows
from stream_app.kafka.evidence.row import PARTITION_KEY, PartitionRow
from stream_app.kafka.parts import ReadBack
from stream_app.kafka.stops import PartitionStoppedError
from stream_app.monitoring.metrics import Metrics, WorkerMetric

logger = logging.getLogger(__name__)


def lives(records: Records) -> set[str]:
    """Return all ``life`` values in the partition rows among changelog records."""
    rows = records.pairs()
    return {PartitionRow.decode(value).life for key, value in rows if key == PARTITION_KEY and value is not None}


def row_of(rows: Rows, partition: int) -> PartitionRow | None:
    """Return the partition row in a copy, or None."""
    value = rows.read(partition, PARTITION_KEY)
    return None if value is None else PartitionRow.decode(value)


def follow_on(rows: Rows, partition: int, records: Records) -> bool:
    """Return whether changelog records continue a copy: they follow its last record, or begin with that record.

    A changelog that lost its tail may have grown to the same length again. Its ``life`` does not change if the lost
    batches had no outputs. Compaction may have removed the copy's last record.
    """
    held, first, key = rows.offset(partition), records.offsets[0], records.keys[0]
    if held is None or first > held:
        return True
    return first == held and key is not None and rows.read(partition, key) == records.values[0]


class ChangelogCopy:
    """The local rows of one partition."""

    def __init__(
        self, rows: Rows, topic: str, changelog_id: str, partition: int, progress: ReadBack, loaded_bytes: int
    ) -> None:
        """Store the changelog topic's name and id; rows are written once ``loaded_bytes`` have been gathered."""
        self._topic, self._id, self._partition = topic, changelog_id, partition
        self._rows, self._progress, self._loaded_bytes = rows, progress, loaded_bytes

    def row(self) -> PartitionRow | None:
        """Return the copy's partition row, or None."""
        return row_of(self._rows, self._partition)

    def discard_foreign(self) -> None:
        """Delete a copy of another changelog topic."""
        row = self.row()
        if row is not None and row.changelog != self._id:
            logger.warning(
                "partition %d: the local state belongs to another changelog topic; discarded", self._partition
            )
            self._rows.discard(self._partition)

    async def catch_up(self, reader: Reader) -> int:
        """Apply newer records to the copy and return the changelog's end; raises if the copy is ahead of that end."""
        if not await self._apply(reader):
            what = "partition %d: the changelog was rewritten from an earlier point; the local state is discarded"
            logger.warning(what, self._partition)
            self._rows.discard(self._partition)
            await self._apply(reader)
        return (await reader.bounds(self._topic, self._partition))[1]

    async def _apply(self, reader: Reader) -> bool:
        """Apply newer records; return whether the changelog continues the copy, as far as partition rows show.

        The changelog must contain the copy's last record or a later partition row, because compaction keeps the last
        partition row, and each batch ends with one. If the changelog contains neither, only markers have replaced what
        was lost.
        """
        done, row = self._rows.offset(self._partition), self.row()
        start = 0 if done is None else done + 1
        _, end = await reader.bounds(self._topic, self._partition)
        if start > end:
            asked = f"changelog offsets up to {start}, which the local state contains"
            raise PartitionStoppedError(self._partition, "changelog-short", asked, f"that the changelog ends at {end}")
        progress = self._progress
        progress.remaining[self._partition] = end - start
        gathered: dict[bytes, bytes | None] = {}
        size = last = 0
        goes_on = done is None and row is None  # a commit at an unknown offset stores none
        try:
            async for found in reader.rows(self._topic, self._partition, start if done is None else done):
                if not follow_on(self._rows, self._partition, found) or (row and lives(found) - {row.life}):
                    return False
                goes_on = goes_on or found.offsets[0] == done or PARTITION_KEY in found.keys
                known = 0 if done is None else bisect_right(found.offsets, done)
                records = found[known:] if known else found
                if not records:
                    continue
                gathered.update(records.pairs())
                size += sum(map(len, filter(None, records.values)))
                last = records.offsets[-1]
                progress.rows += len(records)
                progress.remaining[self._partition] = end - last - 1
                if size >= self._loaded_bytes:
                    self._rows.load(self._partition, gathered, last)
                    gathered, size = {}, 0
            if gathered:
                self._rows.load(self._partition, gathered, last)
        finally:
            del progress.remaining[self._partition]
        return goes_on


def tell_discarded(metrics: Metrics, partition: int, damage: DamagedCopyError | None) -> None:
    """Log a warning and count the damage if a copy was discarded."""
    if damage is not None:
        logger.warning("partition %d: %s; discarded, and restored from the changelog", partition, damage)
        metrics.count(WorkerMetric.DAMAGED_COPIES, 1, damage.cause)


class StandbyCopies:
    """Copies of rows that other workers own, so that a takeover reads only newer records.

    A copy that lacks a record of its changelog, or contains one that the changelog lost, would seem complete at a
    takeover. As soon as possible, such a copy is therefore discarded or receives no more writes; the next assignment
    starts it over.
    """

    def __init__(self, rows: Rows, metrics: Metrics) -> None:
        self._rows, self._metrics = rows, metrics
        self._followed: set[int] = set()
        self._met: dict[int, set[str]] = {}  # lives seen in a log before its copy restarted

    def follows(self, partition: int) -> bool:
        """Return whether a copy receives the records of its changelog."""
        return partition in self._followed

    def leave(self) -> None:
        """Stop following changelogs until the next assignment, because an owner writes its rows itself."""
        self._followed.clear()

    def open(self, partition: int) -> int | None:
        """Open the copy of a partition, discard it if damaged, and follow its changelog.

        Return the offset of the copy's last record, where reading the changelog must start, or None to start at its
        beginning.
        """
        try:
            tell_discarded(self._metrics, partition, self._rows.reopen(partition))
            held = self._rows.offset(partition)
        except (DamagedCopyError, LocalStateError) as error:
            self._give_up(partition, error)
            return None
        self._followed.add(partition)
        return held

    def apply(self, partition: int, records: Records) -> bool:
        """Write changelog records to a copy; return whether they were written."""
        if not self.follows(partition):
            return False
        try:
            if self._breaks_off(partition, records):
                return False
            self._rows.write(partition, records.pairs(), records.offsets[-1])
        except (DamagedCopyError, LocalStateError) as error:
            self._give_up(partition, error)
            return False
        return True

    def _give_up(self, partition: int, error: Exception) -> None:
        """Stop writing to a copy until the next assignment, because a copy with missing rows would seem complete."""
        self._followed.discard(partition)
        logger.warning("partition %d: %s", partition, error)

    def _breaks_off(self, partition: int, records: Records) -> bool:
        """Discard a copy if its log continues under another life or from an earlier point; return True if so.

        The log may have lost its tail, and the lost rows would take effect again at a takeover. A life that the log
        contained before the copy was started is accepted, because the copy then contains only surviving rows.
        """
        row = row_of(self._rows, partition)
        strange = set() if row is None else lives(records) - {row.life} - self._met.get(partition, set())
        earlier = not follow_on(self._rows, partition, records)
        if strange or earlier:
            self._followed.discard(partition)
            self._rows.discard(partition)
            self._met.setdefault(partition, set()).update(strange)
            point = "from an earlier point" if earlier else "under another life"
            text = "partition %d: the changelog continues %s; its standby copy is discarded and rebuilt"
            logger.warning(text, partition, point)
        return bool(strange or earlier)
