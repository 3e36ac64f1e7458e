"""Reopening: which steps of collected series are open, found again in the input when their rows were lost.

Ledger and releases tell what was closed; what is open follows from the watermarks, which leave no other trace.
"""

from collections.abc import Collection as Sized
from collections.abc import Mapping

from stream_app import wire
from stream_app.privacy.contribution import Watermark
from stream_app.privacy.open_steps import ALL_GIVEN_UP, OpenSteps, shifted
from stream_app.privacy.state import NEVER
from stream_app.rows import SeriesRow


class Reopening:
    """The open steps of a partition's collected series, as one watermark after the other moves them."""

    def __init__(
        self, rows: Mapping[str, SeriesRow], adopted: Mapping[str, int], start: int, first: int, rejected: Sized[int]
    ) -> None:
        """Take the rows that ledger and releases gave, and ``adopted``, the input offsets of their policies.

        Nothing that is open can have been opened before ``start``, the group's offset; the log begins at ``first``;
        ``rejected`` holds the offsets of the records that were refused.
        """
        self._rows = {
            series: row for series, row in rows.items() if row.policy.collect is not None and not row.state.closed
        }
        self._adopted, self._rejected = adopted, rejected
        self._open: dict[str, OpenSteps] = {}
        self.lost = {series for series in self._rows if start < first and adopted.get(series, NEVER) < first}
        """Series of whose open steps input may be deleted: nobody can count them again, so all are given up."""

    def take(self, offset: int, value: bytes | None) -> None:
        """Take up a record that was decided before, in order."""
        found = wire.decode(value)
        if not isinstance(found, Watermark) or offset in self._rejected:
            return
        row = self._rows.get(found.series)
        if row is None or found.series in self.lost or offset < self._adopted.get(found.series, NEVER):
            return
        policy = row.policy
        before = self._open.get(found.series)
        self._open[found.series] = shifted(policy, before, found.timestamp_ms // policy.step_ms, offset)

    def rows(self) -> dict[str, SeriesRow]:
        """Return the rows of all collected series, with their open steps."""
        return {
            series: row.replaced(open_steps=ALL_GIVEN_UP if series in self.lost else self._open.get(series))
            for series, row in self._rows.items()
        }

    @property
    def collects(self) -> bool:
        """Whether there is a series of which the input can tell."""
        return len(self._rows) > len(self.lost)

    @property
    def steps(self) -> int:
        """How many steps are open."""
        return sum(len(opened.offsets) for opened in self._open.values())

    def floor(self, next_offset: int) -> int:
        """Return the offset of the oldest watermark that opened a step still open; without any ``next_offset``."""
        return min((opened.offsets[0] for opened in self._open.values() if opened.offsets), default=next_offset)
