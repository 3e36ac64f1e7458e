"""The audit of many series at once: records in, series mixed, findings out; one pass, a fixed state a series."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from stream_app.audit.books import Books, account_landmarks, account_release
from stream_app.audit.chain import Chain, Place, digest_of, follow, unproven
from stream_app.audit.entry import (
    APPROXIMATED,
    PERTURBED,
    CloseEntry,
    Entry,
    LandmarksEntry,
    OpaqueEntry,
    PolicyEntry,
    ReleaseEntry,
)
from stream_app.audit.finding import Code, Finding
from stream_app.audit.guarantee import Guarantee
from stream_app.audit.reader import read_entry, read_release
from stream_app.audit.releases import Covered, Pairing
from stream_app.audit.report import Report, Tally
from stream_app.audit.terms import Terms, TermsError, read_terms, steps_of

Watch = Callable[[ReleaseEntry], None]
"""Told of every release entry that found its place in a chain."""


@dataclass(slots=True)
class _Series:
    """All that is kept of a series."""

    chain: Chain = field(default_factory=Chain)
    guarantee: Guarantee = field(default_factory=Guarantee)
    books: Books | None = None  # None before a policy, and while the terms of the policy in force are unknown
    version: int = 0  # of the policy in force
    end_ms: int = 0  # of the last step decided under policies before
    closed: bool = False


class Auditor:
    """Takes ledger entries and, if wanted, releases, as they come; `finish` gives the report.

    `lifetime_nano` is the bound on the total over policy versions, in nano-epsilon; None is each series' first epsilon.
    """

    def __init__(self, *, compare: bool = False, lifetime_nano: int | None = None, watch: Watch | None = None) -> None:
        """Begin with no series; `compare` promises that the releases will be fed, too."""
        self._series: dict[str, _Series] = {}
        self._tally = Tally()
        self._pairing = Pairing() if compare else None
        self._lifetime_nano = lifetime_nano
        self._watch = watch
        self.recognised = 0  # lines that were entries in the ledger's form, whatever was wrong with them

    def entry(self, data: bytes) -> None:
        """Take in one line of the ledger."""
        entry = read_entry(data)
        if isinstance(entry, Finding):
            self._tally.add(entry)
            return
        self.recognised += 1
        series = self._series.get(entry.series)
        if series is None:
            series = self._series[entry.series] = _Series()
        place, findings = follow(series.chain, entry, digest_of(data))
        for finding in findings:
            self._tally.add(finding)
        if place is Place.NEXT or place is Place.JUMP:
            self._tally.entries += 1
            if place is Place.JUMP and series.books is not None:
                series.books.sure = False
            if series.closed:
                self._add("after-close", entry, "the series was closed before it")
            self._account(series, entry)
        elif place is Place.REPEAT:
            self._tally.repeated += 1

    def release(self, data: bytes) -> None:
        """Take in one line of the releases."""
        assert self._pairing is not None, "an auditor that is fed releases is made with compare=True"
        release = read_release(data)
        if isinstance(release, Finding):
            self._tally.add(release)
            return
        for finding in self._pairing.release(release, data):
            self._tally.add(finding)

    def pending(self) -> set[tuple[str, int]]:
        """Return (series, timestamp in ms) of entries and releases that wait for each other."""
        return self._pairing.pending() if self._pairing is not None else set()

    @property
    def waiting(self) -> tuple[int, int]:
        """How many entries and how many releases wait for their partner."""
        return self._pairing.waiting if self._pairing is not None else (0, 0)

    def finish(self, judged: set[tuple[str, int]] | None = None) -> Report:
        """Return the report; of releases and entries without partner only those in `judged`, if it is given."""
        tally, pairing = self._tally, self._pairing
        largest, name = 0, ""
        for series_id, series in self._series.items():
            for finding in unproven(series.chain, series_id):
                tally.add(finding)
            tally.keys[series.chain.key] += 1
            if series.guarantee.total_nano >= largest:
                largest, name = series.guarantee.total_nano, series_id
        if pairing is not None:
            for finding in pairing.finish(judged):
                tally.add(finding)
        return Report(
            findings=tally.listed(),
            found=tally.found,
            series=len(self._series),
            entries=tally.entries,
            repeated=tally.repeated + (pairing.repeated if pairing is not None else 0),
            decisions={"perturbed": tally.perturbed, "approximated": tally.approximated, "withheld": tally.withheld},
            spent_nano=tally.spent_nano,
            keys=dict(tally.keys),
            largest_nano=largest,
            largest_series=name,
            releases=None if pairing is None else pairing.compared,
        )

    def _account(self, series: _Series, entry: Entry) -> None:
        match entry:
            case ReleaseEntry():
                self._release(series, entry)
            case PolicyEntry():
                self._policy(series, entry)
            case LandmarksEntry():
                self._landmarks(series, entry)
            case CloseEntry():
                self._in_force(series, entry)
                series.closed = True
            case OpaqueEntry():
                self._tally.add(entry.finding)
                if series.books is not None:
                    series.books.sure = False

    def _release(self, series: _Series, entry: ReleaseEntry) -> None:
        if entry.decision == PERTURBED:
            self._tally.perturbed += 1
            self._tally.spent_nano += entry.epsilon_nano
        elif entry.decision == APPROXIMATED:
            self._tally.approximated += 1
        else:
            self._tally.withheld += 1
        books = self._in_force(series, entry)
        source = None if books is None else books.source_ms
        terms: Terms | None = None
        landmark = entry.landmark
        if books is not None:
            terms = books.terms
            landmark, findings = account_release(books, entry)
            for finding in findings:
                self._tally.add(finding)
        if entry.epsilon_nano and series.guarantee.budget_nano:
            sentence = series.guarantee.spend(entry.epsilon_nano, landmark=landmark)
            if sentence:
                self._add("theorem", entry, sentence)
        if self._pairing is not None:
            for finding in self._pairing.entry(Covered(entry, terms, source)):
                self._tally.add(finding)
        if self._watch is not None:
            self._watch(entry)

    def _policy(self, series: _Series, entry: PolicyEntry) -> None:
        if entry.policy <= series.version:
            self._add("policy-version", entry, f"version {entry.policy} after {series.version}; versions rise")
        series.version = entry.policy
        if series.books is not None:
            series.end_ms = max(series.end_ms, series.books.end_ms)
        series.books = None
        try:
            terms = read_terms(entry.policy, entry.parameters)
        except TermsError as error:
            self._add("unknown-terms", entry, str(error))
            return
        if entry.budget_nano != terms.budget_nano:
            self._add("budget", entry, f"`budget_nano` {entry.budget_nano}, epsilon is {terms.budget_nano}")
        if entry.charged_nano != 0:
            self._add("charge", entry, f"charges {entry.charged_nano}; a policy without dummies charges nothing")
        if terms.landmarks.starts and terms.landmarks.starts[0] * terms.step_ms < series.end_ms:
            self._add("policy-landmarks", entry, f"landmarks begin before {series.end_ms}, up to which all is decided")
        sentence = series.guarantee.begin(terms.budget_nano, self._lifetime_nano)
        if sentence:
            self._add("lifetime", entry, sentence)
        series.books = Books(terms, terms.landmarks, terms.spare, series.end_ms)

    def _landmarks(self, series: _Series, entry: LandmarksEntry) -> None:
        books = self._in_force(series, entry)
        if books is None:
            return
        try:
            added = [steps_of(pair, books.terms.step_ms) for pair in entry.add]
        except TermsError as error:
            self._add("step-alignment", entry, str(error))
            return
        if any(at % books.terms.step_ms for pair in entry.add for at in pair):
            self._add("step-alignment", entry, f"`add` is not aligned to steps of {books.terms.step_ms} ms")
        passed, findings = account_landmarks(books, entry, added)
        for finding in findings:
            self._tally.add(finding)
        sentence = series.guarantee.register(passed)
        if sentence:
            self._add("theorem", entry, sentence)

    def _in_force(self, series: _Series, entry: ReleaseEntry | LandmarksEntry | CloseEntry) -> Books | None:
        """Return the books of the policy that the entry names, or None with a finding unless one told of it before."""
        if entry.policy == series.version:
            return series.books
        books = series.books
        if books is None or books.sure:
            if series.version:
                self._add("policy-version", entry, f"names policy {entry.policy}, in force is {series.version}")
            else:
                self._add("no-policy", entry, "no policy of this series comes before it")
        if books is not None:
            books.sure = False
        return None

    def _add(self, code: Code, entry: Entry, message: str) -> None:
        self._tally.add(Finding(code, entry.series, entry.sequence, message))


def check(
    entries: Iterable[bytes],
    releases: Iterable[bytes] | None = None,
    *,
    lifetime_nano: int | None = None,
    watch: Watch | None = None,
) -> Report:
    """Audit a ledger, one entry a line without its line end, and its releases, if given; see `Auditor`.

    Both are read once, turn by turn, so that neither has to fit into memory.
    """
    auditor = Auditor(compare=releases is not None, lifetime_nano=lifetime_nano, watch=watch)
    covering = iter(releases) if releases is not None else iter(())
    for data in entries:
        auditor.entry(data)
        release = next(covering, None)
        if release is not None:
            auditor.release(release)
    for release in covering:
        auditor.release(release)
    return auditor.finish()
