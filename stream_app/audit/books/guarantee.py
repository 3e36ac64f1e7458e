"""The guarantee of one series, from its spends alone: no figure of the ledger enters here.

Within a period, for every step t the spends on the landmarks and t together are at most epsilon. Over all periods,
their totals are at most the series' claim, where its first entry says one, and at most the lifetime bound. A step that
becomes a landmark after it was decided is counted at the largest spend of any regular step so far, which is at least
its own and needs no memory of every step. So the sums are upper bounds, equal to the exact ones where no landmark was
registered late: where they stay within a bound, the exact ones do.

Where any w steps in a row are protected together, the spends on the landmarks, those on the other steps of any window,
and w times what a private dissimilarity costs are at most epsilon together, and no window holds spends of two versions.
The peak is the largest loss of a window.
"""

from dataclasses import dataclass
from typing import NamedTuple

from stream_app.words.amount import amount


@dataclass(slots=True)
class Guarantee:
    """The loss of one series so far. It is changed in place, because a million series are followed at once."""

    budget_nano: int = 0  # of the present period
    landmark_nano: int = 0  # spent on landmarks of the present period
    peak_nano: int = 0  # largest spend on one other step, or loss of one window, of the present period
    single_nano: int = 0  # largest spend on one other step
    closed_nano: int = 0  # loss of all earlier periods
    first_budget_nano: int | None = None
    claim_nano: int | None = None  # as the first policy entry says it
    broken: bool = False  # the present period's bound was exceeded, and that was reported

    @property
    def period_nano(self) -> int:
        """The loss of the present period: landmarks and the worst other step."""
        return self.landmark_nano + self.peak_nano

    @property
    def total_nano(self) -> int:
        """The loss over all periods."""
        return self.closed_nano + self.period_nano

    @property
    def promised_nano(self) -> int:
        """What the series may lose in all under its present policy: the lifetime that it needs."""
        return self.closed_nano + self.budget_nano

    def spend(self, epsilon_nano: int, *, landmark: bool) -> str:
        """Count a release; return the sentence of a broken theorem, or ""."""
        if landmark:
            self.landmark_nano += epsilon_nano
        elif epsilon_nano > self.peak_nano:
            self.peak_nano = self.single_nano = epsilon_nano
        return self._theorem()

    def lose(self, window_nano: int, epsilon_nano: int) -> str:
        """Count a regular release with the window that ends with it; return the sentence of a broken theorem, or ""."""
        self.peak_nano = max(self.peak_nano, window_nano)
        self.single_nano = max(self.single_nano, epsilon_nano)
        return self._theorem("a window")

    def hasten(self, opens_ms: int) -> str:
        """Count a release that spends before `opens_ms`; return the sentence of a broken theorem, or ""."""
        if self.broken:
            return ""
        self.broken = True
        return f"spends before {opens_ms}: until then, windows contain steps on which an earlier version spent"

    def register(self, passed: int, window: int = 1) -> str:
        """Count `passed` decided steps as landmarks from now on; return the sentence of a broken theorem, or "".

        Of units, `window` of which lose together what their step spent, it counts what so many lose, rounded up.
        """
        self.landmark_nano += -(-passed * self.single_nano // window)
        return self._theorem()

    def begin(self, budget_nano: int, lifetime_nano: int | None) -> str:
        """Begin a period; return the sentence of a broken lifetime bound, or "".

        The series' claim and the lifetime bound both hold; without either, the first policy's epsilon is the bound, so
        that later versions share what is left.
        """
        first_nano = self._close(budget_nano)
        self.budget_nano, self.broken = budget_nano, False
        known = self._bounds(lifetime_nano) or {"the first policy's epsilon": first_nano}
        whose, bound = min(known.items(), key=lambda each: each[1])
        if self.promised_nano <= bound:
            return ""
        parts = f"earlier periods lost {amount(self.closed_nano)}, and this period may lose {amount(budget_nano)}"
        return f"{parts}: {amount(self.promised_nano)} in total, more than {whose} of {amount(bound)}"

    def begin_unknown(self, budget_nano: int) -> None:
        """Begin a period of a promise that is not known: what it spends counts over all periods, and breaks none."""
        self._close(budget_nano)
        self.budget_nano, self.broken = 0, True

    def _close(self, budget_nano: int) -> int:
        """End the present period; return the first one's budget, which is that of the next where none came before."""
        self.closed_nano += self.period_nano
        self.landmark_nano = self.peak_nano = self.single_nano = 0
        self.first_budget_nano = budget_nano if self.first_budget_nano is None else self.first_budget_nano
        return self.first_budget_nano

    def has_room(self, lifetime_nano: int | None) -> bool:
        """Tell whether it is known that the present version could begin again with its whole budget."""
        known = self._bounds(lifetime_nano).values()
        return bool(known) and self.total_nano + self.budget_nano <= min(known)

    def _bounds(self, lifetime_nano: int | None) -> dict[str, int]:
        bounds = {"the series' claim": self.claim_nano, "the lifetime": lifetime_nano}
        return {whose: nano for whose, nano in bounds.items() if nano is not None}

    def _theorem(self, other: str = "another step") -> str:
        if self.period_nano <= self.budget_nano or self.broken:
            return ""
        self.broken = True
        parts = f"landmarks spent {amount(self.landmark_nano)} and {other} {amount(self.peak_nano)}"
        return f"{parts}: more than the epsilon of {amount(self.budget_nano)}"


class SeriesLoss(NamedTuple):
    """What one series lost when the ledger ends, from its spends alone, in nano-epsilon."""

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
