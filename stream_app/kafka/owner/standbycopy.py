"""Copies of rows that other workers own, kept so that a take-over reads only what is newer.

A copy that lacks a record of its changelog, or holds one that the changelog lost, would pass for whole at a take-over.
So it is discarded, or written no more, as soon as that may be so; the next assignment begins it anew.
"""

import logging

from stream_app.formats.records import Records
from stream_app.kafka.brokers import DamagedCopyError, LocalStateError, Rows
from stream_app.kafka.owner.changelogcopy import follow_on, lives, row_of, tell_discarded
from stream_app.monitoring.metrics import Metrics

logger = logging.getLogger(__name__)


class StandbyCopies:
    """The standby copies of one worker."""

    def __init__(self, rows: Rows, metrics: Metrics) -> None:
        """Follow no changelog yet."""
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
        """Open the copy of a partition and follow its changelog; a damaged one is discarded.

        Return the offset of the last record that it holds, from which on the changelog must be read. None: from its
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
            text = "partition %d: the changelog goes on %s; its standby copy is discarded, and begins anew"
            logger.warning(text, partition, point)
        return bool(strange or earlier)
