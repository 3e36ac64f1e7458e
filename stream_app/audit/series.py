"""One series under audit: its chain, the books of its present period, and its guarantee over all of them."""

from dataclasses import dataclass, field

from stream_app.audit.books.guarantee import Guarantee
from stream_app.audit.books.intrusions import ExposedSteps, intrusion_faults
from stream_app.audit.books.members import claim_faults
from stream_app.audit.books.period import Books, account_dummies, account_landmarks, account_release, note
from stream_app.audit.books.succession import carried_into, losses, renews
from stream_app.audit.books.terms import Terms, TermsError
from stream_app.audit.books.window import EarlierSpends, Window
from stream_app.audit.chain import Chain, Place, follow
from stream_app.audit.finding import Finding
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
from stream_app.audit.remark import Remark
from stream_app.audit.rules import Rules

Findings = list[Finding]


@dataclass(slots=True)
class Series:
    """All that is kept of one series. It is changed in place, because a million are followed at once."""

    name: str
    chain: Chain = field(default_factory=Chain)
    guarantee: Guarantee = field(default_factory=Guarantee)
    books: Books | None = None  # None before a policy, and while the terms of the policy in force are unknown
    version: int = 0  # of the policy in force
    end_ms: int = 0  # end of the last step decided under the policies before
    closed: bool = False
    member: bool = False  # whether it is no series but the chain of a member's cap
    # The last spends of earlier versions; known once a version with windows asked for them.
    earlier: EarlierSpends = field(default_factory=EarlierSpends)
    exposed: ExposedSteps | None = None  # None: no intrusion was announced
    ready: Books | None = None  # the books, where the next entry may take the fast path (fastpath.py)

    def settle(self) -> None:
        """Decide whether the next entry may take the fast path; called after each entry that was checked in full."""
        books = self.books
        plain = books is not None and books.sure and not (self.closed or self.member) and self.chain.old_repeat is None
        plain = plain and books is not None and books.window is None and books.opens_ms <= books.end_ms
        plain = plain and books is not None and books.terms.least_nano == 1
        if books is not None:
            books.figures = None
        self.ready = books if plain and self.chain.sequence < MAX_SEQUENCE else None

    def doubt(self) -> None:
        """Check no figures until they fit again, because an entry is missing, unknown, or out of place."""
        if self.books is not None:
            self.books.sure = False
            if self.books.window is not None:
                self.books.window.miss()

    def place(self, entry: Entry, digest: bytes) -> tuple[Place, tuple[Finding, ...]]:
        """Place an entry in the chain and return what is wrong with the link; behind a gap no figure is sure."""
        place, findings = follow(self.chain, entry, digest)
        if place is Place.JUMP:
            self.doubt()
        return place, findings

    def account(self, entry: Entry, rules: Rules) -> Findings:
        """Check an entry that follows in the chain against all that came before it; return what is wrong."""
        findings = self._out_of_place(entry)
        match entry:
            case ReleaseEntry():
                self._release(entry, rules, findings)
            case PolicyEntry():
                self._policy(entry, rules, findings)
            case DummiesEntry():
                self._dummies(entry, findings)
            case LandmarksEntry():
                self._landmarks(entry, findings)
            case IntrusionEntry():
                self._intrusion(entry, findings)
            case CloseEntry():
                self._in_force(entry, findings)
                self.closed = True
            case MemberEntry():
                self._cap(entry, rules, findings)
            case OpaqueEntry():
                findings.append(entry.finding)
                self.doubt()
        return findings

    def _out_of_place(self, entry: Entry) -> Findings:
        findings: Findings = []
        if self.closed:
            note(findings, "after-close", entry, "the series was closed before it")
        if self.member and not isinstance(entry, MemberEntry):
            note(findings, "member-chain", entry, "stands in the chain of a member, which holds its caps alone")
        return findings

    def spent_nano(self, entry: Entry) -> int:
        """Return what was measured with an entry that was accounted for: docs/accounting.md says what counts."""
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
        if books is not None:
            self._renewal(books, entry, rules)
            if loss and entry.timestamp < books.opens_ms:
                self._early(books, entry, rules, findings)
            loss = books.loss(entry.timestamp // books.terms.step_ms, entry.epsilon_nano)
            landmark, more = account_release(books, entry)
            findings += more
        if landmark or books is None or books.window is None:
            if entry.epsilon_nano and self.version:
                _theorem(findings, entry, self.guarantee.spend(entry.epsilon_nano, landmark=landmark))
        else:
            _theorem(findings, entry, self.guarantee.lose(loss, entry.epsilon_nano))

    def _renewal(self, books: Books, entry: ReleaseEntry, rules: Rules) -> None:
        """Remark on a bound at which the version should have begun again: nothing is lost but a budget."""
        bound_ms = books.bound(entry.timestamp)
        if bound_ms is not None and books.sure and self.guarantee.has_room(rules.lifetime_nano):
            message = f"goes on at {entry.timestamp}, though the bound {bound_ms} renews it and there is room for that"
            rules.remark(Remark("unrenewed", *entry[:2], message))

    def _early(self, books: Books, entry: ReleaseEntry, rules: Rules, findings: Findings) -> None:
        """Check a release that spends while windows hold its step and one that an earlier version spent on.

        Releases before this rule wrote versions without windows that never waited: such a version is taken as it is.
        """
        if books.window is None and not books.waited:
            what = f"until {books.opens_ms} windows of an earlier version hold steps that it spent on"
            rules.remark(Remark("unwaited", *entry[:2], f"spends at {entry.timestamp}: {what}"))
            books.opens_ms = 0
        else:
            _theorem(findings, entry, self.guarantee.hasten(books.opens_ms))

    def _policy(self, entry: PolicyEntry, rules: Rules, findings: Findings) -> None:
        if entry.policy <= self.version:
            note(findings, "policy-version", entry, f"version {entry.policy} after {self.version}; versions rise")
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
        if entry.budget_nano != terms.budget_nano:
            note(findings, "budget", entry, f"`budget_nano` {entry.budget_nano}, epsilon is {terms.budget_nano}")
        if entry.charged_nano != 0:
            note(findings, "charge", entry, f"charges {entry.charged_nano}; a policy charges nothing itself")
        self._claim(entry, before, terms, rules, findings)
        if terms.landmarks.starts and terms.landmarks.starts[0] * terms.step_ms < self.end_ms:
            note(findings, "policy-landmarks", entry, f"landmarks begin before {self.end_ms}, where all is decided")
        sentence = self.guarantee.begin(terms.budget_nano, rules.lifetime_nano)
        rules.need(self.guarantee.promised_nano, self.name)
        if sentence:
            note(findings, "lifetime", entry, sentence)
        self.books = Books(terms, terms.landmarks, terms.spare, self.end_ms, self.end_ms)
        self.books.until_ms = terms.renew[0] - 1 if terms.renew else MAX_TIMESTAMP
        if before is not None:
            # What was drawn stays as it was drawn.
            self.books.fixed = before.fixed and renews(before, terms, self.end_ms)
            self._succeed(before, entry, rules)
            self.earlier = _earlier_spends(self.earlier, before, terms)
        self.books.opens_ms = self.earlier.opens_ms(terms.frame, terms.step_ms)
        if terms.frame is not None:
            self.books.window = Window(terms.frame)

    def _claim(self, entry: PolicyEntry, before: Books | None, terms: Terms, rules: Rules, findings: Findings) -> None:
        """Check and count the series' claim, which stands in its very first entry alone; `before` ended now."""
        faults = claim_faults(entry, terms)
        collected = before is not None and before.terms.neighbours != ""
        if entry.sequence == 1:
            self.guarantee.claim_nano = entry.lifetime_nano
        if terms.neighbours or collected:  # what is collected is of many people, and counts towards no cap
            faults += rules.members.beside(self.name, collects=terms.neighbours != "")
        elif entry.sequence == 1:
            faults += rules.members.claim(self.name, entry.lifetime_nano)
        for code, sentence in faults:
            note(findings, code, entry, sentence)

    def _cap(self, entry: MemberEntry, rules: Rules, findings: Findings) -> None:
        if self.version:
            note(findings, "member-chain", entry, "a cap, in the chain of a series")
            return
        rules.members.chains += not self.member
        self.member = True
        for code, sentence in rules.members.cap(entry):
            note(findings, code, entry, sentence)

    def _succeed(self, before: Books, entry: PolicyEntry, rules: Rules) -> None:
        """Remark on a version that protects less together than the one whose books are `before`, or that says so."""
        assert self.books is not None, "a version whose terms are known has books"
        terms = self.books.terms
        self.books.carried = carried_into(before, terms, self.end_ms)
        lost = losses(before, terms, self.end_ms) if before.sure else []
        if lost or entry.weaker:
            message = "; ".join(lost) or "it says so, and what the ledger tells does not show it"
            rules.remark(Remark("weaker-marked" if entry.weaker else "weaker-unmarked", *entry[:2], message))

    def _ended(self) -> Books | None:
        """End the period of the version before; return its books."""
        before, self.books = self.books, None
        if before is not None:
            self.end_ms = before.end_ms
            if self.exposed is not None:
                self.exposed.end(before)
        return before

    def _dummies(self, entry: DummiesEntry, findings: Findings) -> None:
        books = self._in_force(entry, findings)
        if books is None:
            return
        findings += account_dummies(books, entry)
        _theorem(findings, entry, self.guarantee.spend(entry.charged_nano, landmark=True))

    def _landmarks(self, entry: LandmarksEntry, findings: Findings) -> None:
        books = self._in_force(entry, findings)
        if books is None:
            return
        step_ms = books.terms.step_ms
        added = [(start // step_ms, -(-end // step_ms)) for start, end in entry.add]
        if any(at % step_ms for pair in entry.add for at in pair):
            note(findings, "step-alignment", entry, f"`add` is not aligned to steps of {step_ms} ms")
        passed, more = account_landmarks(books, entry, added)
        findings += more
        _theorem(findings, entry, self.guarantee.register(passed))

    def _intrusion(self, entry: IntrusionEntry, findings: Findings) -> None:
        books = self._in_force(entry, findings)
        if books is None:
            return
        for fault in intrusion_faults(books, entry):
            note(findings, "intrusion", entry, fault)
        step_ms = books.terms.step_ms
        if self.exposed is None:
            self.exposed = ExposedSteps()
        seen = [(start // step_ms, -(-end // step_ms)) for start, end in entry.exposed]
        self.exposed.see(max(entry.intrusion_nano, books.terms.intrusion_nano), seen)

    def _in_force(
        self, entry: ReleaseEntry | DummiesEntry | LandmarksEntry | IntrusionEntry | CloseEntry, findings: Findings
    ) -> Books | None:
        """Return the books of the policy that the entry names; None where that is not in force.

        That it is not is a finding, unless an earlier finding explains it.
        """
        if entry.policy == self.version:
            return self.books
        if not self.version:
            note(findings, "no-policy", entry, "no policy of this series comes before it")
        elif self.books is None or self.books.sure:
            note(findings, "policy-version", entry, f"names policy {entry.policy}, in force is {self.version}")
        self.doubt()
        return None


def _earlier_spends(left: EarlierSpends, before: Books, terms: Terms) -> EarlierSpends:
    """Return what the versions up to `before` leave to the windows of later ones, `terms` being the next one's.

    Where no version with windows came before, nobody counts: after a version that released nothing, the last step
    that it decided stands for the last one that was spent on.
    """
    if before.window is not None:
        return before.window.leave(left)
    if terms.frame is None and not left.end_ms:
        return left
    if before.source_ms is not None:
        return EarlierSpends(before.source_ms + before.terms.step_ms, left.reach_ms)
    return left if left.end_ms else EarlierSpends(before.end_ms)


def _theorem(findings: Findings, entry: Entry, sentence: str) -> None:
    if sentence:
        note(findings, "theorem", entry, sentence)
