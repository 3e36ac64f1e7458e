"""One series under audit: its chain, the accounts of the current period, and its overall guarantee."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from stream_app.audit.books.guarantee import Guarantee
from stream_app.audit.books.intrusions import ExposedSteps, intrusion_faults
from stream_app.audit.books.members import claim_faults
from stream_app.audit.books.period import Books, account_dummies, account_landmarks, account_release, agree, note
from stream_app.audit.books.succession import carried_into, losses, renews, waiting
from stream_app.audit.books.terms import Terms, TermsError
from stream_app.audit.books.views import NOTHING_HELD, EarlierProtection, Fault, Side, view_faults
from stream_app.audit.books.window import EarlierSpends, Window
from stream_app.audit.chain import Chain, Place, follow
from stream_app.audit.finding import Finding, Remark
from stream_app.audit.form.entry import (
    MAX_SEQUENCE,
    MAX_TIMESTAMP,
    CloseEntry,
    DummiesEntry,
    Entry,
    IntrusionEntry,
    LandmarksEntry,
    MemberEntry,
    OpaqueEntry,
    PolicyEntry,
    ReleaseEntry,
)
from stream_app.audit.rules import Rules

Findings = list[Finding]


@dataclass(slots=True)
class Series:
    """The state of one series. It is mutable because an audit follows a million series at once."""

    name: str
    chain: Chain = field(default_factory=Chain)
    guarantee: Guarantee = field(default_factory=Guarantee)
    books: Books | None = None  # None before a policy and while the terms of the policy in force are unknown
    version: int = 0  # of the policy in force
    end_ms: int = 0  # end of the last step processed under earlier policies
    closed: bool = False
    member: bool = False  # whether it is a person's limit chain, not a series
    # The last amounts spent by earlier versions, known once a version with windows needs them.
    earlier: EarlierSpends = field(default_factory=EarlierSpends)
    view: bool = False  # of another series
    first_ms: int = -1  # start of a view's first step that it spent on
    held: EarlierProtection = NOTHING_HELD  # of earlier versions, as needed to compare a base and its views
    exposed: ExposedSteps | None = None  # None: no intrusion announced
    ready: Books | None = None  # the books, if the next entry may take the fast path (fastpath.py)

    def settle(self) -> None:
        """Decide, after each fully checked entry, whether the next entry may take the fast path."""
        books, self.ready = self.books, None
        if books is None:
            return
        books.figures = None
        plain = books.sure and books.window is None and books.opens_ms <= books.end_ms and books.terms.least_nano == 1
        plain = plain and books.terms.units is None and not self.view
        if plain and not (self.closed or self.member) and self.chain.old_repeat is None:
            self.ready = books if self.chain.sequence < MAX_SEQUENCE else None

    def doubt(self) -> None:
        """Stop checking figures until they are known again, after a missing, unknown or misplaced entry."""
        if self.books is not None:
            self.books.sure = False
            if self.books.window is not None:
                self.books.window.miss()

    def place(self, entry: Entry, digest: bytes) -> tuple[Place, tuple[Finding, ...]]:
        """Locate an entry in the chain and return findings about its link; figures after a gap are uncertain."""
        place, findings = follow(self.chain, entry, digest)
        if place is Place.JUMP:
            self.doubt()
        return place, findings

    def account(self, entry: Entry, rules: Rules) -> Findings:
        """Check the next entry in the chain against all earlier ones, and return the findings."""
        findings: Findings = []
        if self.closed:
            note(findings, "after-close", entry, "the series was closed before this entry")
        if self.member and not isinstance(entry, MemberEntry):
            note(findings, "member-chain", entry, "is in a person's chain, which contains only limits")
        match entry:
            case ReleaseEntry():
                self._release(entry, rules, findings)
            case PolicyEntry():
                self._policy(entry, rules, findings)
            case DummiesEntry() | LandmarksEntry() | IntrusionEntry():
                books = self._in_force(entry, findings)
                if books is not None:
                    self._within(books, entry, findings)
            case CloseEntry():
                self._in_force(entry, findings)
                self.closed = True
            case MemberEntry():
                self._cap(entry, rules, findings)
            case OpaqueEntry():
                findings.append(entry.finding)
                self.doubt()
        return findings

    def spent_nano(self, entry: Entry) -> int:
        """Return the epsilon spent by a counted entry; docs/accounting.md defines what counts."""
        if isinstance(entry, DummiesEntry):
            return entry.charged_nano
        if not isinstance(entry, ReleaseEntry):
            return 0
        books = self.books if entry.policy == self.version else None
        if books is None or books.window is None or entry.timestamp < books.opens_ms:
            return entry.epsilon_nano
        return entry.epsilon_nano + books.window.frame.charge_nano

    def _release(self, entry: ReleaseEntry, rules: Rules, findings: Findings) -> None:
        books = self._in_force(entry, findings)
        landmark, loss = entry.landmark, entry.epsilon_nano
        if self.view and loss and (self.first_ms < 0 or entry.timestamp < self.first_ms):
            self.first_ms = entry.timestamp
        if books is not None:
            self._renewal(books, entry, rules)
            if loss and entry.timestamp < books.opens_ms:
                self._early(books, entry, rules, findings)
            loss = books.loss(books.terms.steps.number(entry.timestamp), entry.epsilon_nano)
            landmark, more = account_release(books, entry)
            findings += more
        if landmark or books is None or books.window is None:
            if entry.epsilon_nano and self.version:
                _theorem(findings, entry, self.guarantee.spend(entry.epsilon_nano, landmark=landmark))
        else:
            _theorem(findings, entry, self.guarantee.lose(loss, entry.epsilon_nano))

    def _renewal(self, books: Books, entry: ReleaseEntry, rules: Rules) -> None:
        """Remark that the version was not renewed at a bound; the only loss is budget."""
        bound_ms = books.bound(entry.timestamp)
        if bound_ms is not None and books.sure and self.guarantee.has_room(rules.lifetime_nano):
            message = f"continues at {entry.timestamp}, although the bound {bound_ms} renews it and there is room"
            rules.remark(Remark("unrenewed", *entry[:2], message))

    def _early(self, books: Books, entry: ReleaseEntry, rules: Rules, findings: Findings) -> None:
        """Check a release that spends in the same window as a step on which an earlier version spent.

        Older releases of the worker wrote versions that have no windows and never waited. The check accepts them.
        """
        if books.window is None and not books.waited:
            what = f"until {books.opens_ms}, windows of an earlier version contain steps on which that version spent"
            rules.remark(Remark("unwaited", *entry[:2], f"spends at {entry.timestamp}: {what}"))
            books.opens_ms = 0
        else:
            _theorem(findings, entry, self.guarantee.hasten(books.opens_ms))

    def _policy(self, entry: PolicyEntry, rules: Rules, findings: Findings) -> None:
        if entry.policy <= self.version:
            message = f"version {entry.policy} follows version {self.version}; versions must increase"
            note(findings, "policy-version", entry, message)
        rules.replaced = rules.replaced or self.version > 0
        rules.use(self.name, self.version, self.guarantee)
        self.version = entry.policy
        before = self._ended()
        try:
            terms = rules.terms(entry)
        except TermsError as error:
            note(findings, "unknown-terms", entry, str(error))
            self.guarantee.begin_unknown(entry.budget_nano)
            return
        agree(findings, "budget", entry, budget_nano=terms.budget_nano)
        if entry.charged_nano != 0:
            note(findings, "charge", entry, f"charges {entry.charged_nano}, but a policy itself charges nothing")
        self._claim(entry, before, terms, rules, findings)
        self._hold(entry, before, terms, findings)
        if terms.landmarks.starts and terms.marks.start(terms.landmarks.starts[0]) < self.end_ms:
            note(
                findings,
                "policy-landmarks",
                entry,
                f"landmarks begin before {self.end_ms}, but everything before that time has already been processed",
            )
        sentence = self.guarantee.begin(terms.budget_nano, rules.lifetime_nano)
        rules.need(self.guarantee.promised_nano, self.name)
        if sentence:
            note(findings, "lifetime", entry, sentence)
        self.books = Books(terms, terms.landmarks, terms.spare, self.end_ms, self.end_ms)
        self.books.until_ms = terms.renew[0] - 1 if terms.renew else MAX_TIMESTAMP
        if before is not None:
            # Drawn landmarks stay as they were.
            self.books.fixed = before.fixed and renews(before, terms, self.end_ms)
            self._succeed(before, entry, rules)
            self.earlier, self.books.opens_ms = waiting(self.earlier, before, terms)
            self.books.waited = self.earlier.units  # every version waits after one with units
        if terms.frame is not None:
            self.books.window = Window(terms.frame)

    def _hold(self, entry: PolicyEntry, before: Books | None, terms: Terms, findings: Findings) -> None:
        """Keep the facts needed to compare a base with its views; `before` has just ended."""
        if before is not None:
            self.held = self.held.after(before, terms, weaker=entry.weaker, view=self.view)
        if entry.sequence == 1:
            self.view = entry.view
        elif entry.view:
            note(findings, "view", entry, "says that a view begins, but only the first entry of a series may say so")

    def _claim(self, entry: PolicyEntry, before: Books | None, terms: Terms, rules: Rules, findings: Findings) -> None:
        """Check and count the amount that a series reserves in its first entry; `before` has just ended."""
        faults = claim_faults(entry, terms)
        collected = before is not None and before.terms.neighbours != ""
        if entry.sequence == 1:
            self.guarantee.claim_nano = entry.lifetime_nano
        if terms.neighbours or collected:  # collected data span many people and count towards no limit
            faults += rules.members.beside(self.name, collects=terms.neighbours != "")
        elif entry.sequence == 1:
            faults += rules.members.claim(self.name, entry.lifetime_nano)
        for code, sentence in faults:
            note(findings, code, entry, sentence)

    def _cap(self, entry: MemberEntry, rules: Rules, findings: Findings) -> None:
        if self.version:
            note(findings, "member-chain", entry, "a limit in the chain of a series")
            return
        rules.members.chains += not self.member
        self.member = True
        for code, sentence in rules.members.cap(entry):
            note(findings, code, entry, sentence)

    def _succeed(self, before: Books, entry: PolicyEntry, rules: Rules) -> None:
        """Add a remark if a version's joint protection is weaker than that of `before`, or is marked as weaker."""
        assert self.books is not None, "a version with known terms has an account"
        terms = self.books.terms
        self.books.carried = carried_into(before, terms, self.end_ms)
        lost = losses(before, terms, self.end_ms) if before.sure else []
        if lost or entry.weaker:
            message = "; ".join(lost) or "the entry says that protection got weaker, but the ledger does not show it"
            rules.remark(Remark("weaker-marked" if entry.weaker else "weaker-unmarked", *entry[:2], message))

    def _ended(self) -> Books | None:
        """End the period of the previous version and return its books."""
        before, self.books = self.books, None
        if before is not None:
            self.end_ms = before.end_ms
            if self.exposed is not None:
                self.exposed.end(before)
        return before

    def _within(self, books: Books, entry: DummiesEntry | LandmarksEntry | IntrusionEntry, findings: Findings) -> None:
        """Check an entry that changes the landmarks or the exposure of the policy in force, given its books."""
        marks, units = books.terms.marks, books.terms.units
        match entry:
            case DummiesEntry():
                findings += account_dummies(books, entry)
                _theorem(findings, entry, self.guarantee.spend(entry.charged_nano, landmark=True))
            case LandmarksEntry():
                if not all(marks.aligned(at) for pair in entry.add for at in pair):
                    what = "steps" if units is None else "units"
                    note(findings, "step-alignment", entry, f"`add` is not aligned to {what} of {marks.length_ms} ms")
                passed, more = account_landmarks(books, entry, [marks.covering(*pair) for pair in entry.add])
                findings += more
                _theorem(findings, entry, self.guarantee.register(passed, 1 if units is None else units.window))
            case IntrusionEntry():
                for fault in intrusion_faults(books, entry):
                    note(findings, "intrusion", entry, fault)
                self.exposed = self.exposed or ExposedSteps()
                intrusion_nano = max(entry.intrusion_nano, books.terms.intrusion_nano)
                self.exposed.see(intrusion_nano, [marks.covering(*pair) for pair in entry.exposed])

    def _in_force(
        self, entry: ReleaseEntry | DummiesEntry | LandmarksEntry | IntrusionEntry | CloseEntry, findings: Findings
    ) -> Books | None:
        """Return the books of the policy an entry names, or None (usually with a finding) if it is not in force."""
        if entry.policy == self.version:
            return self.books
        if not self.version:
            note(findings, "no-policy", entry, "no policy of this series comes before it")
        elif self.books is None or self.books.sure:
            message = f"names policy {entry.policy}, but policy {self.version} is in force"
            note(findings, "policy-version", entry, message)
        self.doubt()
        return None


def _theorem(findings: Findings, entry: Entry, sentence: str) -> None:
    if sentence:
        note(findings, "theorem", entry, sentence)


def beside_bases(followed: Iterable[Series], rules: Rules) -> Iterator[Finding]:
    """Yield findings about views that have no valid base or disagree with their base."""
    known = {series.name: series for series in followed}
    for view in known.values():
        if not view.view:
            continue
        separator = rules.members.separator
        base = known.get(view.name.rpartition(separator)[0]) if separator else None
        faults: Iterable[Fault] = ()
        if base is None or base.view or not rules.members.capped(view.name):
            faults = [("view", "its base series is missing, is itself a view, or has no limit per person")]
        elif view.books is not None and base.books is not None:
            one, other = Side(view.name, view.books, view.held), Side(base.name, base.books, base.held)
            faults = view_faults(one, other, view.first_ms)
        yield from (Finding(code, view.name, view.chain.sequence, sentence) for code, sentence in faults)
