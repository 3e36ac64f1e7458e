"""How large a run is, and under which policy its series are."""

from dataclasses import dataclass
from typing import Any

HOUR_MS = 3_600_000
START_MS = 1_338_534_000_000
LANDMARK_HOURS = (5, 20)
"""The landmarks of every series: an early one that short runs see too, and a stretch of the evening."""

VALUES: dict[str, dict[str, Any]] = {
    "number": {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001},
    "counts": {"kind": "counts", "keys": ["walk", "ride", "rest"]},
    "location": {
        "kind": "location",
        "radius": 200,
        "resolution": 1,
        "bounds": {"south": -11.1, "west": -37.2, "north": -10.8, "east": -36.9},
    },
    "category": {"kind": "category", "categories": ["home", "work", "shop", "road"]},
}
SCHEMES = ("uniform", "adaptive", "skip", "balanced")
FILTERS = ("none", "level")


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a run is asked for."""

    events: int
    series: int
    partitions: int = 4
    repeats: int = 3
    scheme: str = "adaptive"
    filter: str | None = None
    """None: the scheme's own default."""
    kind: str = "number"

    def document(self) -> dict[str, object]:
        """Return the sizes as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}

    def policy(self) -> dict[str, Any]:
        """Return the default policy that every series of the run is under."""
        first, last = (START_MS + hour * HOUR_MS for hour in LANDMARK_HOURS)
        policy: dict[str, Any] = {
            "series": "series-*",
            "epsilon": 1.0,
            "protection": {"level": "landmark", "landmarks": [first, [last, last + 3 * HOUR_MS]], "step": HOUR_MS},
            "scheme": {"name": self.scheme, **({"accept_risk": True} if self.scheme == "skip" else {})},
            "value": VALUES[self.kind],
        }
        if self.filter is not None:
            policy["filter"] = self.filter
        return policy
