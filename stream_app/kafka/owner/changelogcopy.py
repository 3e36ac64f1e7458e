"""A partition's rows on this machine: a copy of the changelog, which is brought up to date or discarded.

Three things make a local copy worthless. The changelog topic was deleted and made again. The changelog ends before the
copy does: then the partition stops. Or it lost its end and was written on from an earlier point. The member ``life`` of
its partition rows tells that, or another record where the copy's last one was, or no such record and no row after it.
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
    """Return the lives that the partition rows among changelog records are of."""
    rows = records.pairs()
    return {PartitionRow.decode(value).life for key, value in rows if key == PARTITION_KEY and value is not None}


def row_of(rows: Rows, partition: int) -> PartitionRow | None:
    """Return the partition row that a copy holds."""
    value = rows.read(partition, PARTITION_KEY)
    return None if value is None else PartitionRow.decode(value)


def follow_on(rows: Rows, partition: int, records: Records) -> bool:
    """Return whether changelog records go on where a copy ends: behind its last record, or with the same one.

    A changelog that lost its end may have grown as long again. The life does not show it if the batches that were lost
    had no outputs: then it stays. Compaction may have removed the last record.
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
        """Take the changelog topic's name and id; rows of ``loaded_bytes`` are gathered before they are written."""
        self._topic, self._id, self._partition = topic, changelog_id, partition
        self._rows, self._progress, self._loaded_bytes = rows, progress, loaded_bytes

    def row(self) -> PartitionRow | None:
        """Return the partition row that is held."""
        return row_of(self._rows, self._partition)

    def discard_foreign(self) -> None:
        """Delete a copy that was made of another changelog than the present one."""
        row = self.row()
        if row is not None and row.changelog != self._id:
            logger.warning(
                "partition %d: the local state belongs to another changelog topic; discarded", self._partition
            )
            self._rows.discard(self._partition)

    async def catch_up(self, reader: Reader) -> int:
        """Apply what was committed behind the copy; return where the changelog ends. Raises if that is before it."""
        if not await self._apply(reader):
            what = "partition %d: the changelog was rewritten from an earlier point; the local state is discarded"
            logger.warning(what, self._partition)
            self._rows.discard(self._partition)
            await self._apply(reader)
        return (await reader.bounds(self._topic, self._partition))[1]

    async def _apply(self, reader: Reader) -> bool:
        """Return whether the changelog goes on where the copy ends, as far as partition rows tell.

        It holds the copy's last record, or a later partition row: compaction keeps the last one, and each batch ends
        with one. If it holds neither, markers alone have taken the place of what it lost.
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
        goes_on = done is None and row is None  # rows of a commit whose offset nobody told have none
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
    """Warn of a copy that was discarded, and count it."""
    if damage is not None:
        logger.warning("partition %d: %s; discarded, and restored from the changelog", partition, damage)
        metrics.count(WorkerMetric.DAMAGED_COPIES, 1, damage.cause)


class StandbyCopies:
    """Copies of rows that other workers own, kept so that a take-over reads only what is newer.

    A copy that lacks a record of its changelog, or holds one that the changelog lost, would pass for whole at a
    take-over. So it is discarded, or written no more, as soon as that may be so; the next assignment begins it anew.
    """

    def __init__(self, rows: Rows, metrics: Metrics) -> None:
        self._rows, self._metrics = rows, metrics
        self._followed: set[int] = set()
        self._met: dict[int, set[str]] = {}  # lives that a log held before its copy was begun anew

    def follows(self, partition: int) -> bool:
        """Tell whether a copy takes what its changelog gets."""
        return partition in self._followed

    def leave(self) -> None:
        """Follow no changelog until the next assignment: an owner writes its rows itself."""
        self._followed.clear()

    def open(self, partition: int) -> int | None:
        """Open the copy of a partition, discarded where it is damaged, and follow its changelog.

        Return the offset of its last record, from which on the changelog must be read. None: from its beginning.
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
        """Write changelog records into a copy; return whether they were written."""
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
        """Write nothing more into a copy until the next assignment: with rows missing it would pass for whole."""
        self._followed.discard(partition)
        logger.warning("partition %d: %s", partition, error)

    def _breaks_off(self, partition: int, records: Records) -> bool:
        """Discard a copy if its log goes on under another life, or from an earlier point; return whether it did.

        The log may have lost its end, and rows of what is lost would rule again at a take-over. If the log held that
        life before the copy was begun, the copy is of what is left.
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
