"""What an audit reports: a finding for each fault, with its code, series and sequence; and remarks and keys beside.

Remarks are of versions that protect less, wait for no window or miss a renewal. None is a finding: the ledger holds.
Old ledgers have such versions, unmarked, and a new key may be meant.
"""

from collections.abc import Callable
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar, get_args

LISTED: Final = (
    10_000  # findings, remarks and key changes that a report lists; further ones are counted, for the memory
)
MOST_BROKEN: Final = 200_000  # up to so many, findings that break a promise are listed behind whatever else was found

_Overspent = Literal["theorem", "lifetime", "claim", "member-cap", "cap-raised"]
"""More was spent than was promised to a series or a member, or a bound that was promised was raised."""
_Again = Literal["step-order", "conflicting-duplicate", "fork", "signed-twice"]
"""A step was decided again, which no sum counts: further on, or in an entry or a chain beside."""
_Beside = Literal["view-landmarks", "view-protection"]
"""A view spent on what its base protects otherwise, which no sum counts as the base promised it."""
_OfRecord = Literal["malformed-entry", "unknown-entry", "unknown-terms", "unlisted"]
_OfChain = Literal["bad-hash", "broken-chain", "truncated", "gap", "out-of-order", "stale-duplicate", "epoch-backwards"]
_OfPolicy = Literal["no-policy", "policy-version", "policy-landmarks", "after-close", "budget", "refused-landmark"]
_OfSum = Literal["charge", "dummies", "share", "landmark-spent", "landmarks-left", "regular-peak"]
_OfStep = Literal["decision", "landmark-flag", "step-alignment", "intrusion"]
_OfMember = Literal["view", "member-series", "member-chain"]
_OfRelease = Literal[
    "malformed-release", "release-without-entry", "entry-without-release", "changed-release", "release-mismatch"
]
_OfHead = Literal["malformed-head", "head-signature", "head-missing", "head-chain", "head-conflict", "head-order"]
_OfSigned = Literal["head-leaves", "head-place", "signed-missing", "signed-differs", "witness"]
Code = Literal[
    _Overspent,
    _Again,
    _Beside,
    _OfRecord,
    _OfChain,
    _OfPolicy,
    _OfSum,
    _OfStep,
    _OfMember,
    _OfRelease,
    _OfHead,
    _OfSigned,
]

CODES: Final[dict[Code, str]] = {
    # More was spent than was promised, or a bound that was promised was raised.
    "theorem": "the spends on the landmarks and one other step, or one window, exceed epsilon",
    "lifetime": "the total over policy versions exceeds the series' claim or the lifetime bound",
    "claim": "`lifetime_nano` below epsilon, above the policy's `lifetime`, in a later version, or missing where the "
    "policy has a `lifetime` or the member a cap; or what is collected where series claim: under the id of a member's "
    "series, or up to a version that does not collect any more",
    "member-cap": "the claims of a member's series are in sum more than its cap",
    "cap-raised": "a later entry raises the cap of a member",
    # A step was decided again.
    "step-order": "a release for a step that is not after the last decided one: it may have been measured twice",
    "conflicting-duplicate": "two entries of different bytes carry the same sequence",
    "fork": "two different entries follow the same entry",
    "signed-twice": "heads sign two hashes for one entry, or an earlier entry after a later one: the chain was forked",
    # A view spent on what its base protects otherwise.
    "view-landmarks": "a landmark of a series is none in one of its views, which spent there, or may have",
    "view-protection": "a view that spent protects another level, unit or window than the series that it is a view of",
    # The record itself, and the report.
    "malformed-entry": "not an entry in the ledger's exact form (bytes, members, types or ranges)",
    "unknown-entry": "a kind of entry that this audit does not know, so nothing after it is vouched for",
    "unknown-terms": "policy parameters that this audit does not know, so the period is not vouched for",
    "unlisted": "further findings were counted but not listed",
    # The chain of a series.
    "bad-hash": "the entry's hash is not the hash of its bytes: it was changed",
    "broken-chain": "`previous` is not the hash of the entry before",
    "truncated": "the series does not begin at sequence 1: its start was cut off",
    "gap": "sequence numbers are missing between two entries",
    "out-of-order": "an entry stands after a later one of its series",
    "stale-duplicate": "a repeated record too old to be compared with its first copy",
    "epoch-backwards": "the key epoch falls under one and the same key",
    # The policy in force.
    "no-policy": "an entry before any policy of its series",
    "policy-version": "the version named is not the one in force, or a new version does not rise",
    "policy-landmarks": "a policy's landmarks reach back to steps already decided",
    "after-close": "an entry after the series was closed",
    "budget": "`budget_nano` is not the epsilon of the policy in force",
    "refused-landmark": "a registration that had to be refused",
    # The sums.
    "charge": "`charged_nano` is not what the registration costs, or nothing that dummy landmarks can cost",
    "dummies": "dummy landmarks where none can be: not right after their policy, beside spare ones, at another level",
    "share": "a perturbed release spends another amount than its scheme proposes",
    "landmark-spent": "`landmark_spent_nano` does not follow from the entries before",
    "landmarks-left": "`landmarks_left` does not follow from the landmark set",
    "regular-peak": "`regular_peak_nano` does not follow from the entries before",
    # The step.
    "decision": "perturbed, approximated or withheld where the scheme decides otherwise",
    "landmark-flag": "`landmark` differs from the landmark set",
    "step-alignment": "a time that is not the start of a step",
    "intrusion": "an announced intrusion that cannot be: of bare counters, at another price, or of steps not open",
    # Members.
    "view": "a view without the series that it is a view of, without a cap, with landmarks of its own, or that lacks "
    "what it has not spent on yet",
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
    # What the heads sign.
    "head-leaves": "the leaves are not those whose Merkle root was signed",
    "head-place": "a head of another ledger or partition",
    "signed-missing": "an entry that a head names is not in the ledger: it was cut off or deleted",
    "signed-differs": "an entry has another hash than the one signed for it: the chain was rewritten",
    "witness": "a head that the witness kept is not among the heads",
}
"""Every code with its meaning."""


Kind = Literal["promise", "books"]
"""What a finding says: the promise itself is broken, or the books are wrong; `kind_of` tells them apart."""
_BROKEN: Final = frozenset((*get_args(_Overspent), *get_args(_Again), *get_args(_Beside)))


def kind_of(code: Code) -> Kind:
    """Return what a finding of a code says.

    *books*: these are not what a true worker writes; their sums keep the promise, but do not show that it was kept.
    """
    return "promise" if code in _BROKEN else "books"


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


RemarkCode = Literal["weaker-marked", "weaker-unmarked", "unwaited", "unrenewed"]

REMARKS: Final[dict[RemarkCode, str]] = {
    "weaker-marked": "a policy version protects less together than the one before it, which its record and the "
    "setting `accept_weaker_policies` allowed",
    "weaker-unmarked": "a policy version protects less together than the one before it, and nothing says that this "
    "was allowed: a worker of a release that did not ask wrote it, or another program",
    "unwaited": "a policy version without windows spends while a window of an earlier version holds its step and one "
    "that this spent on, so that window may lose more than its epsilon: a release that did not wait wrote it",
    "unrenewed": "a policy version goes on behind a bound at which it was to begin again, though its series' claim or "
    "the lifetime given has room: `max_epsilon` or another lifetime forbade it then, or the worker did not do it",
}
"""Every code with its meaning."""


class Remark(NamedTuple):
    """Something that an auditor should know although it is no fault."""

    code: RemarkCode
    series: str
    sequence: int
    message: str


class KeyChange(NamedTuple):
    """An entry under another noise key than the entry before it in its series."""

    series: str
    sequence: int
    before: str  # fingerprints
    key: str


class KeysUsed(NamedTuple):
    """The noise keys of a ledger, and where series went from one to another."""

    series: dict[str, int]  # by fingerprint, in how many series' chains it stands
    changes: tuple[KeyChange, ...] = ()  # the first of them
    changed: int = 0  # changes in all
    changed_series: int = 0

    def document(self) -> dict[str, Any]:
        """Return it as `--json` has it."""
        return {
            "used": self.series,
            "changed_series": self.changed_series,
            "changes": [change._asdict() for change in self.changes],
        }
