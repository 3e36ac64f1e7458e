"""The standing of series and members, as data: by version, over the lifetime, towards a member's cap."""

from typing import Any, NamedTuple

from stream_app.audit.books.period import Books
from stream_app.audit.finding import Finding
from stream_app.audit.series import Series


class VersionStanding(NamedTuple):
    """How one policy version of a series stands, in nano-epsilon; times are in ms since 1970-01-01 UTC."""

    version: int
    sequence: int  # of its entry
    rules: bool  # whether it is in force; False once another version began or the series was closed
    level: str  # "" for terms that this audit does not know
    scheme: str
    step_ms: int
    promised_nano: int  # epsilon
    landmark_spent_nano: int = 0  # spent on landmarks; at level user on all steps
    regular_peak_nano: int = 0  # on the dearest other step, or in the dearest window
    landmarks_left: int = 0  # from the step after the last decided one on, unused spare included; at level user steps
    held_back_nano: int = 0  # for these
    first_ms: int | None = None  # start of the first decided step
    last_ms: int | None = None  # start of the last decided step
    ends_ms: int | None = None  # when the last landmark known so far ends; at level user when the length ends
    window: int = 1  # steps, or units, in a row that are protected together
    renews_ms: int | None = None  # the next bound at which it is to begin again
    unit_ms: int | None = None  # None: steps are protected whole

    @property
    def used_nano(self) -> int:
        """What the version lost: all landmarks and the dearest other step, or the dearest window."""
        return self.landmark_spent_nano + self.regular_peak_nano

    @property
    def left_nano(self) -> int:
        """What the version may still lose besides what it holds back; nothing once it ended."""
        return max(0, self.promised_nano - self.used_nano - self.held_back_nano) if self.rules else 0

    def document(self) -> dict[str, Any]:
        """Return it for programs."""
        return {**self._asdict(), "used_nano": self.used_nano, "left_nano": self.left_nano}


class SeriesStanding(NamedTuple):
    """How one series stands; amounts in nano-epsilon."""

    series: str
    closed: bool
    versions: tuple[VersionStanding, ...]
    claim_nano: int | None
    lifetime_nano: int  # what all versions together may lose
    lifetime_from: str  # what says so: "claim", "lifetime" or "first policy"
    findings: tuple[Finding, ...]  # about its entries

    @property
    def used_nano(self) -> int:
        """What all versions lost."""
        return sum(version.used_nano for version in self.versions)

    @property
    def left_nano(self) -> int:
        """The largest epsilon that a further version could have now; nothing once the series was closed."""
        return 0 if self.closed else max(0, self.lifetime_nano - self.used_nano)

    def document(self) -> dict[str, Any]:
        """Return it for programs."""
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
    """How one member stands, in nano-epsilon."""

    member: str
    cap_nano: int | None  # None: the member has no cap
    claims_nano: int
    series: int  # that claim
    findings: tuple[Finding, ...] = ()  # about the entries of its cap

    @property
    def left_nano(self) -> int | None:
        """What new series may still claim; None without a cap."""
        return None if self.cap_nano is None else max(0, self.cap_nano - self.claims_nano)

    @property
    def share(self) -> float:
        """The part of the cap that is claimed; 0 without one."""
        return self.claims_nano / self.cap_nano if self.cap_nano else 0.0

    def document(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "member": self.member,
            "cap_nano": self.cap_nano,
            "claims_nano": self.claims_nano,
            "left_nano": self.left_nano,
            "series": self.series,
        }


class Standing(NamedTuple):
    """The answer to one question: the member that was named, if there is one, and its series, or the series alone."""

    member: MemberStanding | None
    series: tuple[SeriesStanding, ...]
    unread: tuple[Finding, ...] = ()  # lines that cannot be read, and may be entries of these

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with the entries that it was read from."""
        capped = () if self.member is None else self.member.findings
        return (*capped, *(finding for one in self.series for finding in one.findings), *self.unread)

    def document(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "member": None if self.member is None else self.member.document(),
            "series": [one.document() for one in self.series],
            "findings": [finding._asdict() for finding in self.findings],
        }


def version_of(series: Series, version: int, sequence: int, *, rules: bool) -> VersionStanding:
    """Return how a version of known terms stands; ``rules`` while it is in force. ``sequence`` is that of its entry."""
    spent, books = series.guarantee, series.books
    assert books is not None, "the terms of the version must be known"
    terms = books.terms
    left = held = 0
    if rules and terms.level in ("landmark", "user"):
        _, left = books.standing(books.next_step)
        share = terms.share(spent.landmark_nano, spent.peak_nano, left, True)  # noqa: FBT003 - as `Share` is called
        held = left * share
        if terms.units is not None:  # spare units that become landmarks late take their part of what is left
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
