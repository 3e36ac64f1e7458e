"""The version that renews a row's policy, and the name under which series share this version in the state table.

A renewed default policy stays shared, because it depends only on the default policy and its remaining landmarks and
bounds. All series that renew at the same bound therefore share one version, in memory and in the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from stream_app.deciding.renewal import landmarks_to_come, may_renew, renewed
from stream_app.deciding.rows import SeriesRow, first_default, policy_digest
from stream_app.privacy.policy import Policy

Succession = tuple[Policy, str]
"""A version, and the name of its default policy in the row; the name is empty for a series' own policy."""


@dataclass(frozen=True, slots=True)
class _Default:
    """A default policy, identified by its name, which contains the digest of all its parameters."""

    name: str
    policy: Policy = field(compare=False)


def next_version(row: SeriesRow, bounds: int) -> Succession:
    """Return the version that renews the policy of ``row``, with ``bounds`` remaining bounds."""
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
    """Return ``policy`` as it begins in ``row``: as a renewal if it equals one, otherwise unchanged.

    The ledger and the rows therefore need not mark renewals. Drawn landmarks stay fixed in renewals, and default
    policies stay shared, no matter what began the version.
    """
    if may_renew(policy, row.policy):
        found = next_version(row, len(policy.renew))
        if found[0].landmarks == policy.landmarks and _lasting(found[0]) == _lasting(policy):
            return found
    return policy, ""


def _lasting(policy: Policy) -> dict[str, object]:
    """Return the parameters that a renewal keeps: all except landmarks and bounds."""
    kept = {name: part for name, part in policy.parameters.items() if name != "renew"}
    protection = policy.parameters["protection"]
    assert isinstance(protection, Mapping), "the form has been checked"
    return {**kept, "protection": {name: part for name, part in protection.items() if name != "landmarks"}}
