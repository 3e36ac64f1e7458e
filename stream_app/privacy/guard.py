"""The guard: refuses every spend that would break the guarantee. All of privacy is here; schemes are only utility.

Invariant: ``S + M <= E``, S spent on landmarks, M the largest spend of one regular step, E the budget.
Why it is the theorem: for any step t, the sum over L u {t} is S (t a landmark) or S + its spend <= S + M (t regular).

* A landmark spends x: S grows by x, so x <= E - S - M is needed, and is enough.
* A regular step spends x: M becomes max(M, x), so x <= E - S is needed, and with S + M <= E is enough.
* A step not yet decided becomes a landmark: nothing was spent on it, S and M stay.
* A decided step becomes a landmark: S must grow by its spend, of which only ``<= M`` is known, while M may belong to
  another step and stays. So S + 2*M <= E is needed. n steps at once: S + (n + 1)*M <= E, S grows by n*M.

Event level is L = {} (S stays 0); user level is L = every step (M stays 0). Rule of this file: nothing in it reads a
value, a rate or a clock, and no other file changes S or M.
"""

from typing import NamedTuple


class Guard(NamedTuple):
    """What a period may spend and has spent, in nano-epsilon."""

    budget_nano: int
    landmark_spent_nano: int = 0
    regular_peak_nano: int = 0

    def spend(self, *, landmark: bool, spend_nano: int) -> "Guard | None":
        """Return the guard after a release of ``spend_nano``, or None: refused, and nothing happened."""
        budget, spent, peak = self
        if spend_nano < 0:
            return None
        if landmark:
            if spend_nano > budget - spent - peak:
                return None
            return Guard(budget, spent + spend_nano, peak)
        if spend_nano > budget - spent:
            return None
        return Guard(budget, spent, max(peak, spend_nano))

    def charge_passed(self, steps: int) -> "Guard | None":
        """Return the guard after ``steps`` decided regular steps became landmarks, or None: refused."""
        budget, spent, peak = self
        if steps == 0:
            return self
        if spent + (steps + 1) * peak > budget:
            return None
        return Guard(budget, spent + steps * peak, peak)

    @property
    def used_nano(self) -> int:
        """The loss of this period so far: ``S + M``, what a lifetime adds up."""
        return self.landmark_spent_nano + self.regular_peak_nano
