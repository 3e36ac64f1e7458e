"""What one partition shows of itself in the measures, from its assignment until it is closed."""

import asyncio
import time
from collections.abc import Callable, Iterable

from stream_app.kafka.owner.batch import Batch
from stream_app.kafka.owner.parts import Shell
from stream_app.monitoring.census import Census
from stream_app.monitoring.metrics import Counter, WorkerMetric
from stream_app.monitoring.policylabel import labels_of
from stream_app.monitoring.report import report_batch, report_census


class Figures:
    """The measures of a partition; nothing of them stays when it goes to another worker, but what was counted."""

    def __init__(self, shell: Shell, partition: int) -> None:
        """Begin with the assignment."""
        self._metrics = shell.metrics
        self._partition = partition
        self._name = str(partition)
        self._labels = labels_of(shell.context.defaults)
        self._census = Census(shell.settings)
        self._assigned: float | None = time.perf_counter()

    def count(self, counter: Counter, amount: int) -> None:
        """Add to a counter of the partition."""
        self._metrics.count(counter, amount, self._name)

    def decided(self, seconds: float) -> None:
        """Show how long a batch took to decide."""
        self._metrics.observe(WorkerMetric.DECISION_SECONDS, seconds)

    def committed(self, batch: Batch, seconds: float, *, waiting: int, cached_series: int) -> None:
        """Show a batch whose commit took ``seconds``; ``waiting`` input records are fetched and not decided."""
        report_batch(self._metrics, self._labels, self._partition, batch, seconds, waiting=waiting)
        self._metrics.set(WorkerMetric.CACHED_SERIES, cached_series, self._name)
        if self._census.counts:
            self._census.move(batch.losses)
            report_census(self._metrics, self._partition, self._census)

    async def survey(self, scan: Callable[[], Iterable[bytes]]) -> None:
        """Count the series with a backward loss anew, where a correlation is configured; ``scan`` yields all rows."""
        if self._census.counts:
            await asyncio.to_thread(self._census.take, scan())
            report_census(self._metrics, self._partition, self._census)

    def restored(self) -> None:
        """Show how long it took from the assignment until it decides; a producer opened again is no assignment."""
        if self._assigned is not None:
            self._metrics.set(WorkerMetric.RESTORE_SECONDS, time.perf_counter() - self._assigned, self._name)
            self._assigned = None

    def withdraw(self) -> None:
        """Show the partition no more: its next owner does, and a sum over workers would have it twice."""
        self._metrics.withdraw(self._name)
