"""The input of a trial: data, a method such as ``balanced+level``, and the positions of landmarks.

Katsomallos 2022 (thesis, section 4.2) samples landmarks without replacement from truncated normal distributions. Skewed
distributions are centred on the middle of one half, bimodal ones on the middles of both halves. Their scale is a
fraction of the length.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import exp, log
from typing import Any, Literal, NamedTuple, assert_never

from experiments.dataset import DataSet
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.parameters import members_at
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.scheme import SCHEMES as KNOWN

Distribution = Literal["uniform", "skewed", "bimodal"]
DISTRIBUTIONS: tuple[Distribution, ...] = ("uniform", "skewed", "bimodal")
SPREAD = 10  # series length divided by the standard deviation of a mode
DRAW_BITS = 53


class Placement(NamedTuple):
    """How landmarks are drawn from the steps of a series."""

    share_percent: int
    distribution: Distribution = "uniform"

    def of(self, series: str, steps: int, seed: int) -> list[int]:
        """Return the sorted positions (from 0) of the landmarks among ``steps`` steps; halves round up.

        This is weighted sampling without replacement: it takes the steps with the largest ``log(u) / weight``
        (Efraimidis and Spirakis 2006). The draws do not depend on the share, so the landmarks of a smaller share are
        also landmarks of a larger one.
        """
        wanted = (2 * steps * self.share_percent + 100) // 200
        stream = BitStream(seed.to_bytes(8, "big"), b"evaluation-marks", f"{self.distribution}\0{series}".encode())
        draws = [stream.take(DRAW_BITS) + 0.5 for _ in range(steps)]
        keys = [log(draw * 2.0**-DRAW_BITS) / self._weight(place, steps) for place, draw in enumerate(draws)]
        return sorted(sorted(range(steps), key=keys.__getitem__, reverse=True)[:wanted])

    def _weight(self, place: int, steps: int) -> float:
        at = (place + 0.5) / steps
        match self.distribution:
            case "uniform":
                return 1.0
            case "skewed":
                return _bell(at - 0.75)
            case "bimodal":
                return _bell(at - 0.25) + _bell(at - 0.75)
            case _:
                assert_never(self.distribution)


def _bell(distance: float) -> float:
    """Return the density of the normal distribution up to a factor; ``distance`` is in series lengths."""
    return exp(-((distance * SPREAD) ** 2) / 2)


_MEMBERS = {name: members_at(("scheme", name)) for name in KNOWN["landmark"]}
_RISKY, _PRIVATE = {"accept_risk": True}, {"dissimilarity": "private"}
SCHEMES: Mapping[str, Mapping[str, Any]] = {
    name: {"name": name, **(_RISKY if "accept_risk" in members else {})} for name, members in _MEMBERS.items()
} | {f"{name}-private": {"name": name, **_PRIVATE} for name, members in _MEMBERS.items() if "dissimilarity" in members}
LANDMARK_SCHEMES = KNOWN["event"]  # spread budget over landmarks; uniform and the rest are for windows
FILTERS = ("none", "level")


@dataclass(frozen=True, slots=True)
class Method:
    """A scheme with its default parameters, and a filter."""

    scheme: str
    filter: str

    @classmethod
    def named(cls, name: str, schemes: Iterable[str] = SCHEMES) -> "Method":
        """Return the method named SCHEME or SCHEME+FILTER; raises a `ValueError` that lists the known names."""
        scheme, _, found = name.partition("+")
        if scheme not in schemes or (found or "none") not in FILTERS:
            known = f"{', '.join(schemes)}, each alone or with +{' or +'.join(FILTERS[1:])}"
            raise ValueError(f"unknown method {name!r}; known methods are {known}")
        return cls(scheme, found or "none")

    def policy(
        self, data: DataSet, epsilon: float, protection: Mapping[str, Any], dummies: Mapping[str, Any] | None = None
    ) -> Policy:
        """Return the policy of a series of ``data``; raises `PolicyError` if the parameters are invalid."""
        parameters = {
            "epsilon": epsilon,
            "protection": {**protection, "step": data.step_ms},
            "scheme": SCHEMES[self.scheme],
            "filter": self.filter,
            "value": data.value,
        }
        return policy_of(parameters if dummies is None else {**parameters, "dummies": dummies}, 1)


NOTHING = "nothing"  # instead of a method: nothing is released, and every value is guessed
CONSTANT = "constant"
"""In place of a method: the constant with the smallest error in each series.

Only someone who has the data knows this constant.
"""
UNRELEASED = (NOTHING, CONSTANT)
"""The baselines for every method: one constant value, chosen without and with knowledge of the data."""


class Setting(NamedTuple):
    """What a trial measures, on which data, and under which policy."""

    data: str
    method: str
    epsilon: float
    placement: Placement | None = None  # of the landmarks; None: level w-event
    measure: Literal["error", "loss", "time", "statistic"] = "error"
    """The error of releases, the temporal loss, the processor time, or the error of statistics.

    Errors are measured against raw values, the loss is that of the first steps, and the time is per decision.
    """
    window: int | None = None  # steps protected together, at level w-event or beside the landmarks
    dummies: str | None = None  # method for dummy landmarks added to the true ones
    fraction: float = 0.0  # share of the budget spent on drawing them; padding needs none
    strength: float | None = None  # of the correlation known to the adversary of a loss
    unit_ms: int | None = None  # length of a unit that a statistic protects; None: single releases, or none

    @property
    def share(self) -> int | None:
        """The percentage of steps that are landmarks; None at level w-event or if nothing is released."""
        return self.placement.share_percent if self.placement and self.method not in UNRELEASED else None
