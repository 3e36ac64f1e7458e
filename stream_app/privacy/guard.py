"""The guard: refuses every cost that would break the guarantee; schemes affect only utility.

All of the privacy accounting is here. A level is a pair (L, w): the landmarks L and any w consecutive steps are
protected together, and their costs sum to at most E, the budget. `landmark` has L and w, `event` neither (w = 1),
`w-event` only w, and `user` has all steps as L.

S is the sum of the costs of landmarks so far, W the largest sum of regular costs over any w consecutive steps, and m
the largest regular cost. A regular step is one that is not a landmark; with w = 1, W = m.

Invariant: ``S + W <= E``. It implies the theorem: L and any w consecutive steps together have spent at most S + W.

* A landmark spends x: S grows by x, so x <= E - S - W is necessary and sufficient.
* A regular step spends x: the window that ends with it sums to x plus the costs of the w - 1 steps before it, excluding
  landmarks. W becomes the larger of this sum and W. So x <= E - S - (the sum of those earlier costs) is necessary and,
  with S + W <= E, sufficient.
* A step not yet processed becomes a landmark: nothing was spent on it, so S and W do not change.
* n processed steps become landmarks: S must grow by their costs, each at most m. They are no longer regular, but W does
  not change, because another window may have the same sum. So S + n*m + W <= E is needed.

At level w-event each event may also cost e1, for a private dissimilarity. A window contains at most w events, so w*e1
is subtracted from what may be spent, ``P = E - w*e1``, and counts in W from the first charged event on. Source:
Kellaris, Papadopoulos, Xiao, Papadias, Differentially private event sequences over infinite streams, VLDB 2014, theorem
3.

Steps of units: the release of a step that spends x loses at most x*a/w if ``a`` of its units differ, where w is the
window in units. Any w consecutive units contain at most w differing units, so they lose at most M, the largest x. A
unit that becomes a landmark before its step is processed enters no release. If n units of processed steps become
landmarks, they lose at most n*M/w, and S grows by this amount.

Versions: a version with w > 1, and any version after one, spends nothing on a step while one of its own windows
contains that step and the last step that earlier versions spent on. It also spends nothing while a window of an earlier
version contains that step and the last step that this earlier version itself spent on. Versions can have steps of
different lengths, so this is counted in milliseconds. A window of a version does not bind two later versions to each
other: the lifetime bounds what is protected across many versions. If at least one of two versions has units, the later
version need not wait if both have equal units in equal windows on one grid, because the same things are jointly
protected. Otherwise, it waits for the longer of the two windows, in units or steps, after the last step on which budget
was spent.

Rule of this file: nothing in it reads a value, a rate or a clock, and no other file changes S, W, m or a window.
"""

from typing import NamedTuple

from stream_app.privacy.amounts import Flag, Whole, most, where
from stream_app.privacy.landmarks import LandmarkSet

Spend = tuple[int, int]
"""A step's index and the cost of its release, in nano-epsilon."""


class WindowLevel(NamedTuple):
    """Any ``steps`` consecutive steps and, with ``landmarks``, the landmarks as well.

    ``charge_nano`` is e1, the cost of each event's private dissimilarity, or 0 if there is none. ``sensitivity`` is D,
    the most by which neighbours' distances from a release differ, in cells. ``spendable_nano`` is P = E - w*e1.
    """

    steps: int
    spendable_nano: int
    charge_nano: int = 0
    sensitivity: int = 0
    landmarks: bool = False

    @property
    def name(self) -> str:
        """The name of the level in records."""
        return "landmark" if self.landmarks else "w-event"

    @property
    def exhaustible(self) -> bool:
        """Whether costs use up the budget permanently: those of level w-event leave the window again."""
        return False


class Window(NamedTuple):
    """The regular costs that are still in a window, and how long the period waits after earlier periods.

    Times are in milliseconds, 0 if nothing was spent.
    """

    opens_ms: int = 0  # nothing is spent before this
    spent_end_ms: int = 0  # end of the last step that an earlier period spent on
    reach_ms: int = 0  # end of the last earlier window over a step that its period spent on
    spends: tuple[Spend, ...] = ()  # of the current period, in order; only those that a window reaches
    peak_nano: int = 0  # m, if steps may become landmarks
    last: Spend | None = None  # the last regular publication, if m is kept; it may be a landmark by now
    whole: bool = False  # whether this or the previous version has units, and so waits for whole windows

    def spent_nano(self, level: WindowLevel, step: int) -> int:
        """Return the cost of the steps before ``step`` in the window that ends with ``step``."""
        first = step - level.steps + 1
        return sum(spend_nano for at, spend_nano in self.spends if at >= first)

    @property
    def published(self) -> Spend | None:
        """Return the last published regular step and its cost, or None if none was published."""
        return self.last or (self.spends[-1] if self.spends else None)

    def closed(self, spent_end_ms: int, reach_ms: int) -> "Window":
        """Return the window after its period closes, for later periods.

        ``spent_end_ms`` is the end of the period's last step with a cost or charge, and ``reach_ms`` is the end of the
        last window that contains that step, or 0 if windows are single steps.
        """
        return Window(0, spent_end_ms, max(self.reach_ms, reach_ms))

    def opened(self, level: WindowLevel | None, step_ms: int) -> "Window":
        """Return the window of a new period, which waits for the windows of earlier periods."""
        steps = 1 if level is None else level.steps
        # Its first window may begin where the last paid step ended, so the window's last step is the first that may
        # spend.
        own_ms = self.spent_end_ms + (steps - 1) * step_ms if self.spent_end_ms else 0
        return Window(max(own_ms, self.reach_ms), self.spent_end_ms, self.reach_ms)

    def of_single_steps(self, source_ms: int) -> "Window":
        """Return the window of a stored single-step version, corrected for old rows.

        The version's last release is at ``source_ms`` (-1 if there is none). Old rows of such versions, which did not
        wait, still contain the opening time of the previous version. None of them had units.
        """
        if self.whole:
            return self
        opens_ms = min(self.opens_ms, max(self.spent_end_ms, self.reach_ms))
        return self._replace(opens_ms=0 if 0 <= source_ms < opens_ms else opens_ms)


NO_WINDOW = Window()
"""The window of a series that never had level w-event or windows of several steps."""


class Guard(NamedTuple):
    """A period's budget and what the period has spent, in nano-epsilon: E, S, W and the window.

    Each method takes the policy's ``level``, which is None if windows are single steps.
    """

    budget_nano: int
    landmark_spent_nano: int = 0
    regular_peak_nano: int = 0
    window: Window = NO_WINDOW

    def offered(
        self, level: WindowLevel | None, step: int, start_ms: int, *, landmark: bool, spend_nano: int
    ) -> "tuple[Guard, int]":
        """Return the guard after ``step``, and the amount spent: all of ``spend_nano``, or 0 if the cost is refused.

        If windows are single steps, the figures may be columns of many series.
        """
        if level is not None:
            guard = self.spend(level, step, start_ms, landmark=landmark, spend_nano=spend_nano) if spend_nano else None
            return (self.unspent(level, step, start_ms), 0) if guard is None else (guard, spend_nano)
        budget, spent, peak, window = self
        if window.opens_ms:  # columns never wait
            spend_nano = where(start_ms >= window.opens_ms, spend_nano, 0)
        spend_nano = where(allowed(budget, spent, peak, spend_nano, landmark=landmark), spend_nano, 0)
        return Guard(budget, *paid(spent, peak, spend_nano, landmark=landmark), window), spend_nano

    def spend(
        self, level: WindowLevel | None, step: int, start_ms: int, *, landmark: bool, spend_nano: int
    ) -> "Guard | None":
        """Return the guard after publishing ``step`` at a cost of ``spend_nano``, or None if the cost is refused."""
        if level is None:
            guard, spent = self.offered(level, step, start_ms, landmark=landmark, spend_nano=spend_nano)
            return guard if spent == spend_nano and start_ms >= self.window.opens_ms else None
        budget, spent, peak, window = self
        if spend_nano < 0 or start_ms < window.opens_ms:
            return None
        if landmark:
            return self.charge(level, spend_nano)
        held_nano = window.spent_nano(level, step)
        if spend_nano > level.spendable_nano - spent - held_nano:
            return None
        first = step - level.steps + 1
        kept = tuple(spend for spend in window.spends if spend[0] >= first)
        after = window._replace(spends=(*kept, (step, spend_nano)))
        if level.landmarks:
            after = after._replace(peak_nano=max(window.peak_nano, spend_nano), last=(step, spend_nano))
        loss_nano = held_nano + spend_nano + level.steps * level.charge_nano
        return Guard(budget, spent, max(peak, loss_nano), after)

    def charge(self, level: WindowLevel | None, charge_nano: int) -> "Guard | None":
        """Return the guard after the landmarks together cost ``charge_nano`` more, or None if this is refused."""
        budget, spent, peak, window = self
        if not _takes_landmarks(level) or not allowed(budget, spent, peak, charge_nano, landmark=True):
            return None
        return Guard(budget, *paid(spent, peak, charge_nano, landmark=True), window)

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> "Guard | None":
        """Return the guard after ``steps`` processed regular steps became landmarks, or None if this is refused.

        All of these steps are in ``added``. ``steps`` also counts steps without an event: those spent nothing, but the
        list of landmarks does not show which steps they are.
        """
        if steps == 0:
            return self
        budget, spent, peak, window = self
        largest = peak if level is None else window.peak_nano
        if spent + steps * largest + peak > budget or not _takes_landmarks(level):
            return None
        kept = tuple(spend for spend in window.spends if spend[0] not in added)
        return Guard(budget, spent + steps * largest, peak, window._replace(spends=kept))

    def charge_units(self, window: int, units: int) -> "Guard | None":
        """Return the guard after ``units`` units of processed steps became landmarks, or None if this is refused.

        Any ``window`` consecutive units are jointly protected. ``units`` also counts units without a reading.
        """
        budget, spent, peak, window_before = self
        charge_nano = -(-units * peak // window)
        if spent + charge_nano + peak > budget:
            return None
        return Guard(budget, spent + charge_nano, peak, window_before) if units else self

    def unspent(self, level: WindowLevel | None, step: int, start_ms: int) -> "Guard":
        """Return the guard after ``step``, which was not published; W includes the charges of the step's window."""
        if level is None or not level.charge_nano or start_ms < self.window.opens_ms:
            return self
        loss_nano = self.window.spent_nano(level, step) + level.steps * level.charge_nano
        return self._replace(regular_peak_nano=max(self.regular_peak_nano, loss_nano))

    def unwaiting(self) -> "Guard":
        """Return the guard of a single-step period without waiting: in old ledgers, such periods do not wait."""
        return self._replace(window=self.window._replace(opens_ms=0))

    @property
    def used_nano(self) -> int:
        """The loss of this period so far, ``S + W``, which counts towards a lifetime."""
        return self.landmark_spent_nano + self.regular_peak_nano


def _takes_landmarks(level: WindowLevel | None) -> bool:
    """Return whether steps may become landmarks; level w-event keeps neither m nor budget for the charges."""
    return level is None or level.landmarks


def allowed(budget: Whole, spent: Whole, peak: Whole, spend_nano: Whole, *, landmark: Flag) -> Flag:
    """Return whether a landmark (or any step, if windows are single steps) may spend ``spend_nano``.

    Sums are below 2^63.
    """
    return (spend_nano >= 0) & (spend_nano <= budget - spent - where(landmark, peak, 0))


def paid(spent: Whole, peak: Whole, spend_nano: Whole, *, landmark: Flag) -> tuple[Whole, Whole]:
    """Return S and W after an allowed cost; a cost of 0 changes nothing."""
    own = where(landmark, spend_nano, 0)
    return spent + own, most(peak, spend_nano - own)
