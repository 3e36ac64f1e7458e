"""The books of one period: the figures that its entries state, each checked against the correct figure.

After a difference, the books adopt the entry's figure, so that one fault gives one finding instead of one for every
later entry. The guarantee itself is checked only from the spends (guarantee.py) and never adopts anything.
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

from stream_app.audit.books.landmarks import (
    FOREVER,
    MOST_INTERVALS,
    NO_LANDMARKS,
    NOWHERE,
    ORDINARY,
    Interval,
    LandmarkSet,
    Stretch,
)
from stream_app.audit.books.terms import Terms
from stream_app.audit.books.window import Window
from stream_app.audit.books.written import Figures
from stream_app.audit.finding import Code, Finding
from stream_app.audit.form.entry import (
    APPROXIMATED,
    MAX_TIMESTAMP,
    PERTURBED,
    WITHHELD,
    DummiesEntry,
    Entry,
    LandmarksEntry,
    ReleaseEntry,
    finding_of,
)

Findings = list[Finding]
PADDING: Final = "padding"  # method of drawing dummies for free
MOST_STEPS: Final = {"optimal": 16, "heuristic": 16_384, "partitioned": 16_384, PADDING: 65_536}
"""Maximum number of steps in a draw's range, by method."""


@dataclass(slots=True)
class Books:
    """The running figures of a period, updated in place because an audit follows a million series at once."""

    terms: Terms
    landmarks: LandmarkSet
    spare: int  # unused
    floor_ms: int  # start of the period, ms: everything before belongs to earlier ones
    end_ms: int  # end of the last processed step, ms: nothing before it may be processed again
    spent_nano: int = 0
    peak_nano: int = 0
    first_step: int | None = None  # number of first processed step
    last_step: int | None = None  # number of last processed step
    source_ms: int | None = None  # last perturbed step
    tosses: bool = False  # whether the scheme may approximate despite a share; never before its second release
    sure: bool = True  # False after missing or unknown entries, until figures agree again
    carried: LandmarkSet = NO_LANDMARKS  # previous version's future ones, in steps of this
    fixed: bool = False  # landmarks include dummies: an added one would be known to be true
    stretch: Stretch = NOWHERE  # the stretch that contains the latest step
    window: Window | None = None  # if consecutive steps are protected together
    opens_ms: int = 0  # no spend before this: windows contain steps that an earlier version spent on
    waited: bool = False  # whether it skipped a release that had a share
    figures: Figures | None = None  # the figures before the next entry; used only by the fast path (fastpath.py)
    until_ms: int = MAX_TIMESTAMP  # last start of a step before the next renewal bound

    def look(self, step: int) -> Stretch:
        """Return the stretch that contains `step`, and remember it; the stretch's `base` includes the unused spare."""
        terms = self.terms
        if terms.units is not None:  # steps omit landmarks, so no step is one
            self.stretch = Stretch(0, FOREVER, landmark=False, base=self.spare)
        elif terms.level == "landmark":
            found = self.landmarks.stretch(step)
            self.stretch = Stretch(found.start, found.end, found.landmark, found.base + self.spare)
        elif terms.level == "user":
            if self.first_step is None:
                return Stretch(step, step + 1, landmark=True, base=step + terms.length)
            self.stretch = Stretch(0, FOREVER, landmark=True, base=self.first_step + terms.length)
        else:
            self.stretch = ORDINARY
        return self.stretch

    def standing(self, step: int) -> tuple[bool, int]:
        """Return whether `step` is a landmark, and R: the number of landmarks from `step` on plus the unused spare."""
        stretch = self.look(step)
        return stretch.landmark, stretch.left(step)

    def due(self, step: int, left: int, *, landmark: bool) -> int:
        """Return the scheme's proposal at `step`; `left` and `landmark` come from `standing`."""
        if self.waits(step):
            return 0
        due = self.terms.share(self.spent_nano, self.peak_nano, left, landmark)
        if self.window is not None and not landmark:
            first = step if self.first_step is None else self.first_step
            due = self.window.due(self.terms.scheme, first, step, due - self.window.frame.held_nano)
        return due if due >= self.terms.least_nano else 0

    def bound(self, start_ms: int) -> int | None:
        """Return a renewal bound after the last processed step and at or before `start_ms`, or None if there is none.

        Bounds are checked between two processed steps of the version; `until_ms` is updated.
        """
        renew = self.terms.renew
        passed = bisect_right(renew, start_ms)
        self.until_ms = renew[passed] - 1 if passed < len(renew) else MAX_TIMESTAMP
        if self.last_step is None or not passed or renew[passed - 1] <= self.terms.steps.start(self.last_step):
            return None
        return renew[passed - 1]

    def waits(self, step: int) -> bool:
        """Return whether the version may not yet spend at `step`."""
        return self.terms.steps.start(step) < self.opens_ms

    def loss(self, step: int, spend: int) -> int:
        """Return the loss of a regular step together with the earlier steps in its window."""
        if self.window is None or (not spend and self.waits(step)):
            return spend
        return self.window.loss(step, spend)

    def join(self, added: list[Interval]) -> int:
        """Turn steps or units [start, end) into landmarks; return how many of them come before the next step."""
        joined = self.landmarks.joined(added)
        passed = joined.count_before(self.next_mark) - self.landmarks.count_before(self.next_mark)
        coming = joined.total - self.landmarks.total - passed
        self.landmarks = joined
        self.spare = max(0, self.spare - (coming if self.terms.units is None else passed))
        self.stretch = NOWHERE
        if self.window is not None:
            self.window.leave_out(joined)
        return passed

    @property
    def next_step(self) -> int:
        """The number of the step after the last processed one, or 0 before the first step."""
        return 0 if self.last_step is None else self.last_step + 1

    @property
    def next_mark(self) -> int:
        """The number of the step or unit after the last processed step; before the first step, none has passed."""
        units = self.terms.units
        if units is None:
            return self.next_step
        return -FOREVER if self.last_step is None else (self.last_step + 1) * units.per_step


def account_release(books: Books, entry: ReleaseEntry) -> tuple[bool, Findings]:
    """Check a release entry and apply it to the books; return whether its step is a landmark, and the findings."""
    terms = books.terms
    findings: Findings = []
    step = terms.steps.number(entry.timestamp)
    if step < 0 or terms.steps.start(step) != entry.timestamp:
        note(findings, "step-alignment", entry, f"{entry.timestamp} is not the start of a step of {terms.step_ms} ms")
    if entry.timestamp < books.end_ms:
        note(
            findings, "step-order", entry, f"step {entry.timestamp} begins before the last step ends at {books.end_ms}"
        )
    if terms.units is not None and not terms.units.counted(entry.timestamp, books.landmarks):
        note(findings, "decision", entry, f"processes step {entry.timestamp}, in which every unit is a landmark")
    landmark, left = books.standing(step)
    if entry.landmark is not landmark:
        note(findings, "landmark-flag", entry, f"step {entry.timestamp} is {'a' if landmark else 'not a'} landmark")
    left_after = left - landmark if left > 0 else 0
    agree(findings, "budget", entry, budget_nano=terms.budget_nano)
    window = books.window
    if books.sure:
        _decision(findings, books, entry, books.due(step, left, landmark=landmark))
        spent = books.spent_nano + entry.epsilon_nano if landmark else books.spent_nano
        peak = books.peak_nano if landmark else max(books.peak_nano, books.loss(step, entry.epsilon_nano))
        _figures(findings, entry, spent, peak, left_after)
    else:
        books.sure = entry.landmarks_left == left_after and (window is None or window.settled(step))
        books.tosses = terms.tosses
    if not entry.epsilon_nano and books.waits(step) and terms.share(books.spent_nano, books.peak_nano, left, landmark):
        books.waited = True
    _pass(books, entry, step, landmark=landmark)
    return landmark, findings


def _pass(books: Books, entry: ReleaseEntry, step: int, *, landmark: bool) -> None:
    terms = books.terms
    if books.window is not None:
        books.window.pass_by(step, entry.epsilon_nano, landmark=landmark, waits=books.waits(step))
    books.spent_nano, books.peak_nano = entry.landmark_spent_nano, entry.regular_peak_nano
    if books.first_step is None:
        books.first_step = step
    if books.last_step is None or step > books.last_step:
        books.last_step = step
        books.end_ms = terms.steps.start(step + 1)
    if entry.epsilon_nano:
        if books.source_ms is not None or terms.compares:
            books.tosses = terms.tosses
        books.source_ms = entry.timestamp


def account_landmarks(books: Books, entry: LandmarksEntry, added: list[Interval]) -> tuple[int, Findings]:
    """Check and apply a registration of steps; return how many were already processed, and the findings."""
    terms = books.terms
    findings: Findings = []
    if terms.level != "landmark":
        note(findings, "refused-landmark", entry, f"level {terms.level} does not allow landmarks")
        return 0, findings
    if books.fixed:
        note(findings, "refused-landmark", entry, "registers landmarks, although dummies hide the policy's landmarks")
    if books.landmarks.count_joined(added) > MOST_INTERVALS:
        note(findings, "refused-landmark", entry, f"results in more than {MOST_INTERVALS} intervals of landmarks")
        books.sure = False
        return 0, findings
    if any(terms.marks.start(end - 1) > MAX_TIMESTAMP for _, end in added):
        note(findings, "refused-landmark", entry, "extends past the year 9999")
    if any(terms.marks.start(start) < books.floor_ms for start, _ in added):
        note(findings, "refused-landmark", entry, f"extends back before {books.floor_ms}, the start of this period")
    passed = books.join(added)
    if books.sure:
        charge, what = _charge(books, entry, passed), "steps" if terms.units is None else "units"
        if passed and books.spent_nano + charge + books.peak_nano > terms.budget_nano:
            message = f"{passed} processed {what}, charged {charge} in total, no longer fit within {terms.budget_nano}"
            note(findings, "refused-landmark", entry, message)
        agree(findings, "charge", entry, f" for {passed} processed {what}", charged_nano=charge)
        agree(findings, "budget", entry, budget_nano=terms.budget_nano)
        _figures(findings, entry, books.spent_nano + charge, books.peak_nano, books.standing(books.next_step)[1])
    books.spent_nano, books.peak_nano = entry.landmark_spent_nano, entry.regular_peak_nano
    return passed, findings


def _charge(books: Books, entry: LandmarksEntry, passed: int) -> int:
    """Return the cost of processed steps that become landmarks: for each, the largest regular spend.

    If missing entries hide that spend in a version with windows, the spend is inferred from the charge if possible.
    """
    window, units = books.window, books.terms.units
    if units is not None:
        return units.late(passed, books.peak_nano)
    if window is None:
        return passed * books.peak_nano
    if window.hidden and passed:
        each, rest = divmod(entry.charged_nano, passed)
        if not rest and window.largest_nano <= each <= books.peak_nano:
            window.largest_nano, window.hidden = each, False
    return passed * window.largest_nano


def account_dummies(books: Books, entry: DummiesEntry) -> Findings:
    """Check and apply an entry stating that its policy's landmarks were drawn.

    The ledger does not determine the cost of the draw; the figures after the entry must include the stated cost.
    """
    terms = books.terms
    findings: Findings = []
    if terms.level != "landmark" or terms.spare:
        note(findings, "dummies", entry, "hides landmarks at another level, or together with spare landmarks")
    if books.sure and (books.fixed or books.first_step is not None or books.landmarks is not terms.landmarks):
        note(findings, "dummies", entry, "does not directly follow its policy")
    # The previous version's remaining landmarks are added to the drawn ones.
    drawn = books.landmarks.total - books.landmarks.count_common(books.carried)
    # Padding may draw none if the policy has no landmarks; the other methods draw at least one.
    if (not books.landmarks.total and entry.method != PADDING) or drawn > MOST_STEPS[entry.method]:
        note(findings, "dummies", entry, f"method {entry.method} cannot draw {drawn} landmarks")
    lowest, most = (0, 0) if entry.method == PADDING else (1, terms.budget_nano)
    if not lowest <= entry.charged_nano <= most:
        message = f"`charged_nano` is {entry.charged_nano}, but method {entry.method} charges {lowest} to {most}"
        note(findings, "charge", entry, message)
    books.fixed = True
    books.spent_nano += entry.charged_nano
    return findings


def _decision(findings: Findings, books: Books, entry: ReleaseEntry, due: int) -> None:
    if entry.decision == PERTURBED:
        if entry.epsilon_nano != due:
            message = f"spends {entry.epsilon_nano}, but {books.terms.scheme} proposes {due}"
            note(findings, "share", entry, message)
        return
    released_before = books.source_ms is not None
    if due > 0 and not books.tosses and not books.terms.gaps:
        message = f"{entry.decision}, although {books.terms.scheme} publishes the step and spends {due}"
        note(findings, "decision", entry, message)
    elif entry.decision == APPROXIMATED and not released_before:
        note(findings, "decision", entry, "approximated, although this period has released nothing to repeat")
    elif entry.decision == WITHHELD and released_before:
        note(findings, "decision", entry, "withheld, although there is an earlier release to repeat")


def _figures(findings: Findings, entry: ReleaseEntry | LandmarksEntry, spent: int, peak: int, left: int) -> None:
    agree(findings, "landmark-spent", entry, landmark_spent_nano=spent)
    agree(findings, "regular-peak", entry, regular_peak_nano=peak)
    agree(findings, "landmarks-left", entry, landmarks_left=left)


def agree(findings: Findings, code: Code, entry: Entry, reason: str = "", **due: int) -> None:
    """Add a finding for each figure of an entry that differs from ``due``, giving the reason for the due figure."""
    for member, expected in due.items():
        found = getattr(entry, member)
        if found != expected:
            note(findings, code, entry, f"`{member}` is {found}, but expected {expected}{reason}")


def note(findings: Findings, code: Code, entry: Entry, message: str) -> None:
    """Add a finding about an entry."""
    findings.append(finding_of(code, entry, message))
