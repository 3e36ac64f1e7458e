"""Releases read for analysis: the content of a record, and the numbers in its noisy measurement."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isclose
from typing import Any, Final, NamedTuple

from stream_app.privacy.kinds import Category
from stream_app.privacy.noise.mechanisms import truth_probability
from stream_app.privacy.noise.moments import Noise
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.policy import Policy


class Quantity(NamedTuple):
    """An unbiased number and its noise."""

    number: float
    noise: Noise
    weight: int = 1  # in a mean over steps: the number of units, if it is a mean or share of units


DECISIONS: Final = frozenset({"perturbed", "approximated", "withheld"})
WEIGHED: Final = frozenset({"mean", "share"})
"""Statistics that a mean over steps counts once per unit of a step; sums and histograms are counted once."""
CATEGORY: Final = "category"  # the part of a category or a choice, if it needs a name


class UnsoundError(ValueError):
    """A release whose ``member`` has a value that no release can have."""

    def __init__(self, member: str) -> None:
        super().__init__(f"{member}: no release has this member")
        self.member = member


@dataclass(frozen=True, slots=True)
class Release:
    """A release as its record states it, with anything else known about its step; unknown fields are None.

    Times are integers in milliseconds, UTC.
    """

    series: str
    timestamp_ms: int
    decision: str
    policy: int
    value: Any = None
    measurement: Any = None
    scale: Any = None
    epsilon_nano: int | None = None
    statistic: str | None = None
    count: int | Mapping[str, int] | None = None  # of contributors or units, the latter by bin if the value is
    of_units: bool = False  # whether it is a statistic of a step's units, by ledger or frame
    source_ms: int | None = None
    landmark: bool | None = None  # whether the step is a landmark, by the ledger or a frame
    looks: int | None = None  # announced looks at its counters in the ledger; each added fresh noise
    noises: Mapping[str, Noise] | None = None  # the noise of the measurement by part, from a frame

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "Release":
        """Return the release in a record; raises KeyError or ValueError if the record is not a release."""
        found = cls(
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
        found.check()
        return found

    def check(self) -> None:
        """Raise `UnsoundError` for a member that is invalid: wrong type, not finite, or out of range."""
        lists = self.statistic == "histogram"
        sound = {
            "series": isinstance(self.series, str),
            "statistic": self.statistic is None or isinstance(self.statistic, str),
            "decision": self.decision in DECISIONS,
            "timestamp": _is_time(self.timestamp_ms),
            "source": self.source_ms is None or _is_time(self.source_ms),
            "policy": _is_count(self.policy),
            "count": self.count is None or _is_count(self.count) or _are_bins(self.count),
            "epsilon": self.epsilon_nano is None or (_is_count(self.epsilon_nano) and self.epsilon_nano > 0),
            "landmark": self.landmark is None or isinstance(self.landmark, bool),
            "value": _is_published(self.value) and (lists or not isinstance(self.value, list)),
            # A repeat with a filled-in measurement would count twice.
            "measurement": (self.measurement is None or self.decision == "perturbed")
            and _is_published(self.measurement)
            and (lists or not isinstance(self.measurement, list)),
            "scale": self.scale is None or all(_is_finite(each) and each > 0 for each in _listed(self.scale)),
        }
        for member, is_sound in sound.items():
            if not is_sound:
                raise UnsoundError(member)

    def check_under(self, policy: Policy | None) -> None:
        """Raise ValueError if the measurement's kind or scale shows that it was not made under this policy."""
        self.quantities(policy)
        if policy is None or self.measurement is None or self.epsilon_nano is None or self.scale is None:
            return
        made = policy.kind.stated(self.epsilon_nano, self.count)
        named, others = (each if isinstance(each, Mapping) else {"": each} for each in (made, self.scale))
        if named.keys() != others.keys() or not all(
            isclose(named[name], others[name], rel_tol=_NEAR) for name in named
        ):
            raise ValueError(_ANOTHER)

    def quantities(self, policy: Policy | None = None) -> dict[str, Quantity]:
        """Return the numbers of the measurement with their noise, by part; a single number's part is "".

        Each category gets an unbiased share, whose true value is 0 or 1; positions are in degrees. The noise comes from
        the policy, or else from the release. The result is empty for a choice, and also if neither the policy nor the
        release gives the noise. A category needs the policy. For counters that start with noise, the policy alone is
        not enough: the announced looks must be known. Raises `ValueError` if the measurement's kind differs from that
        of the policy's values.
        """
        if self.measurement is None:
            return {}
        if policy is not None and not policy.kind.accepts(self.count):
            raise ValueError(_ANOTHER)
        if policy is not None and self.epsilon_nano is not None and isinstance(policy.kind, Category):
            if category_name(self.measurement) not in map(category_name, policy.kind.categories):
                raise ValueError(_ANOTHER)
            return _shares(policy.kind, self.measurement, self.epsilon_nano)
        numbers, noises = parts_of(self.measurement), self.noises or {}
        if policy is not None and self.epsilon_nano is not None:
            intrusion_nano = policy.collect.intrusion_nano if policy.collect else None
            if intrusion_nano is None or self.looks is not None:
                noises = policy.kind.noises(self.epsilon_nano, self.count, intrusion_nano, self.looks or 0)
        if not noises.keys() <= numbers.keys():
            raise ValueError(_ANOTHER)
        return {name: Quantity(numbers[name], noise, self._weight(name)) for name, noise in noises.items()}

    def _weight(self, part: str) -> int:
        if not self.of_units or self.statistic not in WEIGHED or self.count is None:
            return 1
        return max(1, self.count[part] if isinstance(self.count, Mapping) else self.count)


_ANOTHER: Final = "a measurement of a different kind or scale than the policy's"
_NEAR: Final = 1e-3  # of a scale: closer scales mean the same noise, whatever digits a frame or a file lost
_MOST: Final = 1e150
"""Largest magnitude accepted in a release: the squares of published numbers must be finite."""


def _is_time(found: object) -> bool:
    return type(found) is int and 0 <= found <= LAST_TIMESTAMP_MS


def _is_count(found: object) -> bool:
    return type(found) is int and found >= 0


def _are_bins(found: object) -> bool:
    """Return whether ``found`` holds numbers of units by bin; bins without units are not released."""
    return isinstance(found, Mapping) and all(_is_count(number) and number > 0 for number in found.values())


def _listed(value: object) -> list[Any]:
    return list(value.values()) if isinstance(value, Mapping) else list(value) if isinstance(value, list) else [value]


def _is_finite(number: object) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and -_MOST <= number <= _MOST


def _is_published(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _is_finite(part) for name, part in value.items())
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return value is None or isinstance(value, str | bool) or _is_finite(value)


def parts_of(value: object) -> dict[str, float]:
    """Return the numbers of a published value by part: "" for one number; a category or choice has no parts.

    Bins of a histogram over edges are "0", "1" and so on.
    """
    if isinstance(value, list):
        return {str(nth): float(part) for nth, part in enumerate(value)}
    if isinstance(value, Mapping):
        return {name: float(part) for name, part in value.items()}
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"": float(value)}
    return {}


def category_name(category: object) -> str:
    """Return a category as the name of a part."""
    return category if isinstance(category, str) else str(category).lower()


def _shares(kind: Category, answer: object, epsilon_nano: int) -> dict[str, Quantity]:
    """Return an unbiased estimate by category: 1 for the true category, and 0 for all others.

    An answer is the true category with probability t, and each other category with probability f, so its expectation is
    f + (t - f)[truth].
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
    # The variance depends on the truth. This is the larger one, so that an error is never understated. Both answers are
    # bounded.
    variance = max(t * (1 - t), f * (1 - f)) / (t - f) ** 2
    return t, f, Noise(variance, 0.0, 1 / (t - f), chances=(t, f))
