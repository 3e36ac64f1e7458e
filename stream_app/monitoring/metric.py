"""Kinds of metrics: counter, gauge and histogram, each with its name, help text and labels."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: its name, its help text, and the names of its labels."""

    kind: ClassVar[str]
    name: str
    text: str
    labels: tuple[str, ...] = ()

    @property
    def sample(self) -> str:
        """The name of the metric's samples in a scrape."""
        return self.name


@dataclass(frozen=True, slots=True)
class Counter(Metric):
    """A number that only grows while the process runs."""

    kind = "counter"

    @property
    def sample(self) -> str:
        """The name of the counter's samples in a scrape, with the suffix that Prometheus adds to a counter's name."""
        return f"{self.name}_total"


@dataclass(frozen=True, slots=True)
class Gauge(Metric):
    """A number that can rise and fall."""

    kind = "gauge"


@dataclass(frozen=True, slots=True)
class Histogram(Metric):
    """Values counted by range, without labels."""

    kind = "histogram"
    buckets: tuple[float, ...] = ()  # upper ends of the ranges
