"""A rule: the part of a policy that must be equal for series whose steps are processed together, as columns.

Each series has its own budget, landmarks, spare and renewal bounds; the rule contains everything else in a policy.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from stream_app.privacy.amounts import Whole
from stream_app.privacy.kinds import Kind, Number
from stream_app.privacy.landmarks import NO_LANDMARKS
from stream_app.privacy.protection import EventLevel, LandmarkLevel, Protection, UserLevel
from stream_app.privacy.scheme import Adaptive, Scheme, sampling_of
from stream_app.privacy.values import NANO

CARRIED: Final = frozenset({
    "version", "epsilon_nano", "step_ms", "protection", "scheme", "filter", "kind", "parameters", "identity",
    "dummies", "renew", "lifetime_nano",
})  # fmt: skip
"""Members of a policy that allow its steps to be processed together, as columns.

If a policy sets any other member, its steps are processed one by one.
"""
LARGEST_BUDGET_NANO = 9 * 10**12
"""The largest budget of a rule: Balanced multiplies it by a million, which must fit into 64 bits."""
_LARGEST = 2**63 - 1

RuleProtection = LandmarkLevel | EventLevel | UserLevel


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """The parts of a policy that many series share; equal rules are one object while they are in use."""

    version: int
    step_ms: int
    protection: RuleProtection  # a landmark level without landmarks
    scheme: Scheme
    kind: Number
    identity: bytes
    filter: Literal["none", "level"]
    sampling: Adaptive | None
    windows: None = None  # single steps
    units: None = None  # a step is protected

    def start_of(self, index: Whole) -> Whole:
        """Return the start of a step, in ms, like `Policy.start_of`."""
        return index * self.step_ms

    @property
    def filtered(self) -> bool:
        """Whether the filter computes the estimates."""
        return self.filter == "level"


def rule_for(
    version: int,
    step_ms: int,
    protection: Protection,
    scheme: Scheme,
    name: Literal["none", "level"],
    kind: Kind,
    identity: bytes,
) -> Rule | None:
    """Return the rule of a policy with these parts, or None if its steps are processed one by one.

    ``name`` is the name of the policy's filter.
    """
    if not isinstance(kind, Number) or type(kind) is not Number:  # a subclass may behave differently
        return None
    if kind.sensitivity * NANO > _LARGEST:
        return None
    # A filter that does not clamp may give an estimate anywhere, but boundaries exist only for cells in the range.
    if kind.axis.boundaries is None or (name == "level" and not kind.clamped):
        return None
    match protection:
        case LandmarkLevel(landmarks, spare, fixed) if protection == LandmarkLevel(landmarks, spare, fixed):
            own: RuleProtection = LandmarkLevel(NO_LANDMARKS, 0)
        case EventLevel() | UserLevel():
            own = protection
        case _:
            return None
    return _shared(version, step_ms, own, scheme, kind, identity, name, sampling_of(scheme))


_shared: Final = lru_cache(maxsize=4096)(Rule)
