"""The data that the fold publishes: the release of a step, and ledger entries.

The encoding adds the series, sequence, key and hashes to an entry. An entry's figures show the state after it. The
meaning of an entry never changes, because an old ledger must stay auditable forever.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from stream_app.privacy.amounts import Flag, chosen
from stream_app.privacy.dummies.request import MethodName
from stream_app.privacy.landmarks import Interval

Decision = Literal["perturbed", "approximated", "withheld"]


def decision_of(published: Flag, released: Flag) -> Decision:
    """Return the decision of a step that is published afresh, or else repeats a release if there is one."""
    return chosen(published, "perturbed", chosen(released, "approximated", "withheld"))


class Figures(NamedTuple):
    """The period's budget after an entry, in nano-epsilon, and the number of landmarks left, including spare ones."""

    budget_nano: int
    landmark_spent_nano: int
    landmarks_left: int
    regular_peak_nano: int


class PolicyEntry(NamedTuple):
    """A policy version takes effect; ``weaker`` means that it was allowed to weaken the joint protection.

    ``lifetime_nano`` is what the series reserves, if its first version reserves anything. ``view`` marks the series as
    a view, in its first entry.
    """

    version: int
    budget_nano: int
    charged_nano: int
    parameters: Mapping[str, object]
    weaker: bool = False
    lifetime_nano: int | None = None
    view: bool = False


class LandmarksEntry(NamedTuple):
    """Landmarks were registered; ``charged_nano`` is the cost of those already processed."""

    version: int
    add_ms: tuple[Interval, ...]  # [start, end) in milliseconds
    charged_nano: int
    figures: Figures


class DummiesEntry(NamedTuple):
    """The landmarks of the preceding policy entry were drawn, at a cost of ``charged_nano``."""

    version: int
    method: MethodName
    charged_nano: int


class IntrusionEntry(NamedTuple):
    """Somebody saw the counters of the open steps.

    The entry says how much this may have revealed, in nano-epsilon, and about which steps.
    """

    version: int
    intrusion_nano: int
    exposed_ms: tuple[Interval, ...]  # [start, end) in milliseconds


class CloseEntry(NamedTuple):
    """The series is closed forever."""

    version: int


class MemberEntry(NamedTuple):
    """From this entry on, all series of a person may together reserve at most ``cap_nano``.

    The entry is in the person's own chain.
    """

    cap_nano: int


ControlEntry = PolicyEntry | LandmarksEntry | DummiesEntry | IntrusionEntry | CloseEntry | MemberEntry
"""Every entry except that of a processed step, which contains what `fold.StepResult` holds."""
