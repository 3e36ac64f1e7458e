"""Members: the people or households that several series belong to, the claims of their series, and their caps.

A series' claim is the most that it may lose in all its life; its first policy entry says it. A member's cap bounds the
sum of its series' claims, closed series' too. The entries of a cap stand in a chain of their own, which is named as the
member and the *separator*, the character that ends the member's name in the ids of its series. So these chains tell the
separator, and a ledger without them, which promises nothing of members, needs none.

Claims are never returned and a cap never rises. So the claims stayed within the cap at every moment if they do at the
end, and it does not matter how the chains of one or of several partitions were mixed: each series is counted when it
comes, against the lowest cap that came. No order between chains is relied upon.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from stream_app.audit.books.terms import Terms
from stream_app.audit.finding import Code
from stream_app.audit.form.entry import MemberEntry, PolicyEntry
from stream_app.words.amount import amount

MOST_SERIES: Final = 1_000  # series that one member may have

Fault = tuple[Code, str]  # a finding's code and its sentence, about the entry that is looked at


@dataclass(slots=True)
class Member:
    """What is known of one member. It is changed in place, because a hundred thousand are followed at once."""

    cap_nano: int | None = None  # the lowest that came; None: there is no cap
    claims_nano: int = 0
    series: int = 0  # that claim
    unclaimed: tuple[str, ...] = ()  # series without a claim that came before the cap
    broken: bool = False  # the claims exceeded the cap, and that was reported


class MembersRead(NamedTuple):
    """What an audit read of claims and caps; `fullest` is the member with the largest part of its cap claimed."""

    separator: str | None  # None where no chain of a member tells it
    claims: int  # series that claim
    capped: int  # members with a cap
    fullest: str
    fullest_cap_nano: int
    fullest_claims_nano: int


def claim_faults(entry: PolicyEntry, terms: Terms) -> list[Fault]:
    """Return what is wrong with the claim of a policy entry by itself, or with its absence."""
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
    """All members of a ledger, by name."""

    def __init__(self) -> None:
        self.separator = ""
        self.known: dict[str, Member] = {}
        self._claims: dict[str, int] = {}  # by series, as long as the separator is not known
        self._unclaimed: list[str] = []  # series, as long as the separator is not known
        self._beside: list[tuple[str, bool]] = []  # as `beside` has them, as long as the separator is not known
        self._count = 0
        self.chains = 0  # of members

    def member_of(self, series: str) -> str:
        """Return the name of a series' member; without the separator in its id, a series is its own member."""
        return series.partition(self.separator)[0] if self.separator else series

    def capped(self, series: str) -> bool:
        """Return whether a cap bounds what the series of a member may lose together."""
        member = self.known.get(self.member_of(series))
        return member is not None and member.cap_nano is not None

    def claim(self, series: str, claim_nano: int | None) -> list[Fault]:
        """Count a series by its first policy entry; return what is wrong. None: it claims nothing."""
        self._count += claim_nano is not None
        if self.separator:
            return self._count_in(series, claim_nano)
        if claim_nano is None:
            self._unclaimed.append(series)
        else:
            self._claims[series] = claim_nano
        return []

    def beside(self, series: str, *, collects: bool) -> list[Fault]:
        """Return what is wrong with a version that collects, or that is the first of its series which does not.

        Collected series claim nothing. So what is of a member's series would come out beside all claims.
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
        """Take the cap that an entry of a member's chain says; return what is wrong."""
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
        """Return what was read; None where nothing claims and no member has a cap."""
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
        """Count the series that came before the separator was known, when there was no cap that claims could exceed."""
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
