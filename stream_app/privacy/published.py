"""What the fold makes public: the release of a step, and ledger entries, as data.

The encoding adds series, sequence, key and hashes to an entry. An entry's figures are those after it. The meaning of an
entry never changes: an old ledger must audit for ever.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from stream_app.privacy.dummies.request import MethodName
from stream_app.privacy.landmarks import Interval
from stream_app.privacy.values import ReleasedCells

Decision = Literal["perturbed", "approximated", "withheld"]


class Perturbed(NamedTuple):
    """A fresh measurement of the step that starts at ``timestamp_ms``, paid for; ``estimate`` is what to use."""

    timestamp_ms: int
    estimate: ReleasedCells
    measurement: ReleasedCells
    spend_nano: int


class Approximated(NamedTuple):
    """The estimate of the earlier release at ``source_ms`` again, free."""

    timestamp_ms: int
    estimate: ReleasedCells
    source_ms: int


class Withheld(NamedTuple):
    """Nothing: the step has no budget, and no earlier release could be repeated."""

    timestamp_ms: int


Release = Perturbed | Approximated | Withheld


class Figures(NamedTuple):
    """The budget of the period after an entry, in nano-epsilon, and the landmarks left, unused spare included."""

    budget_nano: int
    landmark_spent_nano: int
    landmarks_left: int
    regular_peak_nano: int


class PolicyEntry(NamedTuple):
    """A policy version begins to rule; ``weaker``: with less protected together than before it, as was allowed.

    ``lifetime_nano`` is the series' claim, where its first version makes one. ``view``: the series is a view, which
    its first entry says.
    """

    version: int
    budget_nano: int
    charged_nano: int
    parameters: Mapping[str, object]
    weaker: bool = False
    lifetime_nano: int | None = None
    view: bool = False


class LandmarksEntry(NamedTuple):
    """Landmarks were registered; ``charged_nano`` is what decided ones among them cost."""

    version: int
    add_ms: tuple[Interval, ...]  # [start, end) in milliseconds
    charged_nano: int
    figures: Figures


class DummiesEntry(NamedTuple):
    """The landmarks of the policy entry before it are drawn ones, which cost ``charged_nano``."""

    version: int
    method: MethodName
    charged_nano: int


class IntrusionEntry(NamedTuple):
    """Somebody saw the counters of the open steps: what that may have told, in nano-epsilon, and of which steps."""

    version: int
    intrusion_nano: int
    exposed_ms: tuple[Interval, ...]  # [start, end) in milliseconds


class CloseEntry(NamedTuple):
    """The series is closed for ever."""

    version: int


class MemberEntry(NamedTuple):
    """All series of a member together may claim ``cap_nano`` from here on; it stands in a chain of its own."""

    cap_nano: int


ControlEntry = PolicyEntry | LandmarksEntry | DummiesEntry | IntrusionEntry | CloseEntry | MemberEntry
"""Every entry but that of a decided step, which says what `fold.Stepped` holds."""
