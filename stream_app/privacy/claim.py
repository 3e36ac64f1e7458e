"""A series' claim: what all of its policy versions may use together, settled by the first of them for ever."""

from stream_app.privacy.policy import Policy
from stream_app.privacy.state import Promise


def claim_of(policy: Policy, lifetime_nano: int | None, *, claims: bool) -> int | None:
    """Return what a new series under ``policy`` claims, in nano-epsilon; None: nothing.

    It is the configured lifetime, without one the policy's epsilon, or what the policy itself gives if that is less.
    ``claims``: every series makes a claim, but for a collected one; else those whose policies give a lifetime.
    """
    if policy.lifetime_nano is None and (not claims or policy.collect is not None):
        return None
    most_nano = policy.epsilon_nano if lifetime_nano is None else lifetime_nano
    return most_nano if policy.lifetime_nano is None else min(most_nano, policy.lifetime_nano)


def bound_of(promise: Promise, lifetime_nano: int | None) -> int:
    """Return what all versions of a series may use together now: its claim, or today's lifetime if that is less."""
    most_nano = promise.first_budget_nano if lifetime_nano is None else lifetime_nano
    return most_nano if promise.claim_nano is None else min(most_nano, promise.claim_nano)


def uncovered(policy: Policy, before: Policy | None, *, many: bool) -> bool:
    """Return whether a version would let a member's data out beside what its series claim.

    Collected series claim nothing; so no series of ``many`` collects, and none that collects stops with that.
    """
    if policy.collect is not None:
        return many
    return before is not None and before.collect is not None
