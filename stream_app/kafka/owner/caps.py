"""How many members of a partition have which share of their cap left: exact, kept batch by batch."""

from collections import Counter
from collections.abc import Iterable

from stream_app.deciding.members import Claims, Member
from stream_app.monitoring.metrics import CLASSES, Metrics, WorkerMetric, class_of


class CapCounts:
    """Members with a cap, counted in classes of the share of it that no series has claimed."""

    def __init__(self) -> None:
        self.left: Counter[str] = Counter()
        """By class."""

    def take(self, members: Iterable[Member]) -> None:
        """Count anew, from all members of the partition."""
        self.left.clear()
        self.move((None, member) for member in members)

    def move(self, claims: Iterable[Claims]) -> None:
        """Add what a batch changed: each of its members before and after it."""
        # PRIVACY: claims and caps follow from policies and public facts, and stand in the ledger; no member is named.
        for before, after in claims:
            for member, sign in ((before, -1), (after, 1)):
                if member is not None and member.cap_nano is not None:
                    cap_nano = member.cap_nano or 1  # nothing is claimed of a cap of zero
                    self.left[class_of((cap_nano - member.claimed_nano) / cap_nano)] += sign

    def show(self, metrics: Metrics, partition: str) -> None:
        """Show the counts, as soon as there was any member with a cap."""
        for share in self.left:
            metrics.set(WorkerMetric.CAP_LEFT_MEMBERS, self.left[share], partition, share)

    @staticmethod
    def withdraw(metrics: Metrics, partition: str) -> None:
        """Show them no more."""
        for share in CLASSES:
            metrics.drop(WorkerMetric.CAP_LEFT_MEMBERS, partition, share)
