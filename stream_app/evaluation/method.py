"""What is compared: a scheme with its filter, by a name such as ``balanced+level``."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stream_app.evaluation.dataset import DataSet
from stream_app.privacy.parameters import members_at
from stream_app.privacy.policy import SCHEMES as KNOWN
from stream_app.privacy.policy import Policy, policy_of

_MEMBERS = {name: members_at(("scheme", name)) for name in KNOWN["landmark"]}
_RISKY, _PRIVATE = {"accept_risk": True}, {"dissimilarity": "private"}
SCHEMES: Mapping[str, Mapping[str, Any]] = {
    name: {"name": name, **(_RISKY if "accept_risk" in members else {})} for name, members in _MEMBERS.items()
} | {f"{name}-private": {"name": name, **_PRIVATE} for name, members in _MEMBERS.items() if "dissimilarity" in members}
LANDMARK_SCHEMES = KNOWN["event"]  # those that spread budget over landmarks; uniform and the rest are for windows
FILTERS = ("none", "level")


@dataclass(frozen=True, slots=True)
class Method:
    """A scheme with its own defaults, and a filter."""

    scheme: str
    filter: str

    @classmethod
    def named(cls, name: str, schemes: Iterable[str] = SCHEMES) -> "Method":
        """Return the method of a name, SCHEME or SCHEME+FILTER; raises `ValueError` that lists what there is."""
        scheme, _, found = name.partition("+")
        if scheme not in schemes or (found or "none") not in FILTERS:
            known = f"{', '.join(schemes)}, each alone or with +{' or +'.join(FILTERS[1:])}"
            raise ValueError(f"no method {name!r}; there are {known}")
        return cls(scheme, found or "none")

    def policy(
        self, data: DataSet, epsilon: float, protection: Mapping[str, Any], dummies: Mapping[str, Any] | None = None
    ) -> Policy:
        """Return the policy of a series of ``data``; raises `PolicyError` when they make none."""
        parameters = {
            "epsilon": epsilon,
            "protection": {**protection, "step": data.step_ms},
            "scheme": SCHEMES[self.scheme],
            "filter": self.filter,
            "value": data.value,
        }
        return policy_of(parameters if dummies is None else {**parameters, "dummies": dummies}, 1)
