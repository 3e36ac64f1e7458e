"""Releases read for analysis: what stands in a record, and the numbers in its measurement with their noise."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from stream_app.analysis.noise import Noise, noises_of, stated
from stream_app.privacy.kinds import Category
from stream_app.privacy.noise.mechanisms import truth_probability
from stream_app.privacy.policy import Policy


class Quantity(NamedTuple):
    """An unbiased number, and the noise in it."""

    number: float
    noise: Noise


CATEGORY: Final = "category"
"""The part of a category or a choice, where it needs a name."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release as its record has it; what a record lacks is None. Times are integers of milliseconds, UTC."""

    series: str
    timestamp_ms: int
    decision: str
    policy: int
    value: Any = None
    measurement: Any = None
    scale: Any = None
    epsilon_nano: int | None = None
    statistic: str | None = None
    count: int | None = None
    source_ms: int | None = None

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "Release":
        """Return the release that a record holds; raises KeyError for what is none."""
        return cls(
            series=record["series"],
            timestamp_ms=record["timestamp"],
            decision=record["decision"],
            policy=record["policy"],
            value=record.get("value"),
            measurement=record.get("measurement"),
            scale=record.get("scale"),
            epsilon_nano=record.get("epsilon_nano"),
            statistic=record.get("statistic"),
            count=record.get("count"),
            source_ms=record.get("source"),
        )

    def quantities(self, policy: Policy | None = None) -> dict[str, Quantity]:
        """Return the numbers of the measurement with their noise, by part; a single number's part is "".

        With the policy noise is exact, categories become unbiased shares of 0 or 1 by category, and positions are in
        degrees. Without it these have none. A release without measurement has none, and a choice neither.
        """
        if self.measurement is None or self.epsilon_nano is None:
            return {}
        if policy is None:
            return self._stated()
        if isinstance(policy.kind, Category):
            return _shares(policy.kind, self.measurement, self.epsilon_nano)
        intrusion_nano = policy.collect.intrusion_nano if policy.collect else None
        noises = noises_of(policy.kind, self.epsilon_nano, self.count or 1, intrusion_nano)
        numbers = parts_of(self.measurement)
        return {name: Quantity(numbers[name], noise) for name, noise in noises.items()}

    def _stated(self) -> dict[str, Quantity]:
        numbers = parts_of(self.measurement)
        if numbers.keys() == {"latitude", "longitude"} and not isinstance(self.scale, Mapping):
            return {}  # the scale is one of metres, and its rate hangs on the policy's resolution
        scales = self.scale if isinstance(self.scale, Mapping) else dict.fromkeys(numbers, self.scale)
        return {name: Quantity(number, stated(float(scales[name]))) for name, number in numbers.items()}


def parts_of(value: object) -> dict[str, float]:
    """Return the numbers of a published value by part, a single number under "", none of a category or a choice."""
    if isinstance(value, Mapping):
        return {name: float(part) for name, part in value.items()}
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"": float(value)}
    return {}


def category_name(category: object) -> str:
    """Return a category as the name of a part."""
    return category if isinstance(category, str) else str(category).lower()


def _shares(kind: Category, answer: object, epsilon_nano: int) -> dict[str, Quantity]:
    """Return, by category, 1 where it is the true one and 0 where not, unbiased.

    An answer is the true category with t, each other one with f: its expectation is f + (t - f)[truth].
    """
    t, f, noise = _answering(kind, epsilon_nano)
    return {
        category_name(category): Quantity(((category_name(category) == category_name(answer)) - f) / (t - f), noise)
        for category in kind.categories
    }


@lru_cache(maxsize=4096)
def _answering(kind: Category, epsilon_nano: int) -> tuple[float, float, Noise]:
    k = len(kind.categories)
    t = truth_probability(epsilon_nano, k)
    f = (1 - t) / (k - 1)
    # The variance hangs on the truth: the larger one, so that an error is never understated. Both answers are bounded.
    variance = max(t * (1 - t), f * (1 - f)) / (t - f) ** 2
    return t, f, Noise(variance, 0.0, 1 / (t - f))
