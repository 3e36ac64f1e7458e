"""Where a series stands when the ledger ends: what it lost, and what its present policy leaves it."""

from typing import NamedTuple


class Standing(NamedTuple):
    """The loss of one series, from its spends alone, in nano-epsilon."""

    series: str
    budget_nano: int  # of the present period
    landmark_nano: int  # spent on landmarks of the present period
    peak_nano: int  # largest spend on one other step of the present period
    closed_nano: int  # lost in all earlier periods

    @property
    def total_nano(self) -> int:
        """The loss over all periods."""
        return self.closed_nano + self.landmark_nano + self.peak_nano

    @property
    def left_nano(self) -> int:
        """What the present period may still lose; 0 where it lost too much."""
        return max(0, self.budget_nano - self.landmark_nano - self.peak_nano)

    @property
    def share_left(self) -> float:
        """The part of the present budget that is left, 0 to 1."""
        return self.left_nano / self.budget_nano if self.budget_nano > 0 else 0.0
