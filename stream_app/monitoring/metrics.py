"""Metrics of a worker and of an audit that follows a ledger, and their registry, without series labels.

# PRIVACY: no figure holds a value; budgets, decisions and rates are functions of releases and public facts. But counts
of records and rejects can be private: contributions are the sum of raw counters, and `invalid-value` shows whether
values were valid. So metrics are for operators only. Labels name no series, value or text of a policy. With few series,
this hides nobody: metrics then show what the ledger shows, so people who may not read the ledger may not see metrics.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import prometheus_client as prometheus

from stream_app.monitoring.metric import Counter, Gauge, Histogram, Metric

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SHARES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
CLASSES: Final = tuple(f"{share:.2f}" for share in _SHARES)  # upper ends; the names sort in this order
USED_UP: Final = CLASSES[:3]  # classes of a used-up budget; dashboards and rules name them too
CLAIMED: Final = CLASSES[:4]  # classes with at least 90 % of a limit reserved
_WAITS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600)
_LOSSES = (0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 5, 7, 10, 15, 20, 50, 100)
_RECORDS = (1, 10, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000)


def class_of(share: float) -> str:
    """Return the class of a share from 0 to 1."""
    return CLASSES[bisect_left(_SHARES, share)]


def classes_of(shares: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """Return the index in `CLASSES` of each share's class."""
    return np.searchsorted(_SHARES, shares)


class WorkerMetric:
    """The metrics of a worker; one line here adds a metric to `/metrics`, the docs and ``Metrics``."""

    EVENTS: Final = Counter(
        "landmark_events",
        "Input records processed and committed, including contributions: for operators only.",
        ("partition",),
    )
    TOGETHER: Final = Counter("landmark_events_together", "Input records processed as columns.", ("partition",))
    DECISIONS: Final = Counter(
        "landmark_decisions",
        "Records that changed a series: perturbed, approximated, withheld, or control (policy, landmarks, close).",
        ("decision", "scheme", "policy"),
    )
    RENEWALS: Final = Counter(
        "landmark_renewals",
        "Policy renewals that an event triggered: begun (the next version started), or refused (it has no budget, so "
        "the current version continues).",
        ("outcome",),
    )
    REJECTS: Final = Counter("landmark_rejects", "Rejected records, by reason code.", ("reason",))
    PASSED: Final = Counter(
        "landmark_passed_views", "Records missed by views that, according to a reject, could not start."
    )
    SPEND_NANO_EPSILON: Final = Counter(
        "landmark_spend_nano_epsilon",
        "Epsilon spent on all measurements, in 1e-9: releases, private dissimilarities and draws of dummies, added up "
        "over all steps.",
        ("scheme", "policy"),
    )
    BUDGET_USED_NANO_EPSILON: Final = Counter(
        "landmark_budget_used_nano_epsilon",
        "Growth of the loss that the guarantee limits: all landmarks (late landmarks as charged) and the costliest "
        "other step, in 1e-9 epsilon (levels landmark and user).",
        ("scheme", "policy"),
    )
    BUDGET_MOST_USED_NANO_EPSILON: Final = Gauge(
        "landmark_budget_most_used_nano_epsilon",
        "Largest share of a limit among the series that changed last: what that series used, for all landmarks and the "
        "costliest other step or window, in 1e-9 epsilon; all levels.",
    )
    BUDGET_MOST_PROMISED_NANO_EPSILON: Final = Gauge(
        "landmark_budget_most_promised_nano_epsilon",
        "Limit of the series in landmark_budget_most_used_nano_epsilon: the epsilon of its policy, in 1e-9; 0 if no "
        "series changed.",
    )
    BUDGET_LEFT_NANO_EPSILON: Final = Gauge(
        "landmark_budget_left_nano_epsilon",
        "Total remaining budget of the series that changed last, in 1e-9 epsilon; levels landmark and user.",
        ("scheme", "policy"),
    )
    BUDGET_LEFT_SERIES: Final = Gauge(
        "landmark_budget_left_series",
        "Recently changed series by share of budget left; the label is the upper bound of each class. Omits "
        "series that have little left as planned, after all landmarks or their length.",
        ("scheme", "policy", "share"),
    )
    CAP_LEFT_MEMBERS: Final = Gauge(
        "landmark_cap_left_members",
        "People with a limit, by unreserved share; the label is the upper bound of each class.",
        ("partition", "share"),
    )
    SAMPLING_RATE_SERIES: Final = Gauge(
        "landmark_sampling_rate_series",
        "Recently changed series by sampling rate; the label is the upper bound of each class.",
        ("policy", "rate"),
    )
    BUDGET_LEFT_SHARE: Final = Histogram(
        "landmark_budget_left_share",
        "Share of budget left, for those of the first 50 open series of each batch whose budget can be used up.",
        buckets=_SHARES,
    )
    SAMPLING_RATE: Final = Histogram(
        "landmark_sampling_rate",
        "Sampling rate of the adaptive scheme, for the first 50 open series of each batch.",
        buckets=_SHARES,
    )
    DEFAULT_POLICY_EPSILON: Final = Gauge(
        "landmark_default_policy_epsilon", "Epsilon of each configured default policy.", ("policy", "level", "scheme")
    )
    BACKWARD_LOSS: Final = Histogram(
        "landmark_backward_loss",
        "Backward loss, for the first 50 series of each batch whose policy names a correlation.",
        buckets=_LOSSES,
    )
    CORRELATED_SERIES: Final = Gauge(
        "landmark_correlated_series", "Series whose policy names a correlation.", ("partition",)
    )
    ALARMED_SERIES: Final = Gauge(
        "landmark_alarmed_series", "Series with a backward loss of at least correlation_alarm.", ("partition",)
    )
    BATCH_RECORDS: Final = Histogram(
        "landmark_batch_records", "Input records per batch; each batch is one transaction.", buckets=_RECORDS
    )
    BARRIER_SECONDS: Final = Histogram(
        "landmark_barrier_seconds", "Time until a transaction is committed and in RocksDB.", buckets=_SECONDS
    )
    DECISION_SECONDS: Final = Histogram(
        "landmark_decision_seconds", "Time to process a batch, including other partitions' turns.", buckets=_SECONDS
    )
    APPEND_TO_COMMIT_SECONDS: Final = Histogram(
        "landmark_append_to_commit_seconds",
        "Time from the append of a batch's first event until its commit.",
        buckets=_WAITS,
    )
    EVENT_LAG_SECONDS: Final = Gauge(
        "landmark_event_lag_seconds",
        "Time from the append of a batch's last event until its commit; 0 if nothing is waiting.",
        ("partition",),
    )
    EVENT_LAG_RECORDS: Final = Gauge(
        "landmark_event_lag_records",
        "Input records not processed yet; absent outside the consumer group.",
        ("partition",),
    )
    OPEN_STEPS: Final = Gauge(
        "landmark_open_steps", "Open steps, which still accept contributions or readings.", ("partition",)
    )
    KEPT_RECORDS: Final = Gauge(
        "landmark_kept_records",
        "Processed input that a restart would read again, because open steps count it.",
        ("partition",),
    )
    RECALLED_RECORDS: Final = Counter(
        "landmark_recalled_records",
        "Input records read again after an assignment, because open steps count them.",
        ("partition",),
    )
    RESTORE_SECONDS: Final = Gauge(
        "landmark_restore_seconds",
        "Time from a partition's assignment until it processes events: fencing, state, tail, recall.",
        ("partition",),
    )
    RECOVERY_REMAINING: Final = Gauge("landmark_recovery_remaining", "Changelog offsets still to be read back.")
    STANDBY_REMAINING: Final = Gauge(
        "landmark_standby_remaining",
        "Changelog offsets by which the standby copies here lagged when they were assigned.",
    )
    RECOVERED_ROWS: Final = Gauge("landmark_recovered_rows", "Changelog rows read back since the start.")
    STATE_BYTES: Final = Gauge("landmark_state_bytes", "Size of the local state's files.")
    DAMAGED_COPIES: Final = Counter(
        "landmark_damaged_copies",
        "Damaged local copies that were discarded and read back: corrupt (checksum, format) or unreadable (a file).",
        ("cause",),
    )
    CACHED_SERIES: Final = Gauge("landmark_cached_series", "Series kept in memory.", ("partition",))
    DEGRADED: Final = Gauge(
        "landmark_degraded",
        "1 while the brokers have not answered for 20 seconds, so that nothing can be processed; otherwise 0.",
    )
    IN_GROUP: Final = Gauge(
        "landmark_in_group", "1 while the worker is in its consumer group; 0 outside it, such as during a rebalance."
    )
    PARTITIONS_CONFIGURED: Final = Gauge(
        "landmark_partitions_configured",
        "Partitions that all workers together should serve (the `partitions` setting); each worker reports the same "
        "value.",
    )
    PARTITIONS_RUNNING: Final = Gauge(
        "landmark_partitions_running", "Partitions that this worker owns and serves; 0 outside its consumer group."
    )
    PARTITIONS_STOPPED: Final = Gauge(
        "landmark_partitions_stopped", "Partitions that stopped and need an operator.", ("reason",)
    )
    FIRST_KEY_EPOCH: Final = Gauge(
        "landmark_first_key_epoch",
        "First key epoch whose noise this worker can draw; earlier ones were erased when it started.",
    )
    KEY_INFO: Final = Gauge(
        "landmark_key_info",
        "1, labelled with the fingerprint of the noise key that this worker uses.",
        ("fingerprint",),
    )
    HEADS: Final = Counter("landmark_heads", "Signed heads of the ledger that this worker wrote.", ("partition",))
    REOPENED: Final = Counter("landmark_reopened", "How often a partition's producer was reopened.", ("partition",))
    BUILD: Final = Gauge("landmark_build", "1, labelled with the version of the program.", ("version",))


class AuditMetric:
    """The metrics of ``audit --follow``."""

    FINDINGS: Final = Counter(
        "landmark_audit_findings", "Findings of an audit that follows the ledger, by code.", ("code",)
    )
    ENTRIES: Final = Gauge("landmark_audit_entries", "Ledger entries that were audited, excluding copies.")
    SERIES: Final = Gauge("landmark_audit_series", "Series that were audited.")
    UNSIGNED_ENTRIES: Final = Gauge(
        "landmark_audit_unsigned_entries", "Audited entries that no signed head covers yet."
    )
    LAG_RECORDS: Final = Gauge("landmark_audit_lag_records", "Committed ledger and release records not audited yet.")


def _by_name(defined: type) -> dict[str, Metric]:
    return {metric.name: metric for metric in vars(defined).values() if isinstance(metric, Metric)}


TABLE: Final = _by_name(WorkerMetric)  # a worker's metrics by name, in the order of `/metrics`
AUDIT_TABLE: Final = _by_name(AuditMetric)  # the same for an audit that follows a ledger


class Metrics:
    """The values of all metrics of one process."""

    def __init__(self, table: Mapping[str, Metric] = TABLE) -> None:
        self.registry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=self.registry)
        self._counters: dict[str, prometheus.Counter] = {}
        self._gauges: dict[str, prometheus.Gauge] = {}
        self._histograms: dict[str, prometheus.Histogram] = {}
        for metric in table.values():
            name, text, labels = metric.name, metric.text, metric.labels
            if isinstance(metric, Counter):
                self._counters[name] = prometheus.Counter(name, text, labels, registry=self.registry)
            elif isinstance(metric, Gauge):
                self._gauges[name] = prometheus.Gauge(name, text, labels, registry=self.registry)
            elif isinstance(metric, Histogram):
                self._histograms[name] = prometheus.Histogram(
                    name, text, registry=self.registry, buckets=metric.buckets
                )
        self._of_partitions = [gauge for name, gauge in self._gauges.items() if table[name].labels == ("partition",)]

    def count(self, counter: Counter, amount: float = 1, *labels: str) -> None:
        """Add to a counter."""
        measure = self._counters[counter.name]
        (measure.labels(*labels) if labels else measure).inc(amount)

    def set(self, gauge: Gauge, value: float, *labels: str) -> None:
        """Set a gauge."""
        measure = self._gauges[gauge.name]
        (measure.labels(*labels) if labels else measure).set(value)

    def drop(self, gauge: Gauge, *labels: str) -> None:
        """Remove one labelled value of a gauge, whether it was set or not."""
        self._gauges[gauge.name].remove(*labels)

    def forget(self, gauge: Gauge) -> None:
        """Remove all labelled values of a gauge."""
        self._gauges[gauge.name].clear()

    def replace(self, gauge: Gauge, values: Iterable[tuple[tuple[str, ...], float]]) -> None:
        """Replace all values of a gauge; values under equal labels are added up."""
        summed: defaultdict[tuple[str, ...], float] = defaultdict(float)
        for labels, value in values:
            summed[labels] += value
        measure = self._gauges[gauge.name]
        measure.clear()
        for labels, value in summed.items():
            measure.labels(*labels).set(value)

    def withdraw(self, partition: str) -> None:
        """Remove a partition's gauge values; counters stay, because their counts remain true."""
        for gauge in self._of_partitions:
            gauge.remove(partition)

    def observe(self, histogram: Histogram, value: float) -> None:
        """Add a value to a histogram."""
        self._histograms[histogram.name].observe(value)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return prometheus.generate_latest(self.registry)
