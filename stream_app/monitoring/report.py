"""From committed batches, and from the series that changed last, to the measures."""

import time
from itertools import islice

from stream_app.kafka.owner.batch import Batch
from stream_app.monitoring.census import Census
from stream_app.monitoring.metrics import Metrics
from stream_app.monitoring.policylabel import PolicyLabels, label_of
from stream_app.monitoring.standing import Standing
from stream_app.privacy.rational import NANO

_SAMPLED = 50
"""Series of a batch whose budget, rate and loss are observed: all of them would cost as much as deciding."""


def report_batch(
    metrics: Metrics, labels: PolicyLabels, partition: int, batch: Batch, barrier_seconds: float, *, waiting: int
) -> None:
    """Count a batch that was committed; ``waiting`` input records are fetched and not decided."""
    if not batch.records:
        return
    name = str(partition)
    metrics.count("landmark_events", batch.records, name)
    for (decision, scheme, default), number in batch.decisions.items():
        metrics.count("landmark_decisions", number, decision, scheme, label_of(labels, default))
    for reason, number in batch.rejected.items():
        metrics.count("landmark_rejects", number, reason)
    for (scheme, default), spent_nano in batch.spent.items():
        metrics.count("landmark_spend_nano_epsilon", spent_nano, scheme, label_of(labels, default))
    for (scheme, default), used_nano in batch.used.items():
        metrics.count("landmark_budget_used_nano_epsilon", used_nano, scheme, label_of(labels, default))
    metrics.observe("landmark_batch_records", batch.records)
    metrics.observe("landmark_barrier_seconds", barrier_seconds)
    now = time.time()
    metrics.observe("landmark_append_to_commit_seconds", max(0.0, now - batch.first_append_ms / 1000.0))
    metrics.set("landmark_event_lag_seconds", max(0.0, now - batch.last_append_ms / 1000.0), name)
    metrics.set("landmark_event_lag_records", waiting, name)
    metrics.set("landmark_open_steps", batch.open_steps, name)
    metrics.set("landmark_kept_records", batch.end - batch.recall_offset, name)
    for row in islice(batch.changed.values(), _SAMPLED):
        guard = row.state.guard
        if row.policy.exhaustible and guard.budget_nano:
            metrics.observe("landmark_budget_left_share", 1 - guard.used_nano / guard.budget_nano)
        if row.policy.sampling is not None:
            metrics.observe("landmark_sampling_rate", row.state.rate_nano / NANO)
        if row.backward_loss is not None:
            metrics.observe("landmark_backward_loss", row.backward_loss)


def report_census(metrics: Metrics, partition: int, census: Census) -> None:
    """Show how many series have a backward loss, and an alarming one."""
    metrics.set("landmark_correlated_series", census.correlated, str(partition))
    metrics.set("landmark_alarmed_series", census.alarmed, str(partition))


def report_standing(metrics: Metrics, labels: PolicyLabels, standing: Standing) -> None:
    """Show how the budgets of the series stand that changed last, in place of what was shown before."""
    metrics.replace(
        "landmark_budget_left_series",
        [((scheme, label_of(labels, default), share), n) for (scheme, default, share), n in standing.left.items()],
    )
    metrics.replace(
        "landmark_budget_left_nano_epsilon",
        [((scheme, label_of(labels, default)), nano) for (scheme, default), nano in standing.left_nano.items()],
    )
    metrics.replace(
        "landmark_sampling_rate_series",
        [((label_of(labels, default), rate), n) for (default, rate), n in standing.rates.items()],
    )
