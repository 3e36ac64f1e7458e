"""The version that renews a row's policy, and under which name the state table shares it.

A default policy that renews stays shared: its renewal is a function of the default policy and of what is to come, so
that all series which renew at the same bound have the same one, in memory and in the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from stream_app.deciding.renewal import landmarks_to_come, may_renew, renewed
from stream_app.deciding.rows import SeriesRow, first_default, policy_digest
from stream_app.privacy.policy import Policy

Succession = tuple[Policy, str]
"""A version, and the name of the default policy in the row: empty when the series has its own."""


@dataclass(frozen=True, slots=True)
class _Default:
    """A default policy that is known by its name, in which the digest of all its parameters stands."""

    name: str
    policy: Policy = field(compare=False)


def next_version(row: SeriesRow, bounds: int) -> Succession:
    """Return what renews the policy of ``row`` with ``bounds`` bounds to come."""
    policy, landmarks = row.policy, row.state.promise.landmarks
    left = landmarks_to_come(policy, row.state)
    if not row.default:
        return renewed(policy, landmarks.latest(left), bounds), ""
    return _renewed_default(_Default(row.default, policy), left, bounds)


@lru_cache(maxsize=256)
def _renewed_default(default: _Default, left: int, bounds: int) -> Succession:
    version = renewed(default.policy, default.policy.landmarks.latest(left), bounds)
    return version, f"{first_default(default.name)}.{policy_digest(version)}"


def succeeding(row: SeriesRow, policy: Policy) -> Succession:
    """Return as what ``policy`` begins to rule ``row``: if it is as a renewal would be, it is one.

    So ledger and rows need not say which versions are renewals: drawn landmarks stay fixed in them, and default
    policies shared, whoever began the version.
    """
    if may_renew(policy, row.policy):
        found = next_version(row, len(policy.renew))
        if found[0].landmarks == policy.landmarks and _lasting(found[0]) == _lasting(policy):
            return found
    return policy, ""


def _lasting(policy: Policy) -> dict[str, object]:
    """Return the parameters that a renewal leaves as they are: without landmarks and bounds."""
    kept = {name: part for name, part in policy.parameters.items() if name != "renew"}
    protection = policy.parameters["protection"]
    assert isinstance(protection, Mapping), "the form has been checked"
    return {**kept, "protection": {name: part for name, part in protection.items() if name != "landmarks"}}
