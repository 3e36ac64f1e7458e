"""Faust's recovery, used for standby copies alone: an owned partition reads its own state back (`Restorer`).

Faust would let no partition of a worker go on before the last one is read back. And it waits for the last *record* of
the changelog, which in a transactional log is a marker that no consumer is given: here a copy is complete when the
consumer's position has passed the end that the log had.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

from faust.tables.manager import TableManager as FaustTableManager
from faust.tables.recovery import Recovery as FaustRecovery
from faust.types import TP
from mode import Service

from stream_app.formats.records import Records
from stream_app.kafka.owner.standbycopy import StandbyCopies

_LOOK_SECONDS = 0.05


class Recovery(FaustRecovery):
    """Faust's recovery, fed from the consumer directly."""

    app: Any

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._reached: dict[TP, int] = {}
        self.standby_rows = 0
        self.copies = StandbyCopies(self.app.store, self.app.measures)

    def add_standby(self, table: Any, tp: TP) -> None:
        """Open the copy of a partition that another worker owns, and let the changelog be read from where it ends."""
        self.standby_offsets[tp] = cast("int", self.copies.open(tp.partition))  # Faust keeps that of a discarded one
        super().add_standby(table, tp)

    def apply(self, tp: TP, records: Records) -> None:
        """Write changelog records into the copy of a partition that another worker owns."""
        if self.copies.apply(tp.partition, records):
            self.standby_offsets[tp] = records.offsets[-1]
            self.standby_rows += len(records)

    def follows(self, tp: TP) -> bool:
        """Tell whether a copy of this changelog partition is kept here for another worker."""
        return self.copies.follows(tp.partition)

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
        self.copies.leave()
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
