"""One scrape of a metrics endpoint: samples by name, and what a histogram observed."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families


class ScrapeError(ValueError):
    """A text is not in Prometheus' format."""


class Sample(NamedTuple):
    """One value under its labels."""

    labels: Mapping[str, str]
    value: float


class Scrape(NamedTuple):
    """All samples at one moment."""

    seconds: float  # on any steady clock
    samples: Mapping[str, list[Sample]]

    def total(self, name: str) -> float:
        """Return the sum over all labels; 0 where there is none."""
        return sum(sample.value for sample in self.samples.get(name, ()))

    def largest(self, name: str) -> float:
        """Return the largest value over all labels; 0 where there is none."""
        return max((sample.value for sample in self.samples.get(name, ())), default=0.0)

    def by(self, name: str, label: str) -> dict[str, int]:
        """Return the sums by one label, largest first, without those that are 0."""
        return {key[0]: value for key, value in self.sums(name, label).items()}

    def sums(self, name: str, *labels: str) -> dict[tuple[str, ...], int]:
        """Return the sums by some labels, largest first, without those that are 0."""
        sums: dict[tuple[str, ...], float] = defaultdict(float)
        for sample in self.samples.get(name, ()):
            sums[tuple(sample.labels.get(label, "") for label in labels)] += sample.value
        ordered = sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))
        return {key: int(value) for key, value in ordered if value}


def scrape_of(text: str, seconds: float) -> Scrape:
    """Return the samples of a text; raises `ScrapeError` for what is none."""
    try:
        return gathered(text_string_to_metric_families(text), seconds)
    except (ValueError, IndexError, KeyError) as error:
        raise ScrapeError("not in Prometheus' text format") from error


def gathered(families: Iterable[Metric], seconds: float) -> Scrape:
    """Return the samples of metric families, of a text or of a registry of this process."""
    samples: dict[str, list[Sample]] = {}
    for family in families:
        for sample in family.samples:
            samples.setdefault(sample.name, []).append(Sample(sample.labels, sample.value))
    return Scrape(seconds, samples)


def per_second(before: Scrape | None, after: Scrape, name: str) -> float | None:
    """Return by how much a counter grew in a second between two scrapes; None without an earlier one.

    A counter below its earlier value began anew at 0, as Prometheus' `rate` has it.
    """
    if before is None or after.seconds <= before.seconds:
        return None
    old, new = before.total(name), after.total(name)
    return (new if new < old else new - old) / (after.seconds - before.seconds)


@dataclass(frozen=True, slots=True)
class Distribution:
    """How often each range of a histogram was met."""

    counts: Mapping[str, int] = field(default_factory=dict)
    """Observations by the upper end of their range, as Prometheus writes it (`le`), in growing order."""
    total: float = 0.0  # sum of the values that were observed

    @property
    def observations(self) -> int:
        """Return the number of observations."""
        return sum(self.counts.values())

    @property
    def mean(self) -> float | None:
        """Return the mean of the observed values; None where there are none."""
        return self.total / self.observations if self.observations else None

    def since(self, before: "Distribution") -> "Distribution":
        """Return the growth since `before`; everything if a restart made the counts smaller."""
        if before.observations > self.observations:
            return self
        counts = {upper: count - before.counts.get(upper, 0) for upper, count in self.counts.items()}
        return Distribution(counts, self.total - before.total)

    def __add__(self, other: "Distribution") -> "Distribution":
        counts = Counter(self.counts)
        counts.update(other.counts)
        return Distribution(dict(sorted(counts.items(), key=lambda pair: float(pair[0]))), self.total + other.total)


def distribution_of(scrape: Scrape | None, name: str) -> Distribution:
    """Return what a histogram observed since its start; empty without a scrape or such a histogram."""
    if scrape is None:
        return Distribution()
    buckets = [(sample.labels["le"], int(sample.value)) for sample in scrape.samples.get(f"{name}_bucket", ())]
    buckets.sort(key=lambda pair: float(pair[0]))  # "+Inf" is the last
    below = [0, *(count for _, count in buckets)]
    counts = {upper: count - less for (upper, count), less in zip(buckets, below, strict=False)}
    return Distribution(counts, scrape.total(f"{name}_sum"))
