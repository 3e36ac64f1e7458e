"""One scrape of a metrics endpoint: samples by name, and the observations of a histogram."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families


class ScrapeError(ValueError):
    """Text that is not in Prometheus' format."""


class Sample(NamedTuple):
    """One value with its labels."""

    labels: Mapping[str, str]
    value: float


class Scrape(NamedTuple):
    """All samples at one point in time."""

    seconds: float  # on any monotonic clock
    samples: Mapping[str, list[Sample]]

    def total(self, name: str) -> float:
        """Return the sum over all labels, or 0 if there are no samples."""
        return sum(sample.value for sample in self.samples.get(name, ()))

    def largest(self, name: str) -> float:
        """Return the largest value over all labels, or 0 if there are no samples."""
        return max((sample.value for sample in self.samples.get(name, ())), default=0.0)

    def by(self, name: str, label: str) -> dict[str, int]:
        """Return the sums by one label, largest first, without zeros."""
        return {key[0]: value for key, value in self.sums(name, label).items()}

    def sums(self, name: str, *labels: str) -> dict[tuple[str, ...], int]:
        """Return the sums by the given labels, largest first, without zeros."""
        sums: dict[tuple[str, ...], float] = defaultdict(float)
        for sample in self.samples.get(name, ()):
            sums[tuple(sample.labels.get(label, "") for label in labels)] += sample.value
        ordered = sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))
        return {key: int(value) for key, value in ordered if value}


def scrape_of(text: str, seconds: float) -> Scrape:
    """Return the samples in a text; raise `ScrapeError` if the text has another format."""
    try:
        return gathered(text_string_to_metric_families(text), seconds)
    except (ValueError, IndexError, KeyError) as error:
        raise ScrapeError("not in Prometheus' text format") from error


def gathered(families: Iterable[Metric], seconds: float) -> Scrape:
    """Return the samples of metric families from a text or from a registry of this process."""
    samples: dict[str, list[Sample]] = {}
    for family in families:
        for sample in family.samples:
            samples.setdefault(sample.name, []).append(Sample(sample.labels, sample.value))
    return Scrape(seconds, samples)


def per_second(before: Scrape | None, after: Scrape, name: str) -> float | None:
    """Return a counter's growth per second between two scrapes, or None if there is no earlier scrape.

    A counter below its earlier value started over at 0, as in Prometheus' `rate`.
    """
    if before is None or after.seconds <= before.seconds:
        return None
    old, new = before.total(name), after.total(name)
    return (new if new < old else new - old) / (after.seconds - before.seconds)


@dataclass(frozen=True, slots=True)
class Distribution:
    """The number of observations in each range of a histogram."""

    counts: Mapping[str, int] = field(default_factory=dict)
    """Observations by the upper end of their range, as Prometheus writes it (`le`), in ascending order."""
    total: float = 0.0  # sum of the observed values

    @property
    def observations(self) -> int:
        """Return the number of observations."""
        return sum(self.counts.values())

    @property
    def mean(self) -> float | None:
        """Return the mean of the observed values, or None if there are none."""
        return self.total / self.observations if self.observations else None

    def since(self, before: "Distribution") -> "Distribution":
        """Return the growth since `before`, or everything if a restart made the counts smaller."""
        if before.observations > self.observations:
            return self
        counts = {upper: count - before.counts.get(upper, 0) for upper, count in self.counts.items()}
        return Distribution(counts, self.total - before.total)

    def __add__(self, other: "Distribution") -> "Distribution":
        counts = Counter(self.counts)
        counts.update(other.counts)
        return Distribution(dict(sorted(counts.items(), key=lambda pair: float(pair[0]))), self.total + other.total)


def distribution_of(scrape: Scrape | None, name: str) -> Distribution:
    """Return a histogram's observations since its start; empty if the scrape or the histogram is missing."""
    if scrape is None:
        return Distribution()
    buckets = [(sample.labels["le"], int(sample.value)) for sample in scrape.samples.get(f"{name}_bucket", ())]
    buckets.sort(key=lambda pair: float(pair[0]))  # "+Inf" comes last
    below = [0, *(count for _, count in buckets)]
    counts = {upper: count - less for (upper, count), less in zip(buckets, below, strict=False)}
    return Distribution(counts, scrape.total(f"{name}_sum"))
