"""Renewal: at public points in time (bounds), a new version of a policy begins with its remaining landmarks.

A renewal is an ordinary version, numbered one higher. It has the same parameters, but only the remaining landmarks and
bounds. These include landmarks that were registered late. All spare landmarks are available again, because new unknown
landmarks occur in each period. Everything that the previous version jointly protects stays jointly protected, so no
renewal is weaker. The lifetime limits the total that all versions spend.

A bound counts if it lies between two processed steps of one version: after the start of the earlier step, and at or
before the start of the later one. Each bound is therefore checked once, at the first step processed at or after it,
whether or not the renewal is allowed. A version without a processed step has its whole budget and needs no renewal. The
highest possible version has no successor.
"""

from bisect import bisect_right
from collections.abc import Mapping

from stream_app.privacy.landmarks import Grid, LandmarkSet
from stream_app.privacy.parameters import LARGEST_VERSION, LAST_TIMESTAMP_MS
from stream_app.privacy.policy import Policy, stored_policy_of
from stream_app.privacy.protection import LandmarkLevel
from stream_app.privacy.state import NEVER, State


def bounds_to_come(policy: Policy, state: State, start_ms: int) -> int | None:
    """Return how many bounds remain after the step at ``start_ms``, or None if no bound is due there."""
    # PRIVACY: bounds are in the policy, and steps follow from what was processed: no value has any influence.
    bounds, clock = policy.renew, state.clock
    if not bounds or clock.last_step == NEVER or state.closed or policy.version >= LARGEST_VERSION:
        return None
    passed = bisect_right(bounds, start_ms)
    return None if passed == bisect_right(bounds, policy.start_of(clock.last_step)) else len(bounds) - passed


def next_bound_ms(policy: Policy, state: State) -> int | None:
    """Return the time of the first bound after the last processed step, when a renewal falls due, or None."""
    bounds, clock = policy.renew, state.clock
    if not bounds or clock.last_step == NEVER or policy.version >= LARGEST_VERSION:
        return None
    passed = bisect_right(bounds, policy.start_of(clock.last_step))
    return bounds[passed] if passed < len(bounds) else None


def landmarks_to_come(policy: Policy, state: State) -> int:
    """Return the number of landmark steps or units after the last processed step, including late and drawn ones."""
    return state.promise.landmarks.count_from(policy.grid.ceiling_of(state.clock.decided_end_ms))


def renewed(policy: Policy, landmarks: LandmarkSet, bounds: int) -> Policy:
    """Return the version that follows ``policy`` at a renewal, with ``bounds`` remaining bounds."""
    rest = list(policy.renew[len(policy.renew) - bounds :])
    parameters: dict[str, object] = {}
    for name, part in policy.parameters.items():
        if name == "protection" and isinstance(policy.protection, LandmarkLevel):
            assert isinstance(part, Mapping), "the form has been checked"
            parameters[name] = _protection(part, landmarks, policy.grid)
        elif name != "renew":
            parameters[name] = part
        elif rest:
            parameters[name] = rest
    version = stored_policy_of(parameters, policy.version + 1)
    return version.with_fixed_landmarks() if policy.fixed else version


def may_renew(policy: Policy, before: Policy) -> bool:
    """Return whether ``policy`` could be a renewal of ``before``, ignoring what depends on the state."""
    bounds = len(policy.renew)
    follows = policy.version == before.version + 1 and policy.step_ms == before.step_ms
    return follows and bounds < len(before.renew) and policy.renew == before.renew[len(before.renew) - bounds :]


def _protection(protection: Mapping[str, object], landmarks: LandmarkSet, grid: Grid) -> dict[str, object]:
    kept = dict(protection)
    if not landmarks:
        kept.pop("landmarks", None)
        return kept
    spans: list[object] = []
    for interval in landmarks.intervals:
        spans += _spans(*grid.span_of(interval), grid.length_ms)
    kept["landmarks"] = spans
    return kept


def _spans(start_ms: int, end_ms: int, step_ms: int) -> list[object]:
    """Return an interval of whole steps or units in policy form; its end may exceed the last timestamp."""
    if end_ms <= LAST_TIMESTAMP_MS:
        return [[start_ms, end_ms]]
    last_ms = end_ms - step_ms
    return [[start_ms, last_ms], last_ms] if start_ms < last_ms else [last_ms]
