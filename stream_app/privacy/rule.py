"""A rule: what the policies of many series have in common whose steps are decided together, as columns.

Budget, landmarks and spare are each series' own, and so are bounds of renewals; everything else of a policy stands in
its rule.
"""

from functools import lru_cache
from typing import Final, Literal, final

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


@final
class Rule:
    """Everything but what each series has of its own; equal rules are one object, as long as they are in use."""

    __slots__ = ("filter", "identity", "kind", "protection", "sampling", "scheme", "step_ms", "version", "windows")

    def __init__(
        self,
        version: int,
        step_ms: int,
        protection: RuleProtection,
        scheme: Scheme,
        kind: Number,
        identity: bytes,
        name: Literal["none", "level"],
    ) -> None:
        self.version: Final = version
        self.step_ms: Final = step_ms
        self.protection: Final[RuleProtection] = protection  # a landmark level without its landmarks
        self.scheme: Final[Scheme] = scheme
        self.sampling: Final[Adaptive | None] = sampling_of(scheme)
        self.kind: Final = kind
        self.identity: Final = identity
        self.filter: Final[Literal["none", "level"]] = name
        self.windows: Final[None] = None  # single steps

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
    if (
        name == "level" and not kind.clamped
    ):  # an estimate may lie anywhere, and boundaries are those of cells in the range
        return None
    match protection:
        case LandmarkLevel(landmarks, spare, fixed) if protection == LandmarkLevel(landmarks, spare, fixed):
            return _rule(version, step_ms, LandmarkLevel(NO_LANDMARKS, 0), scheme, kind, identity, name)
        case EventLevel() | UserLevel():
            return _rule(version, step_ms, protection, scheme, kind, identity, name)
        case _:
            return None


@lru_cache(maxsize=4096)
def _rule(
    version: int,
    step_ms: int,
    protection: RuleProtection,
    scheme: Scheme,
    kind: Number,
    identity: bytes,
    name: Literal["none", "level"],
) -> Rule | None:
    if kind.axis.boundaries is None:
        return None
    return Rule(version, step_ms, protection, scheme, kind, identity, name)
