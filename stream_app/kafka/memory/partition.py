"""A partition whose rows are all in memory, for commands that process records as a worker does, but without Kafka."""

import sys
from collections.abc import Iterator, Mapping
from typing import Final, final

from stream_app.deciding.collection import Collection
from stream_app.deciding.columns.batch import BatchDecider
from stream_app.deciding.columns.sorting import FEWEST
from stream_app.deciding.context import Context
from stream_app.deciding.decider import Outlets
from stream_app.deciding.rows import SeriesRow
from stream_app.deciding.units.blocks import Blocks, Table
from stream_app.formats.records import Records
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.cache import RowReader
from stream_app.privacy.policy import Policy

_ALL: Final = sys.maxsize
"""The number of series kept in memory: no series is ever read back."""
_TOPIC_ID: Final = "memory"
"""Replaces the id of the events topic when readings are sealed; no other process reads them."""


@final
class MemoryPartition:
    """The rows and open steps of one partition, in memory only.

    Guarantee: the outputs are those of a worker that receives the same records in the same order.
    """

    def __init__(self, context: Context, key: bytes) -> None:
        """Start without series; ``key`` (32 random bytes) hides contributors in their digests."""
        self._context: Final = context
        self._stored: Final = MemoryRows()
        self._rows: Final = RowReader(self._stored, 0, _ALL, FEWEST)
        self.collection: Final = Collection(key, Blocks(Table(context.keys, _TOPIC_ID, self._rows.sealed)))

    def take(self, rows: Mapping[str, SeriesRow]) -> None:
        """Replace the rows of series, or add them."""
        self._rows.take(rows)

    def decide(self, records: Records, outlets: Outlets) -> Iterator[BatchDecider]:
        """Process records and write their outputs; yield the results of each batch after its rows are stored.

        A batch ends early if it has many outputs.
        """
        rows = self._rows
        while len(records):
            decider = BatchDecider(self._context, rows, outlets, self.collection, rows.find_member, rows.fewest)
            for _ in decider.decide(records):
                pass
            self.take(decider.alone.changed)
            members = (member.dump() for member in decider.alone.members.values())
            self._stored.write(0, (*members, *self.collection.units.written().items()), None)
            records = records[decider.end :]
            yield decider

    def policy_of(self, series: str) -> Policy | None:
        """Return the policy of a series, or None if the series has no row."""
        return self._rows.policy_of(series)

    @property
    def waiting(self) -> int:
        """The number of open steps of plain series that have readings or units."""
        opened = (row.open_units for row in self._rows.rows())
        return self.collection.read + sum(len(units.steps) for units in opened if units is not None)
