"""The data of an evaluation: series of raw readings of one kind, and how their values are declared."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import islice
from typing import Any, NamedTuple

from stream_app.formats import wire
from stream_app.formats.records import Observation
from stream_app.privacy.values import Raw

SHARE_WRONG = "share wrong"
"""The unit of errors of categories, from 0 to 1."""


class Reading(NamedTuple):
    """A raw value; plain, so that it goes to other processes. Its repr shows the time alone."""

    timestamp_ms: int
    value: Raw

    def __repr__(self) -> str:
        # PRIVACY: whatever prints a reading, a traceback too, shows no value.
        return f"Reading({self.timestamp_ms})"


@dataclass(frozen=True, slots=True)
class DataSet:
    """Series in the order of time, at most one reading a step, every reading of the declared kind."""

    name: str
    unit: str
    """Of the errors."""
    epsilon: float
    step_ms: int
    value: Mapping[str, Any]
    """The member ``value`` of a policy."""
    series: Mapping[str, Sequence[Reading]] = field(repr=False)

    @classmethod
    def of(cls, observations: Iterable[Observation], declared: "DataSet") -> "DataSet":
        """Return ``declared`` with these observations: sorted, and only the first of each step."""
        by_series: dict[str, dict[int, Reading]] = {}
        for one in sorted(observations, key=lambda one: one.timestamp_ms):
            steps = by_series.setdefault(one.series, {})
            steps.setdefault(one.timestamp_ms // declared.step_ms, Reading(one.timestamp_ms, one.value))
        return replace(declared, series={name: tuple(steps.values()) for name, steps in sorted(by_series.items())})

    def first(self, steps: int) -> "DataSet":
        """Return the first ``steps`` steps with a reading of every series."""
        return replace(self, series={name: tuple(islice(found, steps)) for name, found in self.series.items()})

    def __len__(self) -> int:
        """Return how many readings there are."""
        return sum(len(found) for found in self.series.values())

    def digest(self) -> str:
        """Return a digest of all of it, the raw values too."""
        digest = blake2b(digest_size=16, person=b"evaluation-data")
        for part in self._parts():
            digest.update(wire.dump(part) + b"\n")
        return digest.hexdigest()

    def _parts(self) -> Iterator[object]:
        yield [self.name, self.unit, self.epsilon, self.step_ms, self.value]
        for name, found in self.series.items():
            yield [name, *map(tuple, found)]
