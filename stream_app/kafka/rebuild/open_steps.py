"""Which steps of collected series, or of several readings, are open: found again in the input when rows were lost.

Ledger and releases tell what was closed; what is open follows from watermarks, or readings, which leave no other trace.
"""

from collections.abc import Collection as Sized
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from stream_app.deciding.rows import SeriesRow
from stream_app.formats import wire
from stream_app.formats.records import Observation, Watermark
from stream_app.privacy.collected.plain import after_watermark, first_open, opened
from stream_app.privacy.collected.steps import ALL_GIVEN_UP, OpenSteps
from stream_app.privacy.policy import Policy
from stream_app.privacy.state import NEVER

LOST: Final = "input-lost"
"""The reason of the reject that tells a loss: it is of the last deleted record; its header names the last decided."""


class Loss(NamedTuple):
    """Input that was deleted while steps were open, once that was accepted: whatever may have been open is given up.

    It is told on the rejects, so that it outlives the rows: whoever rebuilds them again gives up the same steps.
    """

    first: int
    """The first offset that was kept: a series whose policy is older may have had steps open."""
    line: int
    """Where the input went on; which steps are given up, and which are counted again, follows from there on."""


def more_lost(losses: Iterable[Loss], first: int, group: int, next_offset: int) -> Loss | None:
    """Return the input that is lost beyond the accepted ``losses``; None: nothing that an open step is counted from.

    The log begins at ``first``. No step that is open was opened before the group's offset ``group``.
    """
    covered = any(loss.first >= first for loss in losses)
    return None if group >= first or covered else Loss(first, next_offset)


class Past(NamedTuple):
    """What ledger and releases tell of a partition's series."""

    rows: Mapping[str, SeriesRow]
    adopted: Mapping[str, int]
    """Input offset of each series' policy, or of the one before it that its steps stay open from."""
    released: Mapping[str, int]
    """Input offset of each series' last release."""


class FoundSteps:
    """The open steps of a partition's series, as one record after the other moves them."""

    def __init__(self, past: Past, losses: Iterable[Loss], rejected: Sized[int]) -> None:
        """Begin before the first watermark; ``rejected`` holds the offsets of the records that were refused.

        Invariant: a step that a loss gave up is open to nobody's count ever again. What is given up comes before all
        that is counted, so a release behind the line of a loss says that all of what it gave up was passed.
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
        """Take up a record that was decided before, in order."""
        found = wire.decode(value)
        if not isinstance(found, Observation | Watermark) or offset in self._rejected:
            return
        row = self._rows.get(found.series)
        since = max(self._adopted.get(found.series, NEVER), self._lines.get(found.series, NEVER))
        if row is None or offset < since:
            return
        policy = row.policy
        before, index = self._opened(found.series), found.timestamp_ms // policy.step_ms
        if isinstance(found, Watermark):
            seedless = found.seed is None and policy.collect is not None  # it was rejected, also when no reject tells
            if not seedless and (before is None or index > before.first):
                self._open[found.series] = after_watermark(policy, before, index, offset)
        elif _read_open(policy) and before != ALL_GIVEN_UP and index >= first_open(policy, row.state, before):
            self._open[found.series] = opened(policy, row.state, before, index, offset)

    def rows(self) -> dict[str, SeriesRow]:
        """Return the rows of all series that may have open steps, with these."""
        return {series: row.replaced(open_steps=self._opened(series)) for series, row in self._rows.items()}

    def _opened(self, series: str) -> OpenSteps | None:
        return self._open.get(series, ALL_GIVEN_UP if series in self._lines else None)

    def given_up(self, line: int = 0) -> list[str]:
        """Return the series whose open steps a loss at ``line`` or later gave up, for all that is known."""
        return [series for series, found in self._lines.items() if found >= line]

    def begin(self, start: int) -> int:
        """Return the offset to read from, when no step that is counted was opened before ``start``."""
        return min([start, *self._lines.values()])

    @property
    def collects(self) -> bool:
        """Whether there is a series of which the input can tell."""
        return bool(self._rows)

    @property
    def steps(self) -> int:
        """How many steps are open, and counted or read."""
        return sum(len(found.begun) for found in self._open.values())

    def floor(self, next_offset: int) -> int:
        """Return the offset of the oldest record that opened a step still open; without any ``next_offset``."""
        kept = (offset for found in self._open.values() for offset in found.offsets if offset >= 0)
        return min(kept, default=next_offset)


def _opens(policy: Policy) -> bool:
    return policy.collect is not None or policy.within is not None


def _read_open(policy: Policy) -> bool:
    """Return whether a reading opens its step."""
    return policy.within is not None and not policy.within.gapless
