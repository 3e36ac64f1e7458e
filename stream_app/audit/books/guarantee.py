"""The guarantee of one series, computed only from its spends, without any figure that the ledger states.

Within a period, for every step t, the spends on the landmarks and on t add up to at most epsilon. Over all periods,
their totals are at most the series' reservation, if its first entry states one, and at most the lifetime bound. For a
step that becomes a landmark after it was processed, the largest spend of any regular step so far is counted. This is at
least the step's own spend, so there is no need to remember every step. The sums are therefore upper bounds: if they
stay within a bound, so do the exact sums. They equal the exact sums if no landmark was registered late.

If any w consecutive steps are protected together, three parts add up to at most epsilon: the spends on the landmarks,
those on the other steps of any window, and w times the cost of a private dissimilarity. No window contains spends of
two versions. The peak is the largest loss of a window.
"""

from dataclasses import dataclass
from typing import NamedTuple

from stream_app.words.amount import amount


@dataclass(slots=True)
class Guarantee:
    """The loss of one series so far, updated in place because an audit follows a million series at once."""

    budget_nano: int = 0  # of the current period
    landmark_nano: int = 0  # spent on landmarks of the current period
    peak_nano: int = 0  # largest spend on another step, or loss of a window, in the current period
    single_nano: int = 0  # largest spend on another step
    closed_nano: int = 0  # loss of all earlier periods
    first_budget_nano: int | None = None
    claim_nano: int | None = None  # from the first policy entry
    broken: bool = False  # whether a violation in the current period was reported

    @property
    def period_nano(self) -> int:
        """The loss of the current period: landmarks and the worst other step."""
        return self.landmark_nano + self.peak_nano

    @property
    def total_nano(self) -> int:
        """The loss over all periods."""
        return self.closed_nano + self.period_nano

    @property
    def promised_nano(self) -> int:
        """The most that the series may lose under its current policy: the lifetime budget it needs."""
        return self.closed_nano + self.budget_nano

    def spend(self, epsilon_nano: int, *, landmark: bool) -> str:
        """Count a release; return a sentence if it violates the guarantee, otherwise ""."""
        if landmark:
            self.landmark_nano += epsilon_nano
        elif epsilon_nano > self.peak_nano:
            self.peak_nano = self.single_nano = epsilon_nano
        return self._theorem()

    def lose(self, window_nano: int, epsilon_nano: int) -> str:
        """Count a regular release and the window it ends; return a sentence on a violation, otherwise ""."""
        self.peak_nano = max(self.peak_nano, window_nano)
        self.single_nano = max(self.single_nano, epsilon_nano)
        return self._theorem("a window")

    def hasten(self, opens_ms: int) -> str:
        """Return a sentence on a release that spends before `opens_ms`, or "" if a violation was already reported."""
        if self.broken:
            return ""
        self.broken = True
        return f"spends before {opens_ms}: until then, windows contain steps on which an earlier version spent"

    def register(self, passed: int, window: int = 1) -> str:
        """Count `passed` processed steps as landmarks from now on; return a sentence on a violation, otherwise "".

        If landmarks are units, `window` of them together lose what their step spent; the result is rounded up.
        """
        self.landmark_nano += -(-passed * self.single_nano // window)
        return self._theorem()

    def begin(self, budget_nano: int, lifetime_nano: int | None) -> str:
        """Begin a period; return a sentence if it violates a bound over all periods, otherwise "".

        The series' reservation and the lifetime bound both apply. Without either, the first policy's epsilon is the
        bound, so later versions share the rest of that epsilon.
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
        """Begin a period with an unknown guarantee: its spends count in the sum of all periods but violate nothing."""
        self._close(budget_nano)
        self.budget_nano, self.broken = 0, True

    def _close(self, budget_nano: int) -> int:
        """End the current period; return the first period's budget, or `budget_nano` if there was none."""
        self.closed_nano += self.period_nano
        self.landmark_nano = self.peak_nano = self.single_nano = 0
        self.first_budget_nano = budget_nano if self.first_budget_nano is None else self.first_budget_nano
        return self.first_budget_nano

    def has_room(self, lifetime_nano: int | None) -> bool:
        """Return whether the known bounds allow the current version to begin again with its whole budget."""
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
    """The loss of one series at the end of the ledger, computed only from its spends, in nano-epsilon."""

    series: str
    budget_nano: int  # of the current period
    landmark_nano: int  # spent on landmarks of the current period
    peak_nano: int  # largest spend on another step of the current period
    closed_nano: int  # lost in all earlier periods

    @property
    def total_nano(self) -> int:
        """The loss over all periods."""
        return self.closed_nano + self.landmark_nano + self.peak_nano

    @property
    def left_nano(self) -> int:
        """The epsilon still available in the current period, or 0 if the period is overspent."""
        return max(0, self.budget_nano - self.landmark_nano - self.peak_nano)

    @property
    def share_left(self) -> float:
        """The unused part of the current budget, from 0 to 1."""
        return self.left_nano / self.budget_nano if self.budget_nano > 0 else 0.0
