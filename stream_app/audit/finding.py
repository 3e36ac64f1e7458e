"""The report of an audit: findings with their code, series and sequence; remarks; and noise keys.

Remarks name policy versions that protect less, do not wait for a window or miss a renewal. Remarks and key changes are
not findings, because the ledger is still valid: old ledgers contain such versions without a mark, and a new key may be
intended.
"""

from collections.abc import Callable
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar, get_args

LISTED: Final = 10_000  # findings, remarks and key changes listed in a report; others are only counted, to save memory
MOST_BROKEN: Final = 200_000  # up to this number, violated guarantees come after all other findings

_Overspent = Literal["theorem", "lifetime", "claim", "member-cap", "cap-raised"]
"""More was spent than the limit of a series or a person allows, or such a limit was raised."""
_Again = Literal["step-order", "conflicting-duplicate", "fork", "signed-twice"]
"""A step was published again (later, or in another entry or chain), and the sums do not count the repetition."""
_Beside = Literal["view-landmarks", "view-protection"]
"""A view spent on something that its base protects differently, so its sums do not match the base's."""
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
    # More was spent than a limit, or a limit was raised.
    "theorem": "the epsilon spent on the landmarks and one other step, or one window, exceeds the limit",
    "lifetime": "the total over policy versions exceeds what the series reserved, or the lifetime",
    "claim": "`lifetime_nano` is below epsilon, above the policy's `lifetime`, in a later version, or missing "
    "although the policy has a `lifetime` or the person has a limit; or data is collected where series "
    "reserve amounts: under the id of a person's series, or before a version that no longer collects",
    "member-cap": "the series of a person reserve more in total than the person's limit",
    "cap-raised": "a later entry raises the limit of a person",
    # A step was published again.
    "step-order": "a release for a step that is not after the last processed step: it may have been measured twice",
    "conflicting-duplicate": "two entries with different bytes have the same sequence",
    "fork": "two different entries follow the same entry",
    "signed-twice": "heads sign two hashes for one entry, or an earlier entry after a later one: the chain was forked",
    # A view spent on something that its base protects differently.
    "view-landmarks": "a landmark of a series is not a landmark of its view, and the view spent, or may have spent, "
    "epsilon there",
    "view-protection": "a view that has spent epsilon protects a different level, unit or window than its base series",
    # The record itself, and the report.
    "malformed-entry": "not an entry in the ledger's exact form (bytes, members, types or ranges)",
    "unknown-entry": "a kind of entry that this audit does not know, so it cannot judge anything after it",
    "unknown-terms": "policy parameters that this audit does not know, so it cannot judge the version",
    "unlisted": "further findings were counted but not listed",
    # The chain of a series.
    "bad-hash": "the entry's hash is not the hash of its bytes: it was changed",
    "broken-chain": "`previous` is not the hash of the previous entry",
    "truncated": "the series does not begin at sequence 1: its beginning is missing",
    "gap": "sequence numbers are missing between two entries",
    "out-of-order": "an entry comes after a later entry of its series",
    "stale-duplicate": "a repeated record that is too old to be compared with its first copy",
    "epoch-backwards": "the key epoch decreases under the same key",
    # The policy in force.
    "no-policy": "an entry before any policy of its series",
    "policy-version": "the named version is not in force, or a new version is not higher than the last version",
    "policy-landmarks": "a policy's landmarks include steps that were already processed",
    "after-close": "an entry after the series was closed",
    "budget": "`budget_nano` is not the epsilon of the policy in force",
    "refused-landmark": "a registration that should have been refused",
    # The sums.
    "charge": "`charged_nano` is not what the registration costs, or not an amount that dummy landmarks can cost",
    "dummies": "impossible dummy landmarks: not directly after their policy, together with spare landmarks, or at "
    "another level",
    "share": "a perturbed release spends a different amount than its scheme proposes",
    "landmark-spent": "`landmark_spent_nano` does not follow from earlier entries",
    "landmarks-left": "`landmarks_left` does not follow from the landmark set",
    "regular-peak": "`regular_peak_nano` does not follow from earlier entries",
    # The step.
    "decision": "perturbed, approximated or withheld although the scheme decides otherwise",
    "landmark-flag": "`landmark` differs from the landmark set",
    "step-alignment": "a time that is not the start of a step",
    "intrusion": "an impossible intrusion: the counters have no noise, the cost is wrong, or the steps are not open",
    # Members.
    "view": "a view that lacks its base series, a limit, or a landmark of its base on which it has not yet spent "
    "budget, or that has landmarks of its own",
    "member-series": "a person has more than 1,000 series",
    "member-chain": (
        "a limit in a series' chain, anything else in a person's chain, or a chain whose name cannot be a person's"
    ),
    # The releases, if given.
    "malformed-release": "not a release in its exact form",
    "release-without-entry": "a release that no entry covers",
    "entry-without-release": "a release entry whose release is missing",
    "changed-release": "a release whose bytes differ from those that its entry covers",
    "release-mismatch": "a release that contradicts its entry or its policy",
    # The signed heads, if given; a finding about a head has no series.
    "malformed-head": "not a head or leaves in their exact form",
    "head-signature": "a head without the signature of a trusted key",
    "head-missing": "a partition's heads are missing, or their numbers have a gap",
    "head-chain": "a head does not name the hash of the previous head",
    "head-conflict": "two heads with different bytes have the same number",
    "head-order": "a head has an earlier time or ledger offset than the previous head",
    # The contents that the heads sign.
    "head-leaves": "the leaves do not have the signed Merkle root",
    "head-place": "a head of another ledger or partition",
    "signed-missing": "an entry that a head names is missing from the ledger: it was cut off or deleted",
    "signed-differs": "an entry does not have the hash that was signed for it: the chain was rewritten",
    "witness": "a head that the witness kept is not among the heads",
}
"""Every code and its meaning."""


Kind = Literal["promise", "books"]
"""Whether the guarantee is violated or the ledger has an integrity error; see `kind_of`."""
_BROKEN: Final = frozenset((*get_args(_Overspent), *get_args(_Again), *get_args(_Beside)))


def kind_of(code: Code) -> Kind:
    """Return whether a code means a violated guarantee or an integrity error.

    *books*: a correct worker never writes this; the sums stay within the guarantee but do not prove that it was kept.
    """
    return "promise" if code in _BROKEN else "books"


class Finding(NamedTuple):
    """A fault found by the audit.

    `series` is "" and `sequence` 0 if the record does not contain them. The sequence of a finding about a release
    without an entry is also 0.
    """

    code: Code
    series: str
    sequence: int
    message: str


Told = TypeVar("Told")


class BoundedList(Generic[Told]):
    """List of findings, remarks or key changes that counts all, lists the first `LISTED`, and passes each to `tell`."""

    def __init__(self, tell: Callable[[Told], None] | None = None) -> None:
        self._tell = tell
        self.listed: list[Told] = []
        self.count = 0

    def add(self, told: Told, most: int = LISTED) -> None:
        """Count a finding, remark or key change and pass it on; list it if fewer than ``most`` are listed."""
        self.count += 1
        if self._tell is not None:
            self._tell(told)
        if len(self.listed) < most:
            self.listed.append(told)


RemarkCode = Literal["weaker-marked", "weaker-unmarked", "unwaited", "unrenewed"]

REMARKS: Final[dict[RemarkCode, str]] = {
    "weaker-marked": "a policy version jointly protects less than the version before it; its record and the setting "
    "`accept_weaker_policies` allowed this",
    "weaker-unmarked": "a policy version jointly protects less than the version before it, and no record shows that "
    "this was allowed: it was written by another program, or by an older release that did not ask",
    "unwaited": "a policy version without windows spends epsilon while a window of an earlier version contains both "
    "that step and a step on which the earlier version spent epsilon, so that window may lose more than "
    "its epsilon: it was written by an older release, which did not wait",
    "unrenewed": "a policy version continues after a moment at which it should have been renewed, although the amount "
    "that the series reserved, or the given lifetime, has room: `max_epsilon` or another lifetime "
    "prevented the renewal then, or the worker failed to renew it",
}
"""Every code and its meaning."""


class Remark(NamedTuple):
    """Something that an auditor should know about, although it is not a fault."""

    code: RemarkCode
    series: str
    sequence: int
    message: str


class KeyChange(NamedTuple):
    """An entry whose noise key differs from that of the previous entry in its series."""

    series: str
    sequence: int
    before: str  # fingerprints
    key: str


class KeysUsed(NamedTuple):
    """The noise keys of a ledger, and the entries at which series changed their key."""

    series: dict[str, int]  # number of series that use it, by fingerprint
    changes: tuple[KeyChange, ...] = ()  # the first ones
    changed: int = 0  # total number
    changed_series: int = 0

    def document(self) -> dict[str, Any]:
        """Return the keys as they appear in the `--json` report."""
        return {
            "used": self.series,
            "changed_series": self.changed_series,
            "changes": [change._asdict() for change in self.changes],
        }
