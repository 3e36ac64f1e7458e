"""What an audit reports: a finding for each fault, with its code and the series and sequence where it shows."""

from collections.abc import Callable
from typing import Final, Generic, Literal, NamedTuple, TypeVar, assert_never

LISTED: Final = 10_000
"""Findings that a report lists, and as many remarks and changes of a key; further ones are counted, so that no ledger
can exhaust the auditor's memory."""
MOST_BROKEN: Final = 200_000  # up to so many, findings that break a promise are listed behind whatever else was found

Code = Literal[
    "malformed-entry",
    "unknown-entry",
    "unknown-terms",
    "bad-hash",
    "broken-chain",
    "truncated",
    "gap",
    "out-of-order",
    "conflicting-duplicate",
    "fork",
    "stale-duplicate",
    "epoch-backwards",
    "no-policy",
    "policy-version",
    "policy-landmarks",
    "after-close",
    "budget",
    "charge",
    "dummies",
    "share",
    "decision",
    "landmark-flag",
    "landmark-spent",
    "landmarks-left",
    "regular-peak",
    "refused-landmark",
    "step-order",
    "step-alignment",
    "intrusion",
    "theorem",
    "lifetime",
    "claim",
    "member-cap",
    "cap-raised",
    "member-series",
    "member-chain",
    "malformed-release",
    "release-without-entry",
    "entry-without-release",
    "changed-release",
    "release-mismatch",
    "malformed-head",
    "head-signature",
    "head-missing",
    "head-chain",
    "head-conflict",
    "head-order",
    "head-leaves",
    "head-place",
    "signed-missing",
    "signed-differs",
    "signed-twice",
    "witness",
    "unlisted",
]

CODES: Final[dict[Code, str]] = {
    # The record itself.
    "malformed-entry": "not an entry in the ledger's exact form (bytes, members, types or ranges)",
    "unknown-entry": "a kind of entry that this audit does not know, so nothing after it is vouched for",
    "unknown-terms": "policy parameters that this audit does not know, so the period is not vouched for",
    # The chain of a series.
    "bad-hash": "the entry's hash is not the hash of its bytes: it was changed",
    "broken-chain": "`previous` is not the hash of the entry before",
    "truncated": "the series does not begin at sequence 1: its start was cut off",
    "gap": "sequence numbers are missing between two entries",
    "out-of-order": "an entry stands after a later one of its series",
    "conflicting-duplicate": "two entries of different bytes carry the same sequence",
    "fork": "two different entries follow the same entry",
    "stale-duplicate": "a repeated record too old to be compared with its first copy",
    "epoch-backwards": "the key epoch falls under one and the same key",
    # The policy in force.
    "no-policy": "an entry before any policy of its series",
    "policy-version": "the version named is not the one in force, or a new version does not rise",
    "policy-landmarks": "a policy's landmarks reach back to steps already decided",
    "after-close": "an entry after the series was closed",
    "budget": "`budget_nano` is not the epsilon of the policy in force",
    # The arithmetic.
    "charge": "`charged_nano` is not what the registration costs, or nothing that dummy landmarks can cost",
    "dummies": "dummy landmarks where none can be: not right after their policy, beside spare ones, at another level",
    "share": "a perturbed release spends another amount than its scheme proposes",
    "decision": "perturbed, approximated or withheld where the scheme decides otherwise",
    "landmark-flag": "`landmark` differs from the landmark set",
    "landmark-spent": "`landmark_spent_nano` does not follow from the entries before",
    "landmarks-left": "`landmarks_left` does not follow from the landmark set",
    "regular-peak": "`regular_peak_nano` does not follow from the entries before",
    "refused-landmark": "a registration that had to be refused",
    "step-order": "a release for a step that is not after the last decided one: it may have been measured twice",
    "step-alignment": "a time that is not the start of a step",
    "intrusion": "an announced intrusion that cannot be: of bare counters, at another price, or of steps not open",
    # The guarantee.
    "theorem": "the spends on the landmarks and one other step, or one window, exceed epsilon",
    "lifetime": "the total over policy versions exceeds the series' claim or the lifetime bound",
    # The guarantee of members.
    "claim": "`lifetime_nano` below epsilon, above the policy's `lifetime`, in a later version, or missing where the "
    "policy has a `lifetime` or the member a cap; or what is collected where series claim: under the id of a member's "
    "series, or up to a version that does not collect any more",
    "member-cap": "the claims of a member's series are in sum more than its cap",
    "cap-raised": "a later entry raises the cap of a member",
    "member-series": "a member has more than 1,000 series",
    "member-chain": "a cap in the chain of a series, something else in the chain of a member, or a chain named as no "
    "member's can be",
    # The releases, when given.
    "malformed-release": "not a release in its exact form",
    "release-without-entry": "a release that no entry covers",
    "entry-without-release": "a release entry whose release is missing",
    "changed-release": "a release whose bytes differ from those its entry covers",
    "release-mismatch": "a release that contradicts its entry or its policy",
    # The signed heads, when given; a finding about a head has no series.
    "malformed-head": "not a head or leaves in their exact form",
    "head-signature": "a head without the signature of a trusted key",
    "head-missing": "a partition's heads have a gap in their numbers, or there are none",
    "head-chain": "a head does not name the hash of the head before it",
    "head-conflict": "two heads of different bytes carry the same number",
    "head-order": "a head claims an earlier time or ledger offset than the one before it",
    "head-leaves": "the leaves are not those whose Merkle root was signed",
    "head-place": "a head of another ledger or partition",
    "signed-missing": "an entry that a head names is not in the ledger: it was cut off or deleted",
    "signed-differs": "an entry has another hash than the one signed for it: the chain was rewritten",
    "signed-twice": "heads sign two hashes for one entry, or an earlier entry after a later one: the chain was forked",
    "witness": "a head that the witness kept is not among the heads",
    # The report itself.
    "unlisted": "further findings were counted but not listed",
}
"""Every code with its meaning."""


Kind = Literal["promise", "books"]
"""What a finding says: the promise itself is broken, or the books are wrong; `kind_of` tells them apart."""


def kind_of(code: Code) -> Kind:
    """Return what a finding of a code says.

    *promise*: more was spent than was promised to a series or a member, or a bound that was promised was raised, or a
    step was decided again, which no sum counts: further on, or in an entry or a chain beside. *books*: the ledger, its
    releases or its heads are not what a true worker writes; its sums
    as they stand keep the promise; that it was kept they do not show.
    """
    match code:
        case "theorem" | "lifetime" | "claim" | "member-cap" | "cap-raised":
            return "promise"
        case "step-order" | "conflicting-duplicate" | "fork" | "signed-twice":
            return "promise"
        case (
            "malformed-entry"
            | "unknown-entry"
            | "unknown-terms"
            | "bad-hash"
            | "broken-chain"
            | "truncated"
            | "gap"
            | "out-of-order"
            | "stale-duplicate"
            | "epoch-backwards"
            | "no-policy"
            | "policy-version"
            | "policy-landmarks"
            | "after-close"
            | "budget"
            | "charge"
            | "dummies"
            | "share"
            | "decision"
            | "landmark-flag"
            | "landmark-spent"
            | "landmarks-left"
            | "regular-peak"
            | "refused-landmark"
            | "step-alignment"
            | "intrusion"
            | "member-series"
            | "member-chain"
        ):
            return "books"
        case (
            "malformed-release"
            | "release-without-entry"
            | "entry-without-release"
            | "changed-release"
            | "release-mismatch"
        ):
            return "books"
        case (
            "malformed-head"
            | "head-signature"
            | "head-missing"
            | "head-chain"
            | "head-conflict"
            | "head-order"
            | "head-leaves"
            | "head-place"
            | "signed-missing"
            | "signed-differs"
            | "witness"
            | "unlisted"
        ):
            return "books"
        case _:
            assert_never(code)


class Finding(NamedTuple):
    """A fault that the audit found.

    `series` is "" and `sequence` 0 where the record does not tell them; the sequence of a finding about a release
    without entry is 0 too.
    """

    code: Code
    series: str
    sequence: int
    message: str


Told = TypeVar("Told")


class Kept(Generic[Told]):
    """Findings, remarks or key changes: the first `LISTED` are kept, all are counted; `tell` is called with each."""

    def __init__(self, tell: Callable[[Told], None] | None = None) -> None:
        self._tell = tell
        self.listed: list[Told] = []
        self.count = 0

    def add(self, told: Told, most: int = LISTED) -> None:
        """Count a finding, remark or key change, hand it on, and list it unless there are ``most`` of them already."""
        self.count += 1
        if self._tell is not None:
            self._tell(told)
        if len(self.listed) < most:
            self.listed.append(told)
