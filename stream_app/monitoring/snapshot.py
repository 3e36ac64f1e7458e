"""The state of a worker or an audit at one moment, for `top`, its JSON and the page.

Every figure comes from metrics, which hold no series and no value (metrics.py). Dashboards and alerts query Prometheus
for some of the same figures; tests/deploy/test_same_figures.py shows that both agree.
"""

import collections
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final, NamedTuple

from stream_app.monitoring.metric import Counter, Histogram, Metric
from stream_app.monitoring.metrics import CLAIMED, AuditMetric, WorkerMetric
from stream_app.monitoring.scrape import Distribution, Scrape, distribution_of, per_second
from stream_app.words.amount import of_limit, worse

DISTRIBUTIONS: Final = (WorkerMetric.BUDGET_LEFT_SHARE, WorkerMetric.SAMPLING_RATE, WorkerMetric.BACKWARD_LOSS)
"""The histograms drawn on the page."""


class PartitionFigures(NamedTuple):
    """Figures of one partition of a worker."""

    events: int = 0
    lag_records: int = 0
    lag_seconds: float | None = None
    """The time between the append of the last batch's last event and the commit; None before the first batch."""
    open_steps: int = 0
    cached_series: int = 0


@dataclass(frozen=True, slots=True)
class WorkerDetail:
    """Details that only the worker's page shows."""

    partitions: Mapping[str, PartitionFigures]
    spent: Mapping[tuple[str, ...], int]  # nano-epsilon by policy and scheme, largest first
    decided: Mapping[tuple[str, ...], int]  # records by decision and scheme, largest first
    distributions: Mapping[str, Distribution]  # the histograms since the worker's start, by name
    state_bytes: float
    recovered_rows: int
    heads: int
    reopened: int
    first_key_epoch: int
    kept_records: int


@dataclass(frozen=True, slots=True)
class WorkerSnapshot:
    """A worker at one moment; rates cover the time since the previous scrape and are None at the first."""

    url: str
    events: int
    events_per_second: float | None
    lag_records: int
    lag_seconds: float  # of the slowest partition
    commit_seconds: float | None  # mean time of a batch's commit since the previous scrape
    decisions: Mapping[str, int]
    rejects: Mapping[str, int]  # by reason
    rejects_per_second: float | None
    used_nano: int  # used epsilon of the limit with the largest used share, among the series that changed last
    promised_nano: int  # that limit, or 0 if no series changed
    spent_nano: int
    spend_nano_per_second: float | None
    budget_left: Distribution  # these three: since the previous scrape, or since the start at the first
    sampling_rate: Distribution
    backward_loss: Distribution
    open_steps: int
    cached_series: int
    correlated_series: int
    alarmed_series: int
    capped_members: int
    claimed_members: int  # those with at least nine tenths of their limit reserved
    partitions_running: int
    partitions_configured: int  # partitions of all workers together, or 0 if the worker's version omits it
    partitions_stopped: Mapping[str, int]  # by reason
    recovery_remaining: int
    outside_group: int  # workers outside their consumer group
    kind: str = "worker"
    detail: WorkerDetail | None = None  # None in sums over workers and in past samples

    @property
    def most_used(self) -> str:
        """Describe how much of the most used limit is used, or return a dash if no series has changed yet."""
        return of_limit(self.used_nano, self.promised_nano) if self.promised_nano else "-"


@dataclass(frozen=True, slots=True)
class AuditSnapshot:
    """An audit that follows the ledger, at one moment."""

    url: str
    findings: Mapping[str, int]  # by code
    entries: int
    series: int
    unsigned_entries: int
    lag_records: int
    kind: str = "audit"


@dataclass(frozen=True, slots=True)
class Unreachable:
    """An endpoint without figures, with the reason."""

    url: str
    reason: str
    kind: str = "unreachable"


Snapshot = WorkerSnapshot | AuditSnapshot | Unreachable


class _Reading(NamedTuple):
    """Two scrapes of one endpoint, read by metric."""

    before: Scrape | None
    scrape: Scrape

    def total(self, metric: Metric) -> int:
        return int(self.scrape.total(metric.sample))

    def by(self, metric: Metric, label: str) -> dict[str, int]:
        return self.scrape.by(metric.sample, label)

    def per_second(self, counter: Counter) -> float | None:
        return per_second(self.before, self.scrape, counter.sample)

    def mean(self, histogram: Histogram) -> float | None:
        """Return the mean of the observations since the previous scrape, or None if there are none."""
        count = per_second(self.before, self.scrape, f"{histogram.name}_count")
        total = per_second(self.before, self.scrape, f"{histogram.name}_sum")
        return total / count if count and total is not None else None

    def observed(self, histogram: Histogram) -> Distribution:
        """Return the observations since the previous scrape."""
        return distribution_of(self.scrape, histogram.name).since(distribution_of(self.before, histogram.name))


def snapshot_of(url: str, before: Scrape | None, scrape: Scrape) -> Snapshot:
    """Return the snapshot of an endpoint; `before` is its previous scrape."""
    if AuditMetric.ENTRIES.sample in scrape.samples:
        return _audit(url, _Reading(before, scrape))
    if WorkerMetric.PARTITIONS_RUNNING.sample not in scrape.samples:
        return Unreachable(url, "does not show metrics of a worker or an audit; it may be another program")
    return _worker(url, _Reading(before, scrape))


def _audit(url: str, read: _Reading) -> AuditSnapshot:
    return AuditSnapshot(
        url=url,
        findings=read.by(AuditMetric.FINDINGS, "code"),
        entries=read.total(AuditMetric.ENTRIES),
        series=read.total(AuditMetric.SERIES),
        unsigned_entries=read.total(AuditMetric.UNSIGNED_ENTRIES),
        lag_records=read.total(AuditMetric.LAG_RECORDS),
    )


def _worker(url: str, read: _Reading) -> WorkerSnapshot:
    return WorkerSnapshot(
        url=url,
        events=read.total(WorkerMetric.EVENTS),
        events_per_second=read.per_second(WorkerMetric.EVENTS),
        lag_records=read.total(WorkerMetric.EVENT_LAG_RECORDS),
        lag_seconds=read.scrape.largest(WorkerMetric.EVENT_LAG_SECONDS.sample),
        commit_seconds=read.mean(WorkerMetric.BARRIER_SECONDS),
        decisions=read.by(WorkerMetric.DECISIONS, "decision"),
        rejects=read.by(WorkerMetric.REJECTS, "reason"),
        rejects_per_second=read.per_second(WorkerMetric.REJECTS),
        used_nano=read.total(WorkerMetric.BUDGET_MOST_USED_NANO_EPSILON),
        promised_nano=read.total(WorkerMetric.BUDGET_MOST_PROMISED_NANO_EPSILON),
        spent_nano=read.total(WorkerMetric.SPEND_NANO_EPSILON),
        spend_nano_per_second=read.per_second(WorkerMetric.SPEND_NANO_EPSILON),
        budget_left=read.observed(WorkerMetric.BUDGET_LEFT_SHARE),
        sampling_rate=read.observed(WorkerMetric.SAMPLING_RATE),
        backward_loss=read.observed(WorkerMetric.BACKWARD_LOSS),
        open_steps=read.total(WorkerMetric.OPEN_STEPS),
        cached_series=read.total(WorkerMetric.CACHED_SERIES),
        correlated_series=read.total(WorkerMetric.CORRELATED_SERIES),
        alarmed_series=read.total(WorkerMetric.ALARMED_SERIES),
        capped_members=read.total(WorkerMetric.CAP_LEFT_MEMBERS),
        claimed_members=sum(read.by(WorkerMetric.CAP_LEFT_MEMBERS, "share").get(share, 0) for share in CLAIMED),
        partitions_running=read.total(WorkerMetric.PARTITIONS_RUNNING),
        partitions_configured=read.total(WorkerMetric.PARTITIONS_CONFIGURED),
        partitions_stopped=read.by(WorkerMetric.PARTITIONS_STOPPED, "reason"),
        recovery_remaining=read.total(WorkerMetric.RECOVERY_REMAINING),
        outside_group=int(
            WorkerMetric.IN_GROUP.sample in read.scrape.samples and not read.total(WorkerMetric.IN_GROUP)
        ),
        detail=_detail(read),
    )


def _detail(read: _Reading) -> WorkerDetail:
    return WorkerDetail(
        partitions=_partitions(read.scrape),
        spent=read.scrape.sums(WorkerMetric.SPEND_NANO_EPSILON.sample, "policy", "scheme"),
        decided=read.scrape.sums(WorkerMetric.DECISIONS.sample, "decision", "scheme"),
        distributions={histogram.name: distribution_of(read.scrape, histogram.name) for histogram in DISTRIBUTIONS},
        state_bytes=read.scrape.total(WorkerMetric.STATE_BYTES.sample),
        recovered_rows=read.total(WorkerMetric.RECOVERED_ROWS),
        heads=read.total(WorkerMetric.HEADS),
        reopened=read.total(WorkerMetric.REOPENED),
        first_key_epoch=read.total(WorkerMetric.FIRST_KEY_EPOCH),
        kept_records=read.total(WorkerMetric.KEPT_RECORDS),
    )


def _partitions(scrape: Scrape) -> dict[str, PartitionFigures]:
    def of(metric: Metric) -> dict[str, float]:
        return {sample.labels.get("partition", ""): sample.value for sample in scrape.samples.get(metric.sample, ())}

    events, seconds = of(WorkerMetric.EVENTS), of(WorkerMetric.EVENT_LAG_SECONDS)
    waiting, steps = of(WorkerMetric.EVENT_LAG_RECORDS), of(WorkerMetric.OPEN_STEPS)
    cached = of(WorkerMetric.CACHED_SERIES)
    return {
        number: PartitionFigures(
            int(events.get(number, 0)),
            int(waiting.get(number, 0)),
            seconds.get(number) if events.get(number) else None,
            int(steps.get(number, 0)),
            int(cached.get(number, 0)),
        )
        for number in {*events, *waiting, *steps, *cached}
    }


def together(workers: Sequence[WorkerSnapshot]) -> WorkerSnapshot:
    """Return the sums over workers; lags and used shares take the worst value, and commit times are omitted."""
    most = (0, 0)
    for seen in workers:
        most = (seen.used_nano, seen.promised_nano) if worse(seen.used_nano, seen.promised_nano, *most) else most
    others: dict[str, Any] = {
        "url": "",
        "kind": "worker",
        "lag_seconds": max(seen.lag_seconds for seen in workers),
        "commit_seconds": None,
        "used_nano": most[0],
        "promised_nano": most[1],
        "partitions_configured": max(seen.partitions_configured for seen in workers),
        "detail": None,
    }
    names = [field.name for field in fields(WorkerSnapshot) if field.name not in others]
    return WorkerSnapshot(**others, **{name: _sum([getattr(seen, name) for seen in workers]) for name in names})


def brief(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot without its details."""
    return replace(snapshot, detail=None) if isinstance(snapshot, WorkerSnapshot) else snapshot


def document(snapshots: list[Snapshot]) -> dict[str, Any]:
    """Return the figures of all endpoints in machine-readable form."""
    figures = (asdict(brief(snapshot)) for snapshot in snapshots)
    return {"instances": [{name: each for name, each in one.items() if name != "detail"} for one in figures]}


def _sum(figures: Sequence[Any]) -> Any:
    """Return the sum of the known numbers, distributions or counts, or None if none is known."""
    known = [figure for figure in figures if figure is not None]
    if known and isinstance(known[0], Mapping):
        merged: collections.Counter[str] = collections.Counter()
        for each in known:
            merged.update(each)
        return dict(merged.most_common())
    return sum(known[1:], known[0]) if known else None
