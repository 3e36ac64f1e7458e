"""Why a record was refused: the reason codes of rejects."""

from typing import Literal, NamedTuple

Reason = Literal[
    "malformed",
    "invalid-value",
    "misrouted",
    "no-policy",
    "invalid-policy",
    "late",
    "early",
    "duplicate",
    "future",
    "closed",
    "refused-landmark",
    "budget-cap",
    "key-erased",
    "too-large",
]


class Refused(NamedTuple):
    """A record that changes nothing, and why."""

    reason: Reason
