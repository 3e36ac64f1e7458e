"""The guard: refuses every spend that would break the guarantee. All of privacy is here; schemes are only utility.

A level is a pair (L, w): what is done together are the landmarks L and any w steps in a row, and over them spends sum
to at most E, the budget. `landmark` has L and w, `event` neither (w = 1), `w-event` w alone, `user` all steps as L.

S is the sum over landmarks so far, W the largest sum of regular spends over any w steps in a row, m the largest regular
spend. Regular is a step that is no landmark; with w = 1, W = m.

Invariant: ``S + W <= E``. Why it is the theorem: L and w steps in a row have spent S, and at most W besides.

* A landmark spends x: S grows by x, so x <= E - S - W is needed, and is enough.
* A regular step spends x: the window that ends with it sums to x and what the w - 1 steps before it, landmarks apart,
  have spent. W becomes the larger of both, so x <= E - S - that sum is needed, and with S + W <= E is enough.
* A step not yet decided becomes a landmark: nothing was spent on it, S and W stay.
* n decided steps become landmarks: S must grow by their spends, each at most m. They are regular no more, but W stays:
  another window may have it. So S + n*m + W <= E is needed.

At level w-event each event may also cost e1, a private dissimilarity: a window holds w events at most, so w*e1 is taken
off what may be spent, ``P = E - w*e1``, and counts in W from the first charged event on. Source: Kellaris,
Papadopoulos, Xiao, Papadias, Differentially private event sequences over infinite streams, VLDB 2014, theorem 3.

Steps of units: the release of a step that spends x loses at most x*a/w where a of its units differ, w the window in
units. Any w in a row have a's of w in all, so they lose at most M, the largest x. A unit that is a landmark before its
step is decided enters no release. n units of decided steps that become landmarks lose at most n*M/w, and S grows by it.

Versions: one with w > 1, and any after one, spends nothing while a window of its own holds its step and the last one
that was spent on before it, nor while a window of an earlier version holds its step and the last one that this earlier
version itself spent on. Steps of versions differ in length: this is counted in milliseconds. A window of a version does
not bind two later ones to each other: what is protected across many versions, the lifetime bounds.
Where one of two versions has units, equal ones in equal windows on one grid need not wait: what is protected together
is the same. Any other waits as long as a window of either, of units or steps, after the last step that was spent on.

Rule of this file: nothing in it reads a value, a rate or a clock, and no other file changes S, W, m or a window.
"""

from typing import NamedTuple

from stream_app.privacy.amounts import Flag, Whole, most, where
from stream_app.privacy.landmarks import LandmarkSet

Spend = tuple[int, int]
"""A step by its index, and what its release spent in nano-epsilon."""


class WindowLevel(NamedTuple):
    """Any ``steps`` steps in a row; with ``landmarks`` besides these.

    ``charge_nano`` is e1, what the private dissimilarity of each event costs, 0 without; ``sensitivity`` is D, how far
    it moves between neighbours, in cells; ``spendable_nano`` is P = E - w*e1.
    """

    steps: int
    spendable_nano: int
    charge_nano: int = 0
    sensitivity: int = 0
    landmarks: bool = False

    @property
    def name(self) -> str:
        """The level's name, as records have it."""
        return "landmark" if self.landmarks else "w-event"


class Window(NamedTuple):
    """What regular steps spent as far as a window reaches back, and what earlier periods left to wait for.

    Times are milliseconds, 0 where nothing was spent.
    """

    opens_ms: int = 0  # the period spends nothing before
    spent_end_ms: int = 0  # end of the last step that an earlier period spent on
    reach_ms: int = 0  # until here a window of an earlier period holds a step that it spent on
    spends: tuple[Spend, ...] = ()  # of the present period, in order; those that no window reaches are forgotten
    peak_nano: int = 0  # m, where steps may become landmarks
    last: Spend | None = None  # the last regular publication there, though it became a landmark since
    whole: bool = False  # whether this version or the one before it has units: then it waits for whole windows

    def spent_nano(self, level: WindowLevel, step: int) -> int:
        """Return what the window that ends with ``step`` has spent before it."""
        first = step - level.steps + 1
        return sum(spend_nano for at, spend_nano in self.spends if at >= first)

    @property
    def published(self) -> Spend | None:
        """Return the last regular step that was published, and its spend."""
        return self.last or (self.spends[-1] if self.spends else None)

    def closed(self, spent_end_ms: int, reach_ms: int) -> "Window":
        """Return what is left to know of a period whose last spend or charge was on the step that ends so.

        ``reach_ms`` is where the last of its windows that hold that step ends, 0 where windows are steps.
        """
        return Window(0, spent_end_ms, max(self.reach_ms, reach_ms))

    def opened(self, level: WindowLevel | None, step_ms: int) -> "Window":
        """Return the window of a new period, after what is known of the ones before it."""
        steps = 1 if level is None else level.steps
        # Its first window may begin where the last spend ended, so it spends in the last step of that.
        own_ms = self.spent_end_ms + (steps - 1) * step_ms if self.spent_end_ms else 0
        return Window(max(own_ms, self.reach_ms), self.spent_end_ms, self.reach_ms)

    def of_single_steps(self, source_ms: int) -> "Window":
        """Return the window of a stored version of single steps, whose last release is at ``source_ms`` (-1: none).

        Old rows of such a version, which did not wait, still hold when the version before it was to open. None of them
        knew units.
        """
        if self.whole:
            return self
        opens_ms = min(self.opens_ms, max(self.spent_end_ms, self.reach_ms))
        return self._replace(opens_ms=0 if 0 <= source_ms < opens_ms else opens_ms)


NO_WINDOW = Window()
"""Of a series that no version with windows of several steps, nor of level w-event, has ruled yet."""


class Guard(NamedTuple):
    """What a period may spend and has spent, in nano-epsilon: E, S, W and the window.

    Each method takes the policy's ``level``, None where windows are single steps.
    """

    budget_nano: int
    landmark_spent_nano: int = 0
    regular_peak_nano: int = 0
    window: Window = NO_WINDOW

    def offered(
        self, level: WindowLevel | None, step: int, start_ms: int, *, landmark: bool, spend_nano: int
    ) -> "tuple[Guard, int]":
        """Return the guard after ``step`` for which so much is proposed, and what is spent: all, or 0 where refused.

        Where windows are single steps, of many series alike: the figures are columns then.
        """
        if level is not None:
            guard = self.spend(level, step, start_ms, landmark=landmark, spend_nano=spend_nano) if spend_nano else None
            return (self.unspent(level, step, start_ms), 0) if guard is None else (guard, spend_nano)
        budget, spent, peak, window = self
        if window.opens_ms:  # columns have none
            spend_nano = where(start_ms >= window.opens_ms, spend_nano, 0)
        spend_nano = where(allowed(budget, spent, peak, spend_nano, landmark=landmark), spend_nano, 0)
        return Guard(budget, *paid(spent, peak, spend_nano, landmark=landmark), window), spend_nano

    def spend(
        self, level: WindowLevel | None, step: int, start_ms: int, *, landmark: bool, spend_nano: int
    ) -> "Guard | None":
        """Return the guard after ``step`` is published for ``spend_nano``, or None: refused, and nothing happened."""
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
        """Return the guard after the landmarks together cost so much more, or None: refused."""
        budget, spent, peak, window = self
        if not _takes_landmarks(level) or not allowed(budget, spent, peak, charge_nano, landmark=True):
            return None
        return Guard(budget, *paid(spent, peak, charge_nano, landmark=True), window)

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> "Guard | None":
        """Return the guard after ``steps`` decided regular ones, all in ``added``, became landmarks, or None: refused.

        ``steps`` counts those without an event, too: what they spent is nothing, but who lists them does not ask.
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
        """Return the guard after so many units of decided steps became landmarks, or None: refused.

        ``window`` of them in a row are protected together. ``units`` counts those without a reading, too.
        """
        budget, spent, peak, window_before = self
        charge_nano = -(-units * peak // window)
        if spent + charge_nano + peak > budget:
            return None
        return Guard(budget, spent + charge_nano, peak, window_before) if units else self

    def unspent(self, level: WindowLevel | None, step: int, start_ms: int) -> "Guard":
        """Return the guard after ``step`` was not published: what the charges of its window are stands in W."""
        if level is None or not level.charge_nano or start_ms < self.window.opens_ms:
            return self
        loss_nano = self.window.spent_nano(level, step) + level.steps * level.charge_nano
        return self._replace(regular_peak_nano=max(self.regular_peak_nano, loss_nano))

    def unwaiting(self) -> "Guard":
        """Return the guard of a period of single steps that did not wait: in old ledgers only those with windows do."""
        return self._replace(window=self.window._replace(opens_ms=0))

    @property
    def used_nano(self) -> int:
        """The loss of this period so far: ``S + W``, what a lifetime adds up."""
        return self.landmark_spent_nano + self.regular_peak_nano


def _takes_landmarks(level: WindowLevel | None) -> bool:
    """Return whether steps may become landmarks: at level w-event neither m nor room for charges is kept for them."""
    return level is None or level.landmarks


def allowed(budget: Whole, spent: Whole, peak: Whole, spend_nano: Whole, *, landmark: Flag) -> Flag:
    """Return whether a landmark, or a step where windows are single steps, may spend so much; sums are below 2^63."""
    return (spend_nano >= 0) & (spend_nano <= budget - spent - where(landmark, peak, 0))


def paid(spent: Whole, peak: Whole, spend_nano: Whole, *, landmark: Flag) -> tuple[Whole, Whole]:
    """Return S and W after it has spent what was allowed; a spend of 0 changes nothing."""
    own = where(landmark, spend_nano, 0)
    return spent + own, most(peak, spend_nano - own)
