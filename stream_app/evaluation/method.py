"""What is compared: a scheme with its filter, by a name such as ``balanced+level``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stream_app.evaluation.dataset import DataSet
from stream_app.privacy.policy import Policy, policy_of

SCHEMES: Mapping[str, Mapping[str, Any]] = {
    "uniform": {"name": "uniform"},
    "adaptive": {"name": "adaptive"},
    "skip": {"name": "skip", "accept_risk": True},
    "balanced": {"name": "balanced"},
}
FILTERS = ("none", "level")


@dataclass(frozen=True, slots=True)
class Method:
    """A scheme with its own defaults, and a filter."""

    scheme: str
    filter: str

    @classmethod
    def named(cls, name: str) -> "Method":
        """Return the method of a name, SCHEME or SCHEME+FILTER; raises `ValueError` that lists what there is."""
        scheme, _, found = name.partition("+")
        if scheme not in SCHEMES or (found or "none") not in FILTERS:
            known = f"{', '.join(SCHEMES)}, each alone or with +{' or +'.join(FILTERS[1:])}"
            raise ValueError(f"no method {name!r}; there are {known}")
        return cls(scheme, found or "none")

    def policy(self, data: DataSet, epsilon: float, landmarks_ms: Sequence[int]) -> Policy:
        """Return the landmark policy of a series of ``data``; raises `PolicyError` when they make none."""
        parameters = {
            "epsilon": epsilon,
            "protection": {"level": "landmark", "landmarks": tuple(landmarks_ms), "step": data.step_ms},
            "scheme": SCHEMES[self.scheme],
            "filter": self.filter,
            "value": data.value,
        }
        return policy_of(parameters, 1)
