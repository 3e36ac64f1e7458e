"""Persons (or households) with several series, the reservations of these series, and persons' limits.

A series reserves the most that it may lose over its whole life; its first policy entry states the amount. A person's
limit bounds the sum that all their series reserve, including closed series. The entries of a limit are in a separate
chain, whose name is the person plus the *separator*, the character that ends the person's name in series ids. So these
chains reveal the separator; a ledger without them guarantees nothing about persons and needs no separator.

Reservations are never returned and a limit never rises. So if the reservations are within the limit at the end, they
always were. It does not matter how the chains of one or several partitions were interleaved: each series is counted
when it arrives, and compared with the lowest limit so far. The check does not rely on any order between chains.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from stream_app.audit.books.terms import Terms
from stream_app.audit.finding import Code
from stream_app.audit.form.entry import MemberEntry, PolicyEntry
from stream_app.words.amount import amount

MOST_SERIES: Final = 1_000  # series allowed for one person

Fault = tuple[Code, str]  # a finding's code and its sentence, about the current entry


@dataclass(slots=True)
class Member:
    """What is known about one person, updated in place because an audit follows 100,000 persons at once."""

    cap_nano: int | None = None  # lowest limit so far; None if none
    claims_nano: int = 0
    series: int = 0  # that claim
    unclaimed: tuple[str, ...] = ()  # series with no reservation, before any limit
    broken: bool = False  # an exceeded limit was reported


class MembersRead(NamedTuple):
    """The reservations and limits that an audit read; `fullest` has reserved the largest share of their limit."""

    separator: str | None  # None if no person's chain shows it
    claims: int  # that reserve
    capped: int  # with a limit
    fullest: str
    fullest_cap_nano: int
    fullest_claims_nano: int


def claim_faults(entry: PolicyEntry, terms: Terms) -> list[Fault]:
    """Return the faults of a policy entry's own reservation, or of a missing reservation."""
    claim, most = entry.lifetime_nano, terms.lifetime_nano
    if claim is None:
        if most is None or entry.sequence > 1 or terms.neighbours:
            return []
        return [("claim", f"reserves nothing, although its `lifetime` is {amount(most)}")]
    if entry.sequence > 1:
        return [("claim", f"reserves {amount(claim)}; only the first entry of a series may reserve epsilon")]
    if not terms.budget_nano <= claim <= (claim if most is None else most):
        bounds = f"epsilon is {amount(terms.budget_nano)}" + ("" if most is None else f", `lifetime` {amount(most)}")
        return [("claim", f"reserves {amount(claim)}; {bounds}")]
    return []


class Members:
    """All persons in a ledger, by name."""

    def __init__(self) -> None:
        self.separator = ""
        self.known: dict[str, Member] = {}
        self._claims: dict[str, int] = {}  # by series, until the separator is known
        self._unclaimed: list[str] = []  # series, until the separator is known
        self._beside: list[tuple[str, bool]] = []  # arguments of `beside`, until the separator is known
        self._count = 0
        self.chains = 0  # of members

    def member_of(self, series: str) -> str:
        """Return the name of the person a series belongs to, which is the series id if there is no separator."""
        return series.partition(self.separator)[0] if self.separator else series

    def capped(self, series: str) -> bool:
        """Return whether a limit bounds the joint loss of a person's series."""
        member = self.known.get(self.member_of(series))
        return member is not None and member.cap_nano is not None

    def claim(self, series: str, claim_nano: int | None) -> list[Fault]:
        """Count a series at its first policy entry and return the faults; a claim of None means no reservation."""
        self._count += claim_nano is not None
        if self.separator:
            return self._count_in(series, claim_nano)
        if claim_nano is None:
            self._unclaimed.append(series)
        else:
            self._claims[series] = claim_nano
        return []

    def beside(self, series: str, *, collects: bool) -> list[Fault]:
        """Return the faults of a version that collects data, or of a series' first version if it does not collect any.

        Collected series reserve nothing, so a person's data in them would be published outside all reservations.
        """
        if not self.separator:
            self._beside.append((series, collects))
            return []
        if collects and self.separator not in series:
            return []
        collecting = (
            "collects under the id of a person's series" if collects else "stops collecting but reserves nothing"
        )
        return [("claim", f"{series!r} {collecting}")]

    def cap(self, entry: MemberEntry) -> list[Fault]:
        """Apply the limit in an entry of a person's chain; return the faults."""
        name, separator = entry.series[:-1], entry.series[-1]
        if not name or not separator.isascii() or separator in name:
            return [("member-chain", "the name of a person's chain must be the name of the person plus one character")]
        faults = [] if self.separator else self._learn(separator)
        if separator != self.separator:
            return [
                ("member-chain", f"ends in {separator!r}, but the chains of other people end in {self.separator!r}")
            ]
        member = self.known.setdefault(name, Member())
        if member.cap_nano is not None and entry.cap_nano > member.cap_nano:
            faults.append(
                ("cap-raised", f"raises the limit from {amount(member.cap_nano)} to {amount(entry.cap_nano)}")
            )
        member.cap_nano = entry.cap_nano if member.cap_nano is None else min(member.cap_nano, entry.cap_nano)
        faults += [("claim", f"its series {series!r} reserves nothing") for series in member.unclaimed]
        member.unclaimed = ()
        return faults + _exceeding(member)

    def read(self) -> MembersRead | None:
        """Return what was read, or None if nothing is reserved and no person has a limit."""
        capped = {name: member for name, member in self.known.items() if member.cap_nano is not None}
        if not self._count and not capped:
            return None
        fullest, cap, claims = "", 0, 0
        for name, member in capped.items():
            assert member.cap_nano is not None, "only people with a limit were selected"
            if not cap or member.claims_nano * cap > claims * member.cap_nano:
                fullest, cap, claims = name, member.cap_nano, member.claims_nano
        return MembersRead(self.separator or None, self._count, len(capped), fullest, cap, claims)

    def _learn(self, separator: str) -> list[Fault]:
        """Count the series read before the separator was known; no limit could be exceeded until then."""
        self.separator = separator
        for series, claim_nano in self._claims.items():
            self._count_in(series, claim_nano)
        for series in self._unclaimed:
            self._count_in(series, None)
        faults = [fault for series, collects in self._beside for fault in self.beside(series, collects=collects)]
        self._claims, self._unclaimed, self._beside = {}, [], []
        return faults

    def _count_in(self, series: str, claim_nano: int | None) -> list[Fault]:
        member = self.known.setdefault(self.member_of(series), Member())
        if claim_nano is None:
            if member.cap_nano is not None:
                return [("claim", f"reserves nothing, although {self.member_of(series)!r} has a limit")]
            member.unclaimed += (series,)
            return []
        member.claims_nano += claim_nano
        member.series += 1
        faults = _exceeding(member)
        if member.series == MOST_SERIES + 1:
            told = (
                f"series number {member.series} of {self.member_of(series)!r}, who may have at most {MOST_SERIES} "
                "series"
            )
            return [("member-series", told), *faults]
        return faults


def _exceeding(member: Member) -> list[Fault]:
    if member.cap_nano is None or member.claims_nano <= member.cap_nano or member.broken:
        return []
    member.broken = True
    sentence = f"{member.series} series reserve {amount(member.claims_nano)}, more than the limit of"
    return [("member-cap", f"{sentence} {amount(member.cap_nano)}")]
