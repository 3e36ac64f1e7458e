"""Finds one step of one series in a ledger, and checks the entries up to it as in an audit."""

from collections.abc import Sequence
from hashlib import blake2b

from stream_app.audit.books.period import Books
from stream_app.audit.books.share import MILLION
from stream_app.audit.chain import DIGEST_BYTES, Place, digest_of
from stream_app.audit.explain.explanation import Explanation
from stream_app.audit.explain.formula import BudgetFigures, Shares, reach_of, shares_of
from stream_app.audit.explain.rate import rate_of
from stream_app.audit.finding import Finding
from stream_app.audit.form.entry import PERTURBED, DummiesEntry, Entry, PolicyEntry, ReleaseEntry, ReleaseRecord
from stream_app.audit.form.grid import decimal_of
from stream_app.audit.form.reader import SEQUENCE, SERIES_AT, read_entry, read_release, spelt
from stream_app.audit.kinds.space import Count, RateError
from stream_app.audit.rules import Rules
from stream_app.audit.series import Series


class UndecidedError(Exception):
    """Raised if the ledger has no decision for the requested step, given by `series` and `timestamp` (ms)."""

    def __init__(self, series: str, timestamp: int, sentence: str) -> None:
        super().__init__(sentence)
        self.series = series
        self.timestamp = timestamp


class Inquiry:
    """Explains one step with `answer`, after being fed the lines of a ledger and, optionally, those of its releases.

    Lines of other series are skipped. Lines after the step are used only for their position.
    """

    def __init__(self, series: str, timestamp: int) -> None:
        """Ask for the step that contains `timestamp` (ms)."""
        self._timestamp = timestamp
        self._spelling = spelt(series).encode()
        self._series = Series(series)
        self._rules = Rules(None)
        self._findings: list[Finding] = []
        self._policy: PolicyEntry | None = None
        self._dummies: DummiesEntry | None = None  # of the period
        self._published: list[ReleaseEntry] = []  # of the period
        self._found: Explanation | None = None
        self._earlier_ms: int | None = None  # last step processed before the requested one
        self._later_ms: int | None = None  # first step processed after it
        self._known = False
        self._measurements: dict[int, tuple[object, Count]] = {}  # values and item counts, by step (ms)

    @property
    def tosses(self) -> bool:
        """Whether a coin decided the step; if so, the releases before the step reveal the rate."""
        return self._found is not None and self._found.is_tossed

    def entries(self, lines: Sequence[bytes]) -> None:
        """Read the next lines of the ledger."""
        for data in lines:
            if data[SERIES_AT : data.find(SEQUENCE, SERIES_AT)] != self._spelling:
                continue
            self._known = True
            if self._found is None and self._later_ms is None:
                entry = read_entry(data)
                if isinstance(entry, Finding):
                    self._findings.append(entry)
                else:
                    self._follow(entry, digest_of(data))

    def releases(self, lines: Sequence[bytes]) -> None:
        """Read the next lines of the releases, after the whole ledger; ignore releases that are not in the ledger."""
        due = {each.release: each.timestamp for each in self._published}
        for data in lines:
            at = due.get(blake2b(data, digest_size=DIGEST_BYTES).hexdigest())
            release = None if at is None else read_release(data)
            if at is not None and isinstance(release, ReleaseRecord):
                self._measurements[at] = release.measurement, release.items

    def answer(self) -> Explanation:
        """Return the explanation; raises `UndecidedError` if the ledger has no decision on the step."""
        if self._found is None:
            many = len(self._findings)
            doubt = f" (the ledger has faults: {many} findings; run `audit`)" if many else ""
            raise UndecidedError(self._series.name, self._timestamp, self._instead() + doubt)
        return self._found._replace(rate_nano=self._rate(self._found))

    def _follow(self, entry: Entry, digest: bytes) -> None:
        place, findings = self._series.place(entry, digest)
        self._findings += findings
        if place in (Place.REPEAT, Place.STRAY):
            return
        if isinstance(entry, ReleaseEntry):
            self._release(entry)
            return
        if isinstance(entry, PolicyEntry):
            self._policy, self._dummies, self._published = entry, None, []
        elif isinstance(entry, DummiesEntry):
            self._dummies = entry
        self._account(entry)

    def _account(self, entry: Entry) -> None:
        # This does not check whether the versions kept to a lifetime, because a ledger does not show it.
        found = self._series.account(entry, self._rules)
        self._findings += [finding for finding in found if finding.code != "lifetime"]

    def _release(self, entry: ReleaseEntry) -> None:
        books, policy = self._series.books, self._policy
        step_ms = 1 if books is None else books.terms.step_ms
        if entry.timestamp > self._timestamp:
            self._later_ms = entry.timestamp
        elif self._timestamp >= entry.timestamp + step_ms:
            self._account(entry)
            self._earlier_ms = entry.timestamp
            if entry.decision == PERTURBED:
                self._published.append(entry)
        elif books is None or policy is None or entry.policy != policy.policy:
            self._account(entry)
            tale = "; ".join(finding.message for finding in self._findings[-2:])
            message = f"entry {entry.sequence} processed the step without a readable policy: {tale}; run `audit`"
            raise UndecidedError(entry.series, self._timestamp, message)
        else:
            self._explain(entry, books, policy)

    def _explain(self, entry: ReleaseEntry, books: Books, policy: PolicyEntry) -> None:
        terms, tosses, source = books.terms, books.tosses, books.source_ms
        step, opens_ms = terms.steps.number(entry.timestamp), books.opens_ms
        landmark, left = books.standing(step)
        before = BudgetFigures(terms.budget_nano, books.spent_nano, books.peak_nano, left)
        reach = reach_of(books, step)
        shares = self._shares(books, policy, before, step)
        self._account(entry)
        after = before._replace(
            landmark_spent_nano=entry.landmark_spent_nano,
            landmarks_left=max(0, left - landmark),
            regular_peak_nano=entry.regular_peak_nano,
        )
        self._found = Explanation(
            entry=entry,
            policy=policy,
            dummies=self._dummies,
            terms=terms,
            landmark=landmark,
            before=before,
            reach=reach,
            opens_ms=opens_ms,
            shares=shares,
            tosses=tosses,
            after=after,
            next=self._shares(books, policy, after, step + 1),
            source_ms=source,
            earlier_nano=self._series.guarantee.closed_nano,
            findings=tuple(self._findings),
        )

    @staticmethod
    def _shares(books: Books, policy: PolicyEntry, figures: BudgetFigures, step: int) -> Shares:
        share = decimal_of(policy.parameters["scheme"].get("regular_share", 0.5))
        return shares_of(books, figures, books.terms.budget_nano * int(share * MILLION) // MILLION, step)

    def _instead(self) -> str:
        if not self._known:
            return "the series is not in the ledger; check the series id, and check that this is the right ledger"
        end = "; the series is closed" if self._series.closed else ""
        if self._earlier_ms is None and self._later_ms is None:
            return f"the ledger has no processed step of the series{end}"
        if self._earlier_ms is None:
            return f"the step was not processed: the first processed step begins later, at {self._later_ms}"
        if self._later_ms is None:
            return f"the step is not processed: the last processed step is at {self._earlier_ms}{end}"
        return (
            "the step was not processed and cost nothing: no event arrived for it, or the event was rejected; the "
            f"processed steps before and after it are at {self._earlier_ms} and {self._later_ms}"
        )

    def _rate(self, found: Explanation) -> int | None:
        if not self.tosses or found.terms.compares:
            return None
        try:
            published = [(each.epsilon_nano, *self._measurements[each.timestamp]) for each in self._published]
            rule = found.policy.parameters["scheme"]
            return rate_of(found.terms, rule, ((what, spend, items) for spend, what, items in published))
        except (LookupError, RateError):
            return None
