"""The entries of a ledger as values: one class a kind, members in the order in which they are written."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from stream_app.audit.finding import Code, Finding

ZEROS: Final = "0" * 64  # `previous` of a series' first entry

MAX_TIMESTAMP: Final = 253_402_300_799_999  # the last millisecond of the year 9999

MAX_SEQUENCE: Final = 2**53 - 1  # the last whole number that every JSON reader keeps exact

PERTURBED: Final = "perturbed"
APPROXIMATED: Final = "approximated"
WITHHELD: Final = "withheld"


class ReleaseEntry(NamedTuple):
    """A step was decided; the figures are those after it."""

    series: str
    sequence: int
    timestamp: int  # ms, the step's start
    decision: str  # PERTURBED, APPROXIMATED or WITHHELD
    landmark: bool
    policy: int
    budget_nano: int
    epsilon_nano: int  # 0 unless perturbed, where the member is absent
    landmark_spent_nano: int
    landmarks_left: int
    regular_peak_nano: int
    release: str  # BLAKE2b-256 of the release record, hex
    key: str
    epoch: int
    previous: str
    hash: str


class PolicyEntry(NamedTuple):
    """A policy version begins to rule; `weaker` says that it protects less together than the one before it.

    `lifetime_nano` is the series' claim: the most that it may lose over all its versions.
    """

    series: str
    sequence: int
    policy: int
    budget_nano: int
    charged_nano: int
    lifetime_nano: int | None  # None where the member is absent
    view: bool  # whether it begins a view of another series; False where the member is absent
    weaker: bool  # False where the member is absent
    parameters: Mapping[str, Any]
    key: str
    epoch: int
    previous: str
    hash: str


class DummiesEntry(NamedTuple):
    """The landmarks of the policy that it follows were drawn: some are true, some dummies, and none may be added."""

    series: str
    sequence: int
    policy: int
    method: str
    charged_nano: int
    key: str
    epoch: int
    previous: str
    hash: str


class LandmarksEntry(NamedTuple):
    """Steps became landmarks; `add` holds [start, end) pairs in ms."""

    series: str
    sequence: int
    policy: int
    add: list[list[int]]
    charged_nano: int
    budget_nano: int
    landmark_spent_nano: int
    landmarks_left: int
    regular_peak_nano: int
    key: str
    epoch: int
    previous: str
    hash: str


class IntrusionEntry(NamedTuple):
    """Somebody saw the counters of open steps; `exposed` holds their [start, end) pairs in ms."""

    series: str
    sequence: int
    policy: int
    intrusion_nano: int
    exposed: list[list[int]]
    key: str
    epoch: int
    previous: str
    hash: str


class MemberEntry(NamedTuple):
    """The cap of a member: of the sum of its series' claims. Its chain is named as the member and the separator."""

    series: str
    sequence: int
    cap_nano: int
    key: str
    epoch: int
    previous: str
    hash: str


class CloseEntry(NamedTuple):
    """The series ended."""

    series: str
    sequence: int
    policy: int
    key: str
    epoch: int
    previous: str
    hash: str


class OpaqueEntry(NamedTuple):
    """An entry whose place in the chain can be read and whose meaning cannot; `finding` says why."""

    series: str
    sequence: int
    key: str
    epoch: int
    previous: str
    hash: str
    finding: Finding


Known = ReleaseEntry | PolicyEntry | DummiesEntry | LandmarksEntry | IntrusionEntry | CloseEntry | MemberEntry
Entry = Known | OpaqueEntry


def finding_of(code: Code, entry: Entry, message: str) -> Finding:
    """Return a finding about an entry."""
    return Finding(code, entry.series, entry.sequence, message)


class ReleaseRecord(NamedTuple):
    """A record of the releases topic; members that its decision does not have are None."""

    series: str
    timestamp: int  # ms, the step's start
    decision: str
    policy: int
    value: Any = None
    measurement: Any = None
    epsilon_nano: int | None = None
    scale: float | dict[str, float] | None = None  # of each part, where there are several
    source: int | None = None  # ms, the step whose release is repeated
    statistic: str | None = None  # of numbers that are collected, or of units
    items: int | dict[str, int] | None = None  # `count`: of items or units, where it is public; in each bin
