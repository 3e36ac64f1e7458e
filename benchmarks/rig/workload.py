"""The input of a run: its sizes, the policy of its series, and its events.

Every series has one event per hour, in turn, with values that every machine computes identically.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stream_app.formats import wire
from stream_app.kafka.client.sending import Event

HOUR_MS = 3_600_000
START_MS = 1_338_534_000_000
LANDMARK_HOURS = (5, 20)
"""The landmarks of every series: an early hour, which even short runs reach, and some evening hours."""

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
MEMBER_SERIES = 5
"""Series per person, if events belong to persons."""
SCHEMES = ("uniform", "adaptive", "skip", "balanced")
FILTERS = ("none", "level")


@dataclass(frozen=True, slots=True)
class Sizes:
    """The size of a run, and the policy of its series."""

    events: int
    series: int
    partitions: int = 4
    repeats: int = 3
    scheme: str = "adaptive"
    filter: str | None = None
    """Filter of the policy; None means the scheme's default."""
    kind: str = "number"

    def document(self) -> dict[str, object]:
        """Return the sizes as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}

    def policy(self) -> dict[str, Any]:
        """Return the default policy of every series in the run."""
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


_STRIDE, _PERIOD = 7_919, 9_973  # both prime: values go up and down without a pattern that noise could follow


def events(sizes: Sizes, start: int = 0, *, members: bool = False) -> Iterator[Event]:
    """Yield ``sizes.events`` events from number ``start`` on; numbers cycle through the series.

    With ``members``, `MEMBER_SERIES` consecutive series belong to one person, who is the key and is named in their ids
    before a slash.
    """
    for number in range(start, start + sizes.events):
        at = number % sizes.series
        key = f"series-{at // MEMBER_SERIES:07d}" if members else f"series-{at:07d}"
        series = f"{key}/{at % MEMBER_SERIES}" if members else key
        document = {
            "type": "observation",
            "series": series,
            "timestamp": START_MS + number // sizes.series * HOUR_MS,
            "value": value(sizes.kind, number),
        }
        yield Event(key.encode(), wire.dump(document))


def value(kind: str, number: int) -> object:
    """Return the raw value of an event; it is synthetic so that a benchmark contains no personal data."""
    spread = number * _STRIDE % _PERIOD
    if kind == "number":
        return spread / 1000
    if kind == "counts":
        return {"walk": spread % 13, "ride": spread % 5, "rest": spread % 29}
    if kind == "location":
        return {"latitude": -11 + spread / 100_000, "longitude": -37.1 + spread / 100_000}
    categories: list[str] = VALUES["category"]["categories"]
    return categories[spread % len(categories)]
