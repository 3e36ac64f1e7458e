"""The budget reports of series and persons as data: by version, over the lifetime, and by limit."""

from typing import Any, NamedTuple

from stream_app.audit.books.period import Books
from stream_app.audit.finding import Finding
from stream_app.audit.series import Series


class VersionStanding(NamedTuple):
    """The budget of one policy version of a series, in nano-epsilon; times are in ms since 1970-01-01 UTC."""

    version: int
    sequence: int  # of its entry
    rules: bool  # whether it is in force; False after another version began or the series closed
    level: str  # "" for terms unknown to this audit
    scheme: str
    step_ms: int
    promised_nano: int  # epsilon
    landmark_spent_nano: int = 0  # on landmarks; at user level, on all steps
    regular_peak_nano: int = 0  # on the costliest other step or window
    landmarks_left: int = 0  # after the last processed step, with unused spare; at user level, steps
    held_back_nano: int = 0  # for these
    first_ms: int | None = None  # start of first processed step
    last_ms: int | None = None  # start of last processed step
    ends_ms: int | None = None  # end of the last known landmark; at user level, of the length
    window: int = 1  # consecutive steps or units protected together
    renews_ms: int | None = None  # the next bound at which it should be renewed
    unit_ms: int | None = None  # None: protects whole steps

    @property
    def used_nano(self) -> int:
        """The epsilon that the version used on all landmarks and on the most expensive other step or window."""
        return self.landmark_spent_nano + self.regular_peak_nano

    @property
    def left_nano(self) -> int:
        """The epsilon that the version may still use beyond what it reserves, or 0 after the version ended."""
        return max(0, self.promised_nano - self.used_nano - self.held_back_nano) if self.rules else 0

    def document(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {**self._asdict(), "used_nano": self.used_nano, "left_nano": self.left_nano}


class SeriesStanding(NamedTuple):
    """The budget of one series, with amounts in nano-epsilon."""

    series: str
    closed: bool
    versions: tuple[VersionStanding, ...]
    claim_nano: int | None
    lifetime_nano: int  # the limit for all versions together
    lifetime_from: str  # its source: "claim", "lifetime" or "first policy"
    findings: tuple[Finding, ...]  # about its entries

    @property
    def used_nano(self) -> int:
        """Epsilon used by all versions."""
        return sum(version.used_nano for version in self.versions)

    @property
    def left_nano(self) -> int:
        """The largest epsilon that another version could still be given, or 0 once the series is closed."""
        return 0 if self.closed else max(0, self.lifetime_nano - self.used_nano)

    def document(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "series": self.series,
            "closed": self.closed,
            "versions": [version.document() for version in self.versions],
            "lifetime": {
                "from": self.lifetime_from,
                "promised_nano": self.lifetime_nano,
                "used_nano": self.used_nano,
                "left_nano": self.left_nano,
            },
            "claim_nano": self.claim_nano,
            "findings": [finding._asdict() for finding in self.findings],
        }


class MemberStanding(NamedTuple):
    """The budget of one person, in nano-epsilon."""

    member: str
    cap_nano: int | None  # None: no limit
    claims_nano: int
    series: int  # that claim
    findings: tuple[Finding, ...] = ()  # about its limit's entries

    @property
    def left_nano(self) -> int | None:
        """The epsilon that new series may reserve, or None if there is no limit."""
        return None if self.cap_nano is None else max(0, self.cap_nano - self.claims_nano)

    @property
    def share(self) -> float:
        """The reserved share of the limit, or 0 if there is no limit."""
        return self.claims_nano / self.cap_nano if self.cap_nano else 0.0

    def document(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "member": self.member,
            "cap_nano": self.cap_nano,
            "claims_nano": self.claims_nano,
            "left_nano": self.left_nano,
            "series": self.series,
        }


class Standing(NamedTuple):
    """The budget report for one name: either a person with their series, or one series."""

    member: MemberStanding | None
    series: tuple[SeriesStanding, ...]
    unread: tuple[Finding, ...] = ()  # unreadable lines that may belong to these series

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings about the entries on which the report is based."""
        capped = () if self.member is None else self.member.findings
        return (*capped, *(finding for one in self.series for finding in one.findings), *self.unread)

    def document(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "member": None if self.member is None else self.member.document(),
            "series": [one.document() for one in self.series],
            "findings": [finding._asdict() for finding in self.findings],
        }


def version_of(series: Series, version: int, sequence: int, *, rules: bool) -> VersionStanding:
    """Return the budget of a version with known terms.

    ``sequence`` is the sequence of the version's entry; ``rules`` says whether the version is in force.
    """
    spent, books = series.guarantee, series.books
    assert books is not None, "the terms of the version must be known"
    terms = books.terms
    left = held = 0
    if rules and terms.level in ("landmark", "user"):
        _, left = books.standing(books.next_step)
        share = terms.share(spent.landmark_nano, spent.peak_nano, left, True)  # noqa: FBT003 - as `Share` is called
        held = left * share
        if terms.units is not None:  # spare units that become landmarks late take part of the rest
            free = terms.budget_nano - spent.landmark_nano
            held = free - terms.share(spent.landmark_nano, spent.peak_nano, left, False)  # noqa: FBT003
    return VersionStanding(
        version=version,
        sequence=sequence,
        rules=rules,
        level=terms.level,
        scheme=terms.scheme,
        step_ms=terms.step_ms,
        promised_nano=terms.budget_nano,
        landmark_spent_nano=spent.landmark_nano,
        regular_peak_nano=spent.peak_nano,
        landmarks_left=left,
        held_back_nano=held,
        first_ms=None if books.first_step is None else terms.steps.start(books.first_step),
        last_ms=None if books.last_step is None else terms.steps.start(books.last_step),
        ends_ms=_ends_ms(books),
        window=terms.reach.window,
        renews_ms=_renews_ms(books) if rules else None,
        unit_ms=None if terms.units is None else terms.units.grid.length_ms,
    )


def _renews_ms(books: Books) -> int | None:
    last_ms = -1 if books.last_step is None else books.terms.steps.start(books.last_step)
    return next((bound for bound in books.terms.renew if bound > last_ms), None)


def _ends_ms(books: Books) -> int | None:
    terms = books.terms
    if terms.level == "user" and books.first_step is not None:
        return (books.first_step + terms.length) * terms.step_ms
    return terms.marks.start(books.landmarks.ends[-1]) if terms.level == "landmark" and books.landmarks.ends else None
