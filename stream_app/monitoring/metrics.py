"""What a worker measures, and an audit that follows it: a registry and a table of names each, no series labels.

# PRIVACY: no figure holds a value; budgets, decisions and rates are functions of releases and public facts. Records and
rejects are counted, and such a count can be private: that of contributions is the sum of raw counters, that of
`invalid-value` tells whether values were valid. So metrics are for operators alone. Labels name no series, no value and
no text of a policy: decisions, schemes, reasons, partitions, default policies by their place, the noise key by its
random id. That hides nobody where there are few series: with one of them, when it sends, where its landmarks are and
what it spent show as plainly as in the ledger, which the guarantee lets anyone read. Who may not read the ledger may
not see the metrics either.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SHARES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_WAITS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600)
_LOSSES = (0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 5, 7, 10, 15, 20, 50, 100)
_RECORDS = (1, 10, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000)


class Meaning(NamedTuple):
    """A row of the table: how it is measured and what it says."""

    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    text: str
    buckets: tuple[float, ...] = ()


TABLE: dict[str, Meaning] = {
    "landmark_events": Meaning(
        "counter",
        ("partition",),
        "Input records decided and committed. Contributions to collected data are among them: for operators alone.",
    ),
    "landmark_decisions": Meaning(
        "counter",
        ("decision", "scheme", "policy"),
        "Records that changed a series: perturbed, approximated, withheld, or control (policy, landmarks, close).",
    ),
    "landmark_rejects": Meaning("counter", ("reason",), "Records refused, by reason code."),
    "landmark_spend_nano_epsilon": Meaning(
        "counter",
        ("scheme", "policy"),
        "Epsilon of all that was measured, in 1e-9: releases, private dissimilarities and draws of dummies, over "
        "all steps.",
    ),
    "landmark_budget_used_nano_epsilon": Meaning(
        "counter",
        ("scheme", "policy"),
        "Growth of budget in use, as the promise counts it: all landmarks, late ones by their charge, and the dearest "
        "other step, in 1e-9 epsilon (landmark, user level).",
    ),
    "landmark_budget_left_nano_epsilon": Meaning(
        "gauge",
        ("scheme", "policy"),
        "Budget left together to the series that changed last, in 1e-9 epsilon; levels landmark and user.",
    ),
    "landmark_budget_left_series": Meaning(
        "gauge",
        ("scheme", "policy", "share"),
        "Series by share of budget left, at most this and above the one before; of those that changed last.",
    ),
    "landmark_sampling_rate_series": Meaning(
        "gauge",
        ("policy", "rate"),
        "Series by rate of publishing, at most this and above the one before; of those that changed last.",
    ),
    "landmark_budget_left_share": Meaning(
        "histogram",
        (),
        "Share of budget left, of those of the first 50 series of each batch whose budget can be used up.",
        _SHARES,
    ),
    "landmark_sampling_rate": Meaning(
        "histogram", (), "Adaptive's rate of publishing, of the first 50 series of each batch.", _SHARES
    ),
    "landmark_default_policy_epsilon": Meaning(
        "gauge", ("policy", "level", "scheme"), "Epsilon of each configured default policy."
    ),
    "landmark_backward_loss": Meaning(
        "histogram",
        (),
        "Backward loss of those of the first 50 series of each batch whose policy names a correlation.",
        _LOSSES,
    ),
    "landmark_correlated_series": Meaning("gauge", ("partition",), "Series whose policy names a correlation."),
    "landmark_alarmed_series": Meaning(
        "gauge", ("partition",), "Those of them whose backward loss is at least correlation_alarm."
    ),
    "landmark_batch_records": Meaning("histogram", (), "Input records of a batch, which is one transaction.", _RECORDS),
    "landmark_barrier_seconds": Meaning(
        "histogram", (), "From a transaction's begin until it is committed and in RocksDB.", _SECONDS
    ),
    "landmark_decision_seconds": Meaning(
        "histogram", (), "Time to decide a batch, other partitions' turns included.", _SECONDS
    ),
    "landmark_append_to_commit_seconds": Meaning(
        "histogram", (), "From the append of a batch's first event until its commit.", _WAITS
    ),
    "landmark_event_lag_seconds": Meaning(
        "gauge", ("partition",), "From the append of a batch's last event until its commit."
    ),
    "landmark_event_lag_records": Meaning("gauge", ("partition",), "Input records that are not decided yet."),
    "landmark_open_steps": Meaning("gauge", ("partition",), "Steps of collected series that take contributions."),
    "landmark_kept_records": Meaning(
        "gauge", ("partition",), "Decided input that a restart would read again, for what open steps count."
    ),
    "landmark_recalled_records": Meaning(
        "counter", ("partition",), "Input records read again after an assignment, for what open steps count."
    ),
    "landmark_restore_seconds": Meaning(
        "gauge",
        ("partition",),
        "From a partition's assignment until it decides: fencing, state, tail, recall.",
    ),
    "landmark_recovery_remaining": Meaning("gauge", (), "Changelog offsets still to be read back."),
    "landmark_standby_remaining": Meaning(
        "gauge", (), "Changelog offsets that copies standing by here lacked of the logs' ends when they were assigned."
    ),
    "landmark_recovered_rows": Meaning("gauge", (), "Changelog rows read back since the start."),
    "landmark_state_bytes": Meaning("gauge", (), "Size of the local state's files."),
    "landmark_damaged_copies": Meaning(
        "counter",
        ("cause",),
        "Local copies that were damaged, discarded and read back: corrupt (checksum, format) or unreadable (a file).",
    ),
    "landmark_cached_series": Meaning("gauge", ("partition",), "Series kept decoded in memory."),
    "landmark_degraded": Meaning(
        "gauge", (), "1 while the brokers have given no answer for 20 seconds: nothing can be decided; else 0."
    ),
    "landmark_partitions_running": Meaning("gauge", (), "Partitions that this worker owns and serves."),
    "landmark_partitions_stopped": Meaning("gauge", ("reason",), "Partitions that stopped and need an operator."),
    "landmark_first_key_epoch": Meaning(
        "gauge", (), "First key epoch whose noise this worker can draw; those before it were erased when it started."
    ),
    "landmark_key_info": Meaning(
        "gauge", ("fingerprint",), "1, under the fingerprint of the noise key that this worker decides with."
    ),
    "landmark_heads": Meaning("counter", ("partition",), "Signed heads of the ledger that were written."),
    "landmark_reopened": Meaning("counter", ("partition",), "Times that a partition's producer was opened again."),
    "landmark_build": Meaning("gauge", ("version",), "1, under the version of the program that runs."),
}

AUDIT_TABLE: dict[str, Meaning] = {
    "landmark_audit_findings": Meaning("counter", ("code",), "Findings of an audit that follows the ledger, by code."),
    "landmark_audit_entries": Meaning("gauge", (), "Ledger entries that were audited, without copies."),
    "landmark_audit_series": Meaning("gauge", (), "Series that were audited."),
    "landmark_audit_unsigned_entries": Meaning("gauge", (), "Audited entries that no signed head covers yet."),
    "landmark_audit_lag_records": Meaning("gauge", (), "Committed records of ledger and releases not audited yet."),
}
"""What ``audit --follow`` measures."""


class Metrics:
    """The measures of one worker, or of one audit."""

    def __init__(self, table: Mapping[str, Meaning] = TABLE) -> None:
        """Start every measure of a table at zero."""
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        made = {name: _make(name, meaning, self.registry) for name, meaning in table.items()}
        self._counters = {name: measure for name, measure in made.items() if isinstance(measure, Counter)}
        self._gauges = {name: measure for name, measure in made.items() if isinstance(measure, Gauge)}
        self._of_partitions = [gauge for name, gauge in self._gauges.items() if table[name].labels == ("partition",)]
        self._histograms = {name: measure for name, measure in made.items() if isinstance(measure, Histogram)}

    def count(self, name: str, amount: float = 1, *labels: str) -> None:
        """Add to a counter."""
        counter = self._counters[name]
        (counter.labels(*labels) if labels else counter).inc(amount)

    def set(self, name: str, value: float, *labels: str) -> None:
        """Set a gauge."""
        gauge = self._gauges[name]
        (gauge.labels(*labels) if labels else gauge).set(value)

    def forget(self, name: str) -> None:
        """Drop all labelled values of a gauge."""
        self._gauges[name].clear()

    def replace(self, name: str, values: Iterable[tuple[tuple[str, ...], float]]) -> None:
        """Set a gauge to values under their labels, and to nothing else; those under equal labels are added up."""
        summed: defaultdict[tuple[str, ...], float] = defaultdict(float)
        for labels, value in values:
            summed[labels] += value
        gauge = self._gauges[name]
        gauge.clear()
        for labels, value in summed.items():
            gauge.labels(*labels).set(value)

    def withdraw(self, partition: str) -> None:
        """Drop what the gauges show of a partition; counters stay, since what was counted was."""
        for gauge in self._of_partitions:
            gauge.remove(partition)

    def observe(self, name: str, value: float) -> None:
        """Add a value to a histogram."""
        self._histograms[name].observe(value)

    def text(self) -> bytes:
        """Return everything in Prometheus' text format."""
        return generate_latest(self.registry)


def _make(name: str, meaning: Meaning, registry: CollectorRegistry) -> Counter | Gauge | Histogram:
    if meaning.kind == "counter":
        return Counter(name, meaning.text, meaning.labels, registry=registry)
    if meaning.kind == "gauge":
        return Gauge(name, meaning.text, meaning.labels, registry=registry)
    return Histogram(name, meaning.text, meaning.labels, registry=registry, buckets=meaning.buckets)
