"""The guard: refuses every spend that would break the guarantee. All of privacy is here; schemes are only utility.

With E the budget, S spent on landmarks, M the largest loss of one regular step, or at level w-event of one window.

Invariant: ``S + M <= E``. Why it is the theorem: for any step t, the sum over L u {t} is S (t a landmark) or S + its
spend <= S + M (t regular).

* A landmark spends x: S grows by x, so x <= E - S - M is needed, and is enough.
* A regular step spends x: M becomes max(M, x), so x <= E - S is needed, and with S + M <= E is enough.
* A step not yet decided becomes a landmark: nothing was spent on it, S and M stay.
* A decided step becomes a landmark: S must grow by its spend, of which only ``<= M`` is known, while M may belong to
  another step and stays. So S + 2*M <= E is needed. n steps at once: S + (n + 1)*M <= E, S grows by n*M.

Event level is L = {} (S stays 0); user level is L = every step (M stays 0).

Level w-event is event level over windows, and S stays 0: over any w steps in a row, spends and the charges of private
dissimilarities together are at most E. Why: a window holds at most w events, each charged e1, so the charges are at
most w*e1; the spends of the last w steps, the present one included, are at most ``P = E - w*e1``. Source: Kellaris,
Papadopoulos, Xiao, Papadias, Differentially private event sequences over infinite streams, VLDB 2014, theorem 3.

* Charges count whole from the first charged event on: what the next w - 1 events will cost is never spent.
* A version spends and charges nothing while a window could hold its step and one that an earlier version spent on: a
  window of its own length, or one of an earlier w-event version. Steps of versions differ in length, so this is
  counted in milliseconds.

Rule of this file: nothing in it reads a value, a rate or a clock, and no other file changes S or M or adds a spend to a
window.
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

    def lose(self, loss_nano: int) -> "Guard":
        """Return the guard after a window came to lose so much, which `Window` has found to be at most the budget."""
        return self._replace(regular_peak_nano=max(self.regular_peak_nano, loss_nano))

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


Spend = tuple[int, int]
"""A step by its index, and what its release spent in nano-epsilon."""


class WindowLevel(NamedTuple):
    """Any ``steps`` steps in a row (w-event).

    ``charge_nano`` is e1, what the private dissimilarity of each event costs, 0 without; ``sensitivity`` is D, how far
    it moves between neighbours, in cells; ``spendable_nano`` is P = E - w*e1.
    """

    steps: int
    spendable_nano: int
    charge_nano: int = 0
    sensitivity: int = 0


class Window(NamedTuple):
    """What was spent as far as a window reaches back; of another level, what the windows of later versions must know.

    Times are milliseconds, 0 where nothing was spent.
    """

    opens_ms: int = 0  # the period spends nothing before
    spent_end_ms: int = 0  # end of the last step that an earlier period spent on
    reach_ms: int = 0  # until here a window of an earlier w-event period holds a step that it spent on
    spends: tuple[Spend, ...] = ()  # of the present period, in order; those that no window reaches are forgotten

    def spent_nano(self, level: WindowLevel, step: int) -> int:
        """Return what the window that ends with ``step`` has spent before it."""
        first = step - level.steps + 1
        return sum(spend_nano for at, spend_nano in self.spends if at >= first)

    def spend(self, guard: Guard, level: WindowLevel, start_ms: int, step: int, spend_nano: int) -> Guard | None:
        """Return the guard after ``step`` is published for so much, or None: refused.

        The guard's regular peak is the largest loss of a window so far: w-event is event level over windows.
        """
        if (
            spend_nano < 0
            or start_ms < self.opens_ms
            or self.spent_nano(level, step) + spend_nano > level.spendable_nano
        ):
            return None
        loss_nano = self.spent_nano(level, step) + spend_nano + level.steps * level.charge_nano
        return guard.spend(landmark=False, spend_nano=loss_nano)

    def charge(self, guard: Guard, level: WindowLevel, start_ms: int, step: int) -> Guard:
        """Return the guard after ``step`` was not published: what the charges of its window are stands in the peak."""
        if start_ms < self.opens_ms:
            return guard
        loss_nano = self.spent_nano(level, step) + level.steps * level.charge_nano
        return guard.lose(loss_nano)

    def after(self, level: WindowLevel, step: int, spend_nano: int) -> "Window":
        """Return the window after a spend that `spend` allowed."""
        first = step - level.steps + 1
        kept = tuple(spend for spend in self.spends if spend[0] >= first)
        return self._replace(spends=(*kept, (step, spend_nano)))

    def closed(self, spent_end_ms: int, reach_ms: int) -> "Window":
        """Return what is left to know of a period whose last spend or charge was on the step that ends so.

        ``reach_ms`` is where the last of its windows that hold that step ends, 0 at another level than w-event.
        """
        return Window(0, spent_end_ms, max(self.reach_ms, reach_ms))

    def opened(self, level: WindowLevel, step_ms: int) -> "Window":
        """Return the window of a new period at level w-event, after what is known of the ones before it."""
        # Its first window may begin where the last spend ended, so it spends in the last step of that.
        own_ms = self.spent_end_ms + (level.steps - 1) * step_ms if self.spent_end_ms else 0
        return self._replace(opens_ms=max(own_ms, self.reach_ms), spends=())
