"""How often each range of a histogram was met, between two scrapes or since the start."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from stream_app.monitoring.scrape import Scrape


@dataclass(frozen=True, slots=True)
class Distribution:
    """Observations by range."""

    counts: Mapping[str, int] = field(default_factory=dict)
    """By the range's upper end, as Prometheus writes it (`le`); in growing order."""
    total: float = 0.0
    """Sum of the values that were observed."""

    @property
    def observations(self) -> int:
        """Return how many there are in all."""
        return sum(self.counts.values())

    @property
    def mean(self) -> float | None:
        """Return the mean of what was observed; None where nothing was."""
        return self.total / self.observations if self.observations else None

    def since(self, before: "Distribution") -> "Distribution":
        """Return what came after `before`; all of it where that counted more, since the counting began anew."""
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
