"""The ledger entries: a class for each kind, with its members in the order in which they are written."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from stream_app.audit.finding import Code, Finding

ZEROS: Final = "0" * 64  # `previous` of a series' first entry

MAX_TIMESTAMP: Final = 253_402_300_799_999  # last millisecond of the year 9999

MAX_SEQUENCE: Final = 2**53 - 1  # the largest whole number exact in JSON readers

PERTURBED: Final = "perturbed"
APPROXIMATED: Final = "approximated"
WITHHELD: Final = "withheld"


class ReleaseEntry(NamedTuple):
    """A processed step, with the state after it."""

    series: str
    sequence: int
    timestamp: int  # ms, start of step
    decision: str  # PERTURBED, APPROXIMATED or WITHHELD
    landmark: bool
    policy: int
    budget_nano: int
    epsilon_nano: int  # 0 if absent (not perturbed)
    landmark_spent_nano: int
    landmarks_left: int
    regular_peak_nano: int
    release: str  # BLAKE2b-256 of the release record, hex
    key: str
    epoch: int
    previous: str
    hash: str


class PolicyEntry(NamedTuple):
    """The start of a policy version; `weaker` says that its joint protection is weaker than before.

    `lifetime_nano` is the limit that the series reserves: the most that it may spend over all its versions.
    """

    series: str
    sequence: int
    policy: int
    budget_nano: int
    charged_nano: int
    lifetime_nano: int | None  # None if the member is absent
    view: bool  # whether it begins a view of another series; False if absent
    weaker: bool  # False if the member is absent
    parameters: Mapping[str, Any]
    key: str
    epoch: int
    previous: str
    hash: str


class DummiesEntry(NamedTuple):
    """States that the preceding policy's landmarks were drawn: some real, some dummies. None may be added later."""

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
    """Steps that became landmarks; `add` holds [start, end) pairs in ms."""

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
    """The counters of open steps were exposed; `exposed` holds the steps' [start, end) pairs in ms."""

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
    """A person's limit on the sum that their series reserve; the name of its chain is the person plus the separator."""

    series: str
    sequence: int
    cap_nano: int
    key: str
    epoch: int
    previous: str
    hash: str


class CloseEntry(NamedTuple):
    """The end of a series."""

    series: str
    sequence: int
    policy: int
    key: str
    epoch: int
    previous: str
    hash: str


class OpaqueEntry(NamedTuple):
    """An entry whose position in the chain is readable but whose meaning is not; `finding` says why."""

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
    """A record of the releases topic; members that do not apply to its decision are None."""

    series: str
    timestamp: int  # ms, start of step
    decision: str
    policy: int
    value: Any = None
    measurement: Any = None
    epsilon_nano: int | None = None
    scale: float | dict[str, float] | None = None  # by part, if there are several
    source: int | None = None  # ms, the step of the repeated release
    statistic: str | None = None  # of collected numbers, or of units
    items: int | dict[str, int] | None = None  # `count`: number of items or units, if public; by bin
