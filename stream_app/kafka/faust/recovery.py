"""Faust's recovery, used for standby copies alone: an owned partition reads its own state back (`Restorer`).

Faust would let no partition of a worker go on before the last one is read back. And it waits for the last *record* of
the changelog, which in a transactional log is a marker that no consumer is given: here a copy is complete when the
consumer's position has passed the end that the log had.
"""

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

from faust.tables.manager import TableManager as FaustTableManager
from faust.tables.recovery import Recovery as FaustRecovery
from faust.types import TP
from mode import Service

from stream_app.formats.records import Records
from stream_app.kafka.brokers import DamagedCopyError, LocalStateError
from stream_app.kafka.evidence.row import PARTITION_KEY, PartitionRow
from stream_app.kafka.faust.localcopy import CopyFault, tell_trouble
from stream_app.kafka.owner.changelogcopy import lives, tell_discarded

logger = logging.getLogger(__name__)
_LOOK_SECONDS = 0.05


class Recovery(FaustRecovery):
    """Faust's recovery, fed from the consumer directly."""

    app: Any

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._reached: dict[TP, int] = {}
        self.standby_rows = 0
        self._given_up: set[TP] = set()
        self._met: dict[TP, set[str]] = {}  # lives that a log held before its copy was begun anew

    def add_standby(self, table: Any, tp: TP) -> None:
        """Open the copy of a partition that another worker owns; a damaged one begins anew."""
        try:
            tell_discarded(self.app.measures, tp.partition, self.app.store.reopen(tp.partition))
        except LocalStateError as error:
            self._give_up(tp, error)
        super().add_standby(table, tp)

    def _give_up(self, tp: TP, error: CopyFault) -> None:
        """Write nothing more into a copy until the next assignment: with rows missing it would pass for whole."""
        self._given_up.add(tp)
        tell_trouble(tp.partition, error)

    def apply(self, tp: TP, records: Records) -> None:
        """Write changelog records into the copy of a partition that another worker owns."""
        if not self.follows(tp):
            # An owner writes its database itself; what is read back then would be stale.
            return
        last = records.offsets[-1]
        try:
            if self._breaks_off(tp, records):
                return
            self.app.store.write(tp.partition, records.pairs(), last)
        except (DamagedCopyError, LocalStateError) as error:
            self._give_up(tp, error)
            return
        self.standby_offsets[tp] = last
        self.standby_rows += len(records)

    def _breaks_off(self, tp: TP, records: Records) -> bool:
        """Discard a copy where its log goes on under another life, or from an earlier point; return whether it did.

        The log may have lost its end, and rows of what is lost would rule again at a take-over. Where the log held that
        life before the copy was begun, the copy is of what is left.
        """
        value = self.app.store.read(tp.partition, PARTITION_KEY)
        if value is None:
            return False
        strange = lives(records) - {PartitionRow.decode(value).life} - self._met.get(tp, set())
        earlier = not self._follow_on(tp.partition, records)
        if strange or earlier:
            self._given_up.add(tp)
            self.app.store.discard(tp.partition)
            self._met.setdefault(tp, set()).update(strange)
            point = "from an earlier point" if earlier else "under another life"
            text = "partition %d: the changelog goes on %s; its standby copy is discarded, and begins anew"
            logger.warning(text, tp.partition, point)
        return bool(strange or earlier)

    def _follow_on(self, partition: int, records: Records) -> bool:
        """Return whether records go on where the copy ends: Faust asks from its last record on, and it is the same."""
        held: int | None = self.app.store.offset(partition)
        first = records.offsets[0]
        if held is None or first > held:
            return True
        key = records.keys[0]
        return first == held and key is not None and self.app.store.read(partition, key) == records.values[0]

    def follows(self, tp: TP) -> bool:
        """Tell whether a copy of this changelog partition is kept here for another worker."""
        return tp in self.standby_tps and tp not in self._given_up

    def reach(self, positions: Mapping[TP, int]) -> None:
        """Note how far the log was read: everything below is applied."""
        for tp, position in positions.items():
            if self.follows(tp):
                self._reached[tp] = position

    def active_remaining(self) -> Counter[TP]:
        """Return nothing: no owner waits for Faust."""
        return Counter()

    def standby_remaining(self) -> Counter[TP]:
        """Return how many offsets each standby partition is behind the end that it had when it was assigned."""
        remaining: Counter[TP] = Counter()
        for tp, highwater in self.standby_highwaters.items():  # the last offset, marker or record; -1: empty
            done: int | None = self.standby_offsets[tp]  # None until it was looked up
            behind = highwater - (-1 if done is None else done)
            remaining[tp] = 0 if self._reached.get(tp, -1) > highwater else max(0, behind)
        return remaining

    async def on_rebalance(self, *arguments: Any, **named: Any) -> None:
        """Forget how far the copies of the last assignment were read."""
        self._reached.clear()
        self._given_up.clear()
        await super().on_rebalance(*arguments, **named)

    async def on_recovery_completed(self, generation_id: int = 0) -> None:
        """Hand on no fetch until the flow resumes: Faust empties its queues then, and seeks to nothing after it."""
        self.app.consumer.stop_flow()
        await super().on_recovery_completed(generation_id)

    @Service.task
    async def _watch_end(self) -> None:
        while not self.should_stop:
            await self.sleep(_LOOK_SECONDS)
            if self.standby_tps and not self.tables.standbys_ready and not self.standby_remaining_total():
                self.tables.on_standbys_ready()


class TableManager(FaustTableManager):
    """Faust's table manager with our recovery."""

    async def on_start(self) -> None:
        """Begin at once: Faust waits a second for tables that modules add late; here the only one is there."""
        await self._update_channels()
        await self.recovery.start()

    @property
    def recovery(self) -> Recovery:
        """Return the recovery service."""
        if self._recovery is None:
            self._recovery = Recovery(self.app, self, beacon=self.beacon, loop=self.loop)
        return cast("Recovery", self._recovery)
