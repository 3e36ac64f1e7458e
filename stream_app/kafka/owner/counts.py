"""Counts that each batch moves: people by their limits, and series by their backward losses."""

from collections import Counter
from collections.abc import Iterable

from stream_app.deciding.members import Claims, Member
from stream_app.deciding.rows import stored_loss
from stream_app.monitoring.metrics import CLASSES, Metrics, WorkerMetric, class_of
from stream_app.setup.settings import Settings


class CapCounts:
    """The number of people with a limit, by class of the unreserved share of that limit."""

    def __init__(self) -> None:
        self.left: Counter[str] = Counter()  # by class

    def take(self, members: Iterable[Member]) -> None:
        """Start over, and count all persons of the partition."""
        self.left.clear()
        self.move((None, member) for member in members)

    def move(self, claims: Iterable[Claims]) -> None:
        """Apply the changes of a batch, given the rows of its persons before and after the batch."""
        # PRIVACY: reserved amounts and limits depend on policies and public facts, and are in the ledger; no person is
        # named.
        for before, after in claims:
            for member, sign in ((before, -1), (after, 1)):
                if member is not None and member.cap_nano is not None:
                    cap_nano = member.cap_nano or 1  # a limit of zero has no reservations
                    self.left[class_of((cap_nano - member.claimed_nano) / cap_nano)] += sign

    def show(self, metrics: Metrics, partition: str) -> None:
        """Show the counts once any person has had a limit."""
        for share in self.left:
            metrics.set(WorkerMetric.CAP_LEFT_MEMBERS, self.left[share], partition, share)

    @staticmethod
    def withdraw(metrics: Metrics, partition: str) -> None:
        """Remove the counts."""
        for share in CLASSES:
            metrics.drop(WorkerMetric.CAP_LEFT_MEMBERS, partition, share)


class LossCounts:
    """Exact counts, updated per batch, of a partition's series with a backward loss and with an alarming loss."""

    def __init__(self, settings: Settings) -> None:
        self.alarm = settings.correlation_alarm
        self.wanted = bool(settings.correlations)
        """Whether losses are counted, which takes a configured correlation."""
        self.correlated = 0
        self.alarmed = 0

    def take(self, stored: Iterable[bytes]) -> None:
        """Start over, and count the stored rows of all series."""
        self.correlated = self.alarmed = 0
        self.move((None, stored_loss(row)) for row in stored)

    def move(self, losses: Iterable[tuple[float | None, float | None]]) -> None:
        """Apply a batch's changes, given the loss (or None) of each of its series before and after the batch."""
        for before, after in losses:
            self.correlated += (after is not None) - (before is not None)
            self.alarmed += self._alarming(after) - self._alarming(before)

    def _alarming(self, loss: float | None) -> bool:
        return self.alarm is not None and loss is not None and loss >= self.alarm
