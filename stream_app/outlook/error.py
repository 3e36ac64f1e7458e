"""The error and noise scale to expect in a policy's releases, given what a step spends."""

from stream_app.privacy import kinds
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import LandmarkLevel


def expected_error(policy: Policy, spend_nano: int) -> float:
    """Return the mean absolute error of a value perturbed with ``spend_nano`` (at least 1) nano-epsilon.

    The error's unit is the kind's `error_unit`. For a statistic of units, each unit of the step is assumed to have a
    reading. Rounding to the grid adds at most half a resolution. Every announced intrusion into collected data adds
    further noise.
    """
    kind = policy.kind
    if isinstance(kind, kinds.UnitStatistic):
        return kind.expected_error(spend_nano, per_step(policy))
    return kind.expected_error(spend_nano, policy.collect.intrusion_nano if policy.collect else None)


def per_step(policy: Policy) -> int:
    """Return the number of units in a step."""
    assert policy.units is not None, "asked before"
    return policy.units.per_step


def regular_nano(policy: Policy) -> int:
    """Return what a step of units may spend, in nano-epsilon, if nothing was registered late.

    This is all of epsilon, unless budget is kept for spare landmarks in past steps: ``w * (E // (w + spare))``.
    """
    assert policy.units is not None, "asked before"
    spare, window = policy.spare if isinstance(policy.protection, LandmarkLevel) else 0, policy.units.window
    return policy.epsilon_nano if spare == 0 else window * (policy.epsilon_nano // (window + spare))
