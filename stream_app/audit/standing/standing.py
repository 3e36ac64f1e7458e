"""The standing of series and members, as data: by policy version, over the lifetime, and towards a member's cap."""

from typing import Any, NamedTuple

from stream_app.audit.finding import Finding


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
    window: int = 1  # steps in a row that are protected together
    renews_ms: int | None = None  # the next bound at which it is to begin again

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
