"""The last minutes of one endpoint, in memory: some hundred bytes a sample, and no more samples than fit."""

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from stream_app.monitoring.distribution import Distribution, distribution_of
from stream_app.monitoring.scrape import Scrape
from stream_app.monitoring.snapshot import AuditSight, Sight, WorkerSight, sight_of

EVERY_SECONDS: Final = 5.0
"""From one sample to the next; one takes about a millisecond."""
PLACES: Final = 120
"""Samples that are kept: those of ten minutes."""
LEAST_SECONDS: Final = EVERY_SECONDS / 2
"""Rates are over no less: a worker commits about once a second."""
DISTRIBUTIONS: Final = ("landmark_budget_left_share", "landmark_sampling_rate", "landmark_backward_loss")


class Sample(NamedTuple):
    """What is kept of one moment."""

    sight: Sight
    distributions: dict[str, Distribution]  # by metric, since the start


class History:
    """Samples, oldest first, and the two last scrapes, from which rates are computed."""

    def __init__(self) -> None:
        """Begin with none."""
        self._samples: deque[Sample] = deque(maxlen=PLACES)
        self._scrapes: deque[Scrape] = deque(maxlen=2)

    def add(self, scrape: Scrape) -> None:
        """Keep a scrape as the newest sample."""
        distributions = {name: distribution_of(scrape, name) for name in DISTRIBUTIONS}
        self._samples.append(Sample(self.sight(scrape), distributions))
        self._scrapes.append(scrape)

    def sight(self, scrape: Scrape) -> Sight:
        """Return what there is to see now; rates are those of the last seconds."""
        old = (each for each in reversed(self._scrapes) if scrape.seconds - each.seconds >= LEAST_SECONDS)
        return sight_of("", next(old, None), scrape)

    def of_worker(self, figure: Callable[[WorkerSight], float | None]) -> list[float | None]:
        """Return one figure of every sample; None where there is none."""
        sights = (sample.sight for sample in self._samples)
        return [figure(sight) if isinstance(sight, WorkerSight) else None for sight in sights]

    def of_audit(self, figure: Callable[[AuditSight], float | None]) -> list[float | None]:
        """Return one figure of every sample; None where there is none."""
        sights = (sample.sight for sample in self._samples)
        return [figure(sight) if isinstance(sight, AuditSight) else None for sight in sights]

    def lately(self, name: str, scrape: Scrape) -> Distribution:
        """Return what a histogram observed since the oldest sample; since the start while none was dropped."""
        whole = distribution_of(scrape, name)
        if len(self._samples) < PLACES:
            return whole
        return whole.since(self._samples[0].distributions[name])
