"""Recovery of the state table: committed rows only, in bulk, past the transaction markers.

Faust waits for the last *record* of the changelog, which in a transactional log is a marker that no consumer is given.
Here a partition is done when the consumer's position has passed the end that the log had when recovery began.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

from faust.tables.manager import TableManager as FaustTableManager
from faust.tables.recovery import Recovery as FaustRecovery
from faust.types import TP
from mode import Service

_LOOK_SECONDS = 0.05


class Recovery(FaustRecovery):
    """Faust's recovery, fed from the consumer directly."""

    app: Any

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Start with no partition reached."""
        super().__init__(*arguments, **named)
        self._reached: dict[TP, int] = {}
        self._sought = False
        self.recovered_rows = 0

    def apply(self, tp: TP, records: list[Any]) -> None:
        """Write changelog records into the partition's database."""
        offsets = self._offsets_of(tp)
        if offsets is None:
            return
        last = records[-1].offset
        self.app.store.write(tp.partition, ((record.key, record.value) for record in records), last)
        offsets[tp] = last
        self.recovered_rows += len(records)

    def reach(self, positions: Mapping[TP, int]) -> None:
        """Note how far the log was read: everything below is applied."""
        for tp, position in positions.items():
            if tp in self.active_tps or tp in self.standby_tps:
                self._reached[tp] = position

    def _offsets_of(self, tp: TP) -> Counter[TP] | None:
        if tp in self.active_tps:
            # Once it runs, its owner writes the database itself; what is read back then would be stale.
            return self.active_offsets if self.in_recovery else None
        return self.standby_offsets if tp in self.standby_tps else None

    def _remaining(self, highwaters: Counter[TP], offsets: Counter[TP]) -> Counter[TP]:
        remaining: Counter[TP] = Counter()
        for tp, highwater in highwaters.items():  # the last offset, marker or record; -1: empty
            done: int | None = offsets[tp]  # None until it was looked up
            behind = highwater - (-1 if done is None else done)
            remaining[tp] = 0 if self._reached.get(tp, -1) > highwater else max(0, behind)
        return remaining

    def active_remaining(self) -> Counter[TP]:
        """Return how many offsets each active partition is behind."""
        return self._remaining(self.active_highwaters, self.active_offsets)

    def standby_remaining(self) -> Counter[TP]:
        """Return how many offsets each standby partition is behind."""
        return self._remaining(self.standby_highwaters, self.standby_offsets)

    async def on_rebalance(self, *arguments: Any, **named: Any) -> None:
        """Forget how far the last owner's reading went."""
        self._reached.clear()
        self._sought = False
        await super().on_rebalance(*arguments, **named)

    async def _seek_offsets(self, consumer: Any, tps: set[TP], offsets: Counter[TP], title: str) -> None:
        await super()._seek_offsets(consumer, tps, offsets, title)
        self._sought = True

    async def on_recovery_completed(self, generation_id: int = 0) -> None:
        """Read back what Kafka cannot hold for Faust, the partition rows and ledger tails, then let events flow."""
        await self.app.partitions.prepare()
        await super().on_recovery_completed(generation_id)

    @Service.task
    async def _watch_end(self) -> None:
        while not self.should_stop:
            await self.sleep(_LOOK_SECONDS)
            if self.in_recovery and self._sought and not self.need_recovery():
                self._set_recovery_ended()
                self.signal_recovery_end.set()
            if self.standby_tps and not self.tables.standbys_ready and not self.standby_remaining_total():
                self.tables.on_standbys_ready()


class TableManager(FaustTableManager):
    """Faust's table manager with our recovery."""

    @property
    def recovery(self) -> Recovery:
        """Return the recovery service."""
        if self._recovery is None:
            self._recovery = Recovery(self.app, self, beacon=self.beacon, loop=self.loop)
        return cast("Recovery", self._recovery)
