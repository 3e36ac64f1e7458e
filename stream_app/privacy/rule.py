"""A rule: what the policies of many series have in common whose steps are decided together, as columns.

Budget, landmarks and spare are each series' own, and so are bounds of renewals; everything else of a policy stands in
its rule.
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
"""Members of a policy under which steps may be decided together, as columns.

A policy that sets any other has its steps decided one by one.
"""
LARGEST_BUDGET_NANO = 9 * 10**12
"""A million times as much fits into 64 bits (Balanced)."""
_LARGEST = 2**63 - 1

RuleProtection = LandmarkLevel | EventLevel | UserLevel


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """Everything but what each series has of its own; equal rules are one object, as long as they are in use."""

    version: int
    step_ms: int
    protection: RuleProtection  # a landmark level without its landmarks
    scheme: Scheme
    kind: Number
    identity: bytes
    filter: Literal["none", "level"]
    sampling: Adaptive | None
    windows: None = None  # single steps
    units: None = None  # a step is what is protected

    def start_of(self, index: Whole) -> Whole:
        """Return when a step starts, in ms, as `Policy.start_of`."""
        return index * self.step_ms

    @property
    def filtered(self) -> bool:
        """Whether estimates are those of the filter."""
        return self.filter == "level"

    @property
    def exhaustible(self) -> bool:
        """Whether spends use the budget up, as `Policy.exhaustible`."""
        return not isinstance(self.protection, EventLevel)


def rule_for(
    version: int,
    step_ms: int,
    protection: Protection,
    scheme: Scheme,
    name: Literal["none", "level"],
    kind: Kind,
    identity: bytes,
) -> Rule | None:
    """Return the rule of a policy of these parts, or None where its steps are decided one by one.

    ``name`` is that of its filter.
    """
    if not isinstance(kind, Number) or type(kind) is not Number:  # a kind made of it may decide otherwise
        return None
    if kind.sensitivity * NANO > _LARGEST:
        return None
    # Of a filter that does not clamp an estimate may lie anywhere, and boundaries are those of cells in the range.
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
