"""Renewal: at public bounds in time a version of a policy begins again, over what of its landmarks is still to come.

A renewal is an ordinary version, one above the former. Its parameters are the former's, but hold only the landmarks
and the bounds that are still to come: landmarks that were registered late are among them, and spare is whole again,
since landmarks that nobody knows yet come in each period anew. What the former protects together stays protected
together, so no renewal is weaker; how much all versions spend together the lifetime bounds.

A bound counts where it lies between two decided steps of one version: behind the start of the former, at or before
that of the latter. So each is asked about once, at the first step decided at or after it, allowed or not; and a version
that has decided nothing yet has its budget whole, and needs none. The highest version there is has none to follow it.
"""

from bisect import bisect_right
from collections.abc import Mapping

from stream_app.privacy.landmarks import Grid, LandmarkSet
from stream_app.privacy.parameters import LARGEST_VERSION, LAST_TIMESTAMP_MS
from stream_app.privacy.policy import Policy, stored_policy_of
from stream_app.privacy.protection import LandmarkLevel
from stream_app.privacy.state import NEVER, State


def bounds_to_come(policy: Policy, state: State, start_ms: int) -> int | None:
    """Return how many bounds are to come after the step at ``start_ms`` if a bound is due there, else None."""
    # PRIVACY: bounds stand in the policy, and steps are told from what was decided: no value has a part in it.
    bounds, clock = policy.renew, state.clock
    if not bounds or clock.last_step == NEVER or state.closed or policy.version >= LARGEST_VERSION:
        return None
    passed = bisect_right(bounds, start_ms)
    return None if passed == bisect_right(bounds, policy.start_of(clock.last_step)) else len(bounds) - passed


def next_bound_ms(policy: Policy, state: State) -> int | None:
    """Return the first bound after the last decided step: from it on one is due; None if none is to come."""
    bounds, clock = policy.renew, state.clock
    if not bounds or clock.last_step == NEVER or policy.version >= LARGEST_VERSION:
        return None
    passed = bisect_right(bounds, policy.start_of(clock.last_step))
    return bounds[passed] if passed < len(bounds) else None


def landmarks_to_come(policy: Policy, state: State) -> int:
    """Return how many landmark steps, or units, lie after the last decided step, late and drawn ones too."""
    return state.promise.landmarks.count_from(policy.grid.ceiling_of(state.clock.decided_end_ms))


def renewed(policy: Policy, landmarks: LandmarkSet, bounds: int) -> Policy:
    """Return the version that follows ``policy`` at a renewal, with ``bounds`` bounds to come."""
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
    """Return whether ``policy`` is as a renewal of ``before`` is, but for what only its state tells."""
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
    """Return an interval of whole steps or units as a policy may hold it: its end may be after the last timestamp."""
    if end_ms <= LAST_TIMESTAMP_MS:
        return [[start_ms, end_ms]]
    last_ms = end_ms - step_ms
    return [[start_ms, last_ms], last_ms] if start_ms < last_ms else [last_ms]
