"""How many series of a partition have a backward loss, and how many an alarming one: exact, kept batch by batch."""

from collections.abc import Iterable

from stream_app.deciding import rows
from stream_app.setup.settings import Settings


class Census:
    """The counts of one partition; without a configured correlation nothing is counted."""

    def __init__(self, settings: Settings) -> None:
        """Begin with none."""
        self.alarm = settings.correlation_alarm
        self.counts = bool(settings.correlations)
        self.correlated = 0
        self.alarmed = 0

    def take(self, stored: Iterable[bytes]) -> None:
        """Count anew, from the stored rows of all series."""
        self.correlated = self.alarmed = 0
        self.move((None, rows.stored_loss(row)) for row in stored)

    def move(self, losses: Iterable[tuple[float | None, float | None]]) -> None:
        """Take up what a batch changed: the losses of series before and after it."""
        for before, after in losses:
            self.correlated += (after is not None) - (before is not None)
            self.alarmed += self._alarming(after) - self._alarming(before)

    def _alarming(self, loss: float | None) -> bool:
        return self.alarm is not None and loss is not None and loss >= self.alarm
