"""The last minutes of one endpoint, in memory: a few hundred bytes per sample, up to a maximum number of samples."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from stream_app.monitoring.metric import Histogram
from stream_app.monitoring.scrape import Distribution, Scrape
from stream_app.monitoring.snapshot import AuditSnapshot, Snapshot, WorkerDetail, WorkerSnapshot, brief, snapshot_of

Kind = TypeVar("Kind", WorkerSnapshot, AuditSnapshot)

EVERY_SECONDS: Final = 5.0  # between samples; one takes about a millisecond
PLACES: Final = 120  # number of samples kept: ten minutes
LEAST_SECONDS: Final = EVERY_SECONDS / 2  # minimum time for rates: a worker commits about once a second


class History:
    """Samples, oldest first, and the last two scrapes, from which rates are computed."""

    def __init__(self) -> None:
        # Snapshots without details, with their distributions since the start, by metric.
        self._samples: deque[tuple[Snapshot, Mapping[str, Distribution]]] = deque(maxlen=PLACES)
        self._scrapes: deque[Scrape] = deque(maxlen=2)

    def add(self, scrape: Scrape) -> None:
        """Keep a scrape as the newest sample."""
        seen = self.snapshot(scrape)
        detail = seen.detail if isinstance(seen, WorkerSnapshot) else None
        self._samples.append((brief(seen), detail.distributions if detail is not None else {}))
        self._scrapes.append(scrape)

    def snapshot(self, scrape: Scrape) -> Snapshot:
        """Return the snapshot of ``scrape``; rates cover the time since the newest scrape that is old enough."""
        old = (each for each in reversed(self._scrapes) if scrape.seconds - each.seconds >= LEAST_SECONDS)
        return snapshot_of("", next(old, None), scrape)

    def of(self, kind: type[Kind], figure: Callable[[Kind], float | None]) -> list[float | None]:
        """Return a figure of every sample, oldest first; None marks an unknown figure."""
        return [figure(snapshot) if isinstance(snapshot, kind) else None for snapshot, _ in self._samples]

    def observed(self, histogram: Histogram, detail: WorkerDetail) -> Distribution:
        """Return a histogram's observations since the oldest sample, or since the start if no sample was dropped."""
        whole = detail.distributions[histogram.name]
        return whole if len(self._samples) < PLACES else whole.since(self._samples[0][1][histogram.name])
