"""Open steps of series with units, read again from the events topic when sealed rows are lost.

The ledger and releases show which steps were processed; only the input shows which are open and what they have read. If
the input of a series is incomplete from the first possible reading of its open steps, these steps are given up. The
rejects topic records this, with the series, so that a later rebuild of the rows gives up the same steps.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, final

from stream_app.deciding.rows import SeriesRow
from stream_app.deciding.units import taking
from stream_app.deciding.units.blocks import Blocks, Table
from stream_app.deciding.units.opened import GIVEN_UP, OpenUnits
from stream_app.deciding.views.refusals import Refusals
from stream_app.formats import wire
from stream_app.formats.records import Observation, Watermark, of_series
from stream_app.kafka.rebuild.folding import FoldedLogs
from stream_app.kafka.rebuild.open_steps import Loss
from stream_app.kafka.rebuild.sealed_rows import SealedRows
from stream_app.kafka.stops import PartitionStoppedError
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.state import NEVER


@final
class FoundUnits:
    """The open steps of a partition's series with units, updated record by record."""

    def __init__(  # noqa: PLR0913 (everything that shows which steps are open)
        self,
        told: FoldedLogs,
        keys: KeyRing,
        topic: str,
        losses: Iterable[Loss],
        first: int,
        line: int,
        *,
        partly: bool,
        folder: Path | None = None,
    ) -> None:
        """Start before the first record; the log begins at ``first``, and processed input ends at ``line``.

        ``topic`` is the id of the events topic, and ``losses`` were recorded earlier. If ``partly``, the remains of a
        step are treated as the whole step. The rows are kept in ``folder`` in the meantime; each call raises
        `LocalStateError` if there is no space.
        """
        self._sealed: Final = SealedRows(folder)
        self._rows: Final[Mapping[str, SeriesRow]] = units_of(told)
        self._blocks: Final = Blocks(Table(keys, topic, self._sealed.read))
        self._keys: Final = keys
        self._open: dict[str, OpenUnits] = {}
        self._since = {series: told.read_from.get(series, 0) for series in self._rows}
        self.given_up: list[str] = []
        """The series whose steps are given up now but were not given up before."""
        for loss in losses:
            name = loss.series
            if name in self._rows and self._since[name] < loss.first and told.released.get(name, NEVER) < loss.line:
                self._give_up(name, loss.line)
        if not partly:
            for name in sorted(self._rows):
                if self._since[name] < first:
                    self._give_up(name, line)
                    self.given_up.append(name)

    def _give_up(self, series: str, line: int) -> None:
        """Forget what was open before offset ``line``, because it is only partly known."""
        self._open[series], self._since[series] = GIVEN_UP, line

    def take(self, offset: int, value: bytes | None, rejected: Refusals) -> None:
        """Apply a record that was already processed, in order; ``rejected`` says which series refused it."""
        found = wire.decode(value)
        if not isinstance(found, Observation | Watermark):
            return
        for series in rejected.takers(offset, found.series):
            row = self._rows.get(series)
            if row is None or offset < self._since[series]:
                continue
            ready = replace(row, open_units=self._open.get(series))
            after = taking.recalled(self._keys, ready, self._blocks, of_series(found, series), offset)
            if after is not None:
                self._open[series] = after

    def begin(self, next_offset: int) -> int:
        """Return the offset to read from, or ``next_offset`` if there is nothing to read."""
        return min(self._since.values(), default=next_offset)

    def rows(self) -> dict[str, SeriesRow]:
        """Return the rows of all series with units, including their open steps."""
        return {series: replace(row, open_units=self._open.get(series)) for series, row in self._rows.items()}

    def settle(self) -> None:
        """Seal the rows in memory, so that memory holds only records applied since the last call."""
        self._sealed.put(self._blocks.written())

    def forget(self, keys: Iterable[bytes]) -> None:
        """Note the keys of sealed rows written earlier; rows that now belong to no open step are to be deleted."""
        self._sealed.delete(keys)

    def sealed(self) -> Iterable[tuple[bytes, bytes | None]]:
        """Yield the rows of open steps' readings by key; a row without content is to be deleted."""
        self.settle()
        return self._sealed

    @property
    def steps(self) -> int:
        """The number of open steps."""
        return sum(len(found.steps) for found in self._open.values())

    def __len__(self) -> int:
        """Return the number of series with units."""
        return len(self._rows)


def units_of(told: FoldedLogs) -> dict[str, SeriesRow]:
    """Return the rows of the series with units that are not closed."""
    rows = told.rows.items()
    return {series: row for series, row in rows if row.policy.units is not None and not row.state.closed}


def check_key(partition: int, told: FoldedLogs, keys: KeyRing) -> None:
    """Check that open steps' rows are sealed under the worker's key, whatever key file is given here.

    Raises:
        PartitionStoppedError: if the last entry was written under another key.
    """
    if told.key in {"", keys.fingerprint} or not units_of(told):
        return
    asked = f"the noise key with fingerprint {told.key}, under which the rows of open steps must be sealed"
    raise PartitionStoppedError(
        partition, "key-changed", asked=asked, found=f"a key with fingerprint {keys.fingerprint}"
    )
