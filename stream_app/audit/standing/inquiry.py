"""Finds the budget of one series or person in a ledger, and checks its entries as an audit does."""

from collections.abc import Sequence
from typing import Final

from stream_app.audit.chain import Place, digest_of
from stream_app.audit.finding import Finding
from stream_app.audit.form.entry import Entry, MemberEntry, PolicyEntry
from stream_app.audit.form.reader import CLAIM, SEQUENCE, SERIES_AT, is_claim, read_entry, read_spelling, spelt
from stream_app.audit.rules import Rules
from stream_app.audit.series import Series
from stream_app.audit.standing.standing import MemberStanding, SeriesStanding, Standing, VersionStanding, version_of

_SERIES: Final = b'{"series":"'
_CAP: Final = b',"entry":"member","cap_nano":'


class UnknownNameError(Exception):
    """A name that is neither a series of the ledger nor a person."""


class StandingInquiry:
    """Reads the lines of a ledger; `answer` returns the budget report of the named series or person.

    `lifetime_nano` is the limit on a series' total over its versions. If it is None, the limit is the amount that the
    series reserved, or otherwise its first epsilon. `separator` is the configured separator, or "" to learn it from the
    ledger. All series whose ids begin with the name are followed, because the limit that reveals the separator may come
    last.
    """

    def __init__(self, name: str, lifetime_nano: int | None, separator: str = "") -> None:
        self._name = name
        self._begins = spelt(name).encode()[:-1]  # omits the closing quotation mark
        self.rules = Rules(lifetime_nano)  # shared by all series: bounds and persons
        self._separator = separator
        self._found: dict[str, _FollowedSeries] = {}
        self._lost: list[tuple[str | None, Finding]] = []  # unreadable lines, with the series that they name

    def entries(self, lines: Sequence[bytes]) -> None:
        """Read the next lines of the ledger."""
        for data in lines:
            mine, named = data.startswith(self._begins, SERIES_AT), data.startswith(_SERIES)
            if not mine and named and (self._separator or _CAP not in data):
                continue
            entry = read_entry(data)
            if mine and not isinstance(entry, Finding):
                followed = self._found.setdefault(entry.series, _FollowedSeries(entry.series))
                followed.take(entry, digest_of(data), self.rules)
            elif isinstance(entry, Finding) and (mine or not named):
                self._lose(data, entry)
            elif isinstance(entry, MemberEntry):  # another person's chain shows the separator
                self._separator = entry.series[-1]

    def answer(self) -> Standing:
        """Return the budget report; raises `UnknownNameError` for a name that is not in the ledger."""
        separator = self.rules.members.separator or self._separator
        series = tuple(sorted(one.standing(self.rules.lifetime_nano) for one in self._mine(separator)))
        chain = self._found.get(self._name + separator) if separator else None
        member = self.rules.members.known.get(self._name) if chain is not None else None
        unread = tuple(fault for named, fault in self._lost if named is None or self._names(named, separator))
        if chain is None and not any(one.series != self._name for one in series):
            if not series:
                raise UnknownNameError(self._instead(separator))
            return Standing(None, series, unread)
        if chain is None or member is None:
            claims = [one.claim_nano for one in series if one.claim_nano is not None]
            return Standing(MemberStanding(self._name, None, sum(claims), len(claims)), series, unread)
        found = MemberStanding(self._name, member.cap_nano, member.claims_nano, member.series, tuple(chain.findings))
        return Standing(found, series, unread)

    def followed(self) -> list[Series]:
        """Return the series that were asked for, sorted by name."""
        mine = [one.series for one in self._mine(self.rules.members.separator or self._separator)]
        return sorted(mine, key=lambda series: series.name)

    def _lose(self, data: bytes, finding: Finding) -> None:
        """Keep the finding about an unreadable line; ignore a partition's claim, which is not an entry."""
        if not (data.startswith(CLAIM) and is_claim(data)):
            named = read_spelling(data[SERIES_AT : data.find(SEQUENCE)]) if data.startswith(_SERIES) else None
            self._lost.append((named, finding))

    def _mine(self, separator: str) -> "list[_FollowedSeries]":
        found = (one for one in self._found.values() if not one.series.member)
        return [one for one in found if self._names(one.series.name, separator)]

    def _names(self, name: str, separator: str) -> bool:
        return name == self._name or bool(separator and name.partition(separator)[0] == self._name)

    def _instead(self, separator: str) -> str:
        near = sorted(name for name, one in self._found.items() if not one.series.member)
        if near:
            why = "no limit in the ledger shows the separator used for people" if not separator else "of other members"
            return (
                f"neither a series nor a person in this ledger; {len(near)} series begin with this name ({why}); the "
                f"first is {near[0]!r}"
            )
        return (
            "neither a series nor a person in this ledger; check the spelling, and check that this is the right ledger"
        )


class _FollowedSeries:
    """A series being followed: its audited state, and its versions so far."""

    def __init__(self, name: str) -> None:
        self.series = Series(name)
        self.findings: list[Finding] = []
        self._ended: list[VersionStanding] = []
        self._policy: PolicyEntry | None = None

    def take(self, entry: Entry, digest: bytes, rules: Rules) -> None:
        place, findings = self.series.place(entry, digest)
        self.findings += findings
        if place in (Place.REPEAT, Place.STRAY):
            return
        if isinstance(entry, PolicyEntry):
            if self._policy is not None:
                self._ended.append(self._version(self._policy, rules=False))
            self._policy = entry
        self.findings += self.series.account(entry, rules)

    def standing(self, lifetime_nano: int | None) -> SeriesStanding:
        """Return the budget report of the series."""
        series, policy = self.series, self._policy
        present = () if policy is None else (self._version(policy, rules=not series.closed),)
        claim, first = series.guarantee.claim_nano, series.guarantee.first_budget_nano or 0
        known = {"claim": claim, "lifetime": lifetime_nano}
        bounds = {said: nano for said, nano in known.items() if nano is not None} or {"first policy": first}
        said, bound = min(bounds.items(), key=lambda each: each[1])
        versions = (*self._ended, *present)
        return SeriesStanding(series.name, series.closed, versions, claim, bound, said, tuple(self.findings))

    def _version(self, policy: PolicyEntry, *, rules: bool) -> VersionStanding:
        if self.series.books is None:
            spent = (self.series.guarantee.landmark_nano, self.series.guarantee.peak_nano)
            return VersionStanding(policy.policy, policy.sequence, rules, "", "", 0, policy.budget_nano, *spent)
        return version_of(self.series, policy.policy, policy.sequence, rules=rules)
