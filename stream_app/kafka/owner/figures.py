"""The metrics of one partition, from its assignment until it is closed."""

import logging
import time
from collections.abc import Callable, Iterable

from stream_app.deciding.members import stored_member
from stream_app.deciding.rows import ROWS
from stream_app.kafka.owner.batch import Batch
from stream_app.kafka.owner.budgets import label_of, labels_of
from stream_app.kafka.owner.counts import CapCounts, LossCounts
from stream_app.kafka.parts import WorkerParts
from stream_app.monitoring.metric import Counter
from stream_app.monitoring.metrics import WorkerMetric

logger = logging.getLogger(__name__)

_NOT_RENEWED = (
    "partition %s: %d policies were not renewed at a bound, because lifetime_epsilon or max_epsilon leaves no room "
    "for another version; the current versions continue with their remaining budget, and renewal is tried again at "
    "their next bound"
)


class PartitionMetrics:
    """Shows one partition in the metrics; its gauges move to the next worker, while its counters stay."""

    def __init__(self, parts: WorkerParts, partition: int) -> None:
        self._metrics = parts.metrics
        self._name = str(partition)
        self._labels = labels_of(parts.context.defaults)
        self._losses = LossCounts(parts.settings)
        self._aside = parts.aside
        self._caps = CapCounts()
        self._members = parts.context.limits.member_separator is not None
        self._assigned: float | None = time.perf_counter()

    def count(self, counter: Counter, amount: int) -> None:
        """Increase a counter that is labelled with the partition."""
        self._metrics.count(counter, amount, self._name)

    def decided(self, seconds: float) -> None:
        """Record how long it took to process a batch."""
        self._metrics.observe(WorkerMetric.DECISION_SECONDS, seconds)

    def committed(self, batch: Batch, seconds: float, *, waiting: int, cached_series: int) -> None:
        """Show a batch that took ``seconds`` to commit; ``waiting`` counts fetched records not yet processed."""
        if batch.records:
            self._count_records(batch)
            self._show_progress(batch, seconds, waiting)
            self._sample(batch)
        self._metrics.set(WorkerMetric.CACHED_SERIES, cached_series, self._name)
        if self._losses.wanted:
            self._losses.move(batch.losses)
            self._show_losses()
        if batch.claims:
            self._caps.move(batch.claims)
            self._caps.show(self._metrics, self._name)

    async def survey(self, scan: Callable[[bytes], Iterable[bytes]]) -> None:
        """Recount persons with limits and series with a backward loss; ``scan`` yields rows by prefix."""
        if self._members:
            await self._aside(self._caps.take, map(stored_member, scan(b"m")))
            self._caps.show(self._metrics, self._name)
        if self._losses.wanted:
            await self._aside(self._losses.take, scan(ROWS))
            self._show_losses()

    def restored(self) -> None:
        """Record the time from assignment until records are processed; reopening a producer does not count."""
        if self._assigned is not None:
            seconds = time.perf_counter() - self._assigned
            self._metrics.set(WorkerMetric.RESTORE_SECONDS, seconds, self._name)
            logger.info("partition %s: processing records, %.1f s after it was assigned", self._name, seconds)
            self._assigned = None

    def withdraw(self) -> None:
        """Remove the partition from the metrics: its next owner shows it, and sums would otherwise count it twice."""
        self._metrics.withdraw(self._name)
        self._caps.withdraw(self._metrics, self._name)

    def _count_records(self, batch: Batch) -> None:
        metrics, labels = self._metrics, self._labels
        metrics.count(WorkerMetric.EVENTS, batch.records, self._name)
        metrics.count(WorkerMetric.TOGETHER, batch.together, self._name)
        for (decision, scheme, default), number in batch.decisions.items():
            metrics.count(WorkerMetric.DECISIONS, number, decision, scheme, label_of(labels, default))
        for outcome, number in batch.renewals.items():
            metrics.count(WorkerMetric.RENEWALS, number, outcome)
        if refused := batch.renewals.get("refused"):
            logger.warning(_NOT_RENEWED, self._name, refused)
        metrics.count(WorkerMetric.PASSED, batch.passed)
        for reason, number in batch.rejected.items():
            metrics.count(WorkerMetric.REJECTS, number, reason)
        for (scheme, default), spent_nano in batch.spent.items():
            metrics.count(WorkerMetric.SPEND_NANO_EPSILON, spent_nano, scheme, label_of(labels, default))
        for (scheme, default), used_nano in batch.used.items():
            metrics.count(WorkerMetric.BUDGET_USED_NANO_EPSILON, used_nano, scheme, label_of(labels, default))

    def _show_progress(self, batch: Batch, barrier_seconds: float, waiting: int) -> None:
        metrics, now = self._metrics, time.time()
        metrics.observe(WorkerMetric.BATCH_RECORDS, batch.records)
        metrics.observe(WorkerMetric.BARRIER_SECONDS, barrier_seconds)
        metrics.observe(WorkerMetric.APPEND_TO_COMMIT_SECONDS, max(0.0, now - batch.first_append_ms / 1000.0))
        metrics.set(WorkerMetric.EVENT_LAG_SECONDS, max(0.0, now - batch.last_append_ms / 1000.0), self._name)
        metrics.set(WorkerMetric.EVENT_LAG_RECORDS, waiting, self._name)
        metrics.set(WorkerMetric.OPEN_STEPS, batch.open_steps, self._name)
        metrics.set(WorkerMetric.KEPT_RECORDS, batch.end - batch.recall_offset, self._name)

    def _sample(self, batch: Batch) -> None:
        for group in batch.sample.budgets:
            group.observe(self._metrics)
        for loss in batch.sample.losses:
            self._metrics.observe(WorkerMetric.BACKWARD_LOSS, loss)

    def _show_losses(self) -> None:
        self._metrics.set(WorkerMetric.CORRELATED_SERIES, self._losses.correlated, self._name)
        self._metrics.set(WorkerMetric.ALARMED_SERIES, self._losses.alarmed, self._name)
