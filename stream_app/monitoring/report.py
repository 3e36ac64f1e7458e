"""From committed batches, and from the series that changed last, to the measures."""

import time
from itertools import islice

from stream_app.kafka.owner.batch import Batch
from stream_app.monitoring.census import Census
from stream_app.monitoring.metrics import Metrics, WorkerMetric
from stream_app.monitoring.policylabel import PolicyLabels, label_of
from stream_app.monitoring.standing import Standing
from stream_app.privacy.values import NANO

_SAMPLED = 50
"""Series of a batch whose budget, rate and loss are observed: all of them would cost as much as deciding."""


def report_batch(
    metrics: Metrics, labels: PolicyLabels, partition: int, batch: Batch, barrier_seconds: float, *, waiting: int
) -> None:
    """Count a batch that was committed; ``waiting`` input records are fetched and not decided."""
    if not batch.records:
        return
    name = str(partition)
    metrics.count(WorkerMetric.EVENTS, batch.records, name)
    for (decision, scheme, default), number in batch.decisions.items():
        metrics.count(WorkerMetric.DECISIONS, number, decision, scheme, label_of(labels, default))
    for reason, number in batch.rejected.items():
        metrics.count(WorkerMetric.REJECTS, number, reason)
    for (scheme, default), spent_nano in batch.spent.items():
        metrics.count(WorkerMetric.SPEND_NANO_EPSILON, spent_nano, scheme, label_of(labels, default))
    for (scheme, default), used_nano in batch.used.items():
        metrics.count(WorkerMetric.BUDGET_USED_NANO_EPSILON, used_nano, scheme, label_of(labels, default))
    metrics.observe(WorkerMetric.BATCH_RECORDS, batch.records)
    metrics.observe(WorkerMetric.BARRIER_SECONDS, barrier_seconds)
    now = time.time()
    metrics.observe(WorkerMetric.APPEND_TO_COMMIT_SECONDS, max(0.0, now - batch.first_append_ms / 1000.0))
    metrics.set(WorkerMetric.EVENT_LAG_SECONDS, max(0.0, now - batch.last_append_ms / 1000.0), name)
    metrics.set(WorkerMetric.EVENT_LAG_RECORDS, waiting, name)
    metrics.set(WorkerMetric.OPEN_STEPS, batch.open_steps, name)
    metrics.set(WorkerMetric.KEPT_RECORDS, batch.end - batch.recall_offset, name)
    for row in islice(batch.changed.values(), _SAMPLED):
        guard = row.state.guard
        if row.policy.exhaustible and guard.budget_nano:
            metrics.observe(WorkerMetric.BUDGET_LEFT_SHARE, 1 - guard.used_nano / guard.budget_nano)
        if row.policy.sampling is not None:
            metrics.observe(WorkerMetric.SAMPLING_RATE, row.state.rate_nano / NANO)
        if row.backward_loss is not None:
            metrics.observe(WorkerMetric.BACKWARD_LOSS, row.backward_loss)


def report_census(metrics: Metrics, partition: int, census: Census) -> None:
    """Show how many series have a backward loss, and an alarming one."""
    metrics.set(WorkerMetric.CORRELATED_SERIES, census.correlated, str(partition))
    metrics.set(WorkerMetric.ALARMED_SERIES, census.alarmed, str(partition))


def report_standing(metrics: Metrics, labels: PolicyLabels, standing: Standing) -> None:
    """Show how the budgets of the series stand that changed last, in place of what was shown before."""
    metrics.replace(
        WorkerMetric.BUDGET_LEFT_SERIES,
        [((scheme, label_of(labels, default), share), n) for (scheme, default, share), n in standing.left.items()],
    )
    metrics.replace(
        WorkerMetric.BUDGET_LEFT_NANO_EPSILON,
        [((scheme, label_of(labels, default)), nano) for (scheme, default), nano in standing.left_nano.items()],
    )
    metrics.replace(
        WorkerMetric.SAMPLING_RATE_SERIES,
        [((label_of(labels, default), rate), n) for (default, rate), n in standing.rates.items()],
    )
