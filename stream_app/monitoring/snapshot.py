"""What `top` shows of one endpoint: a worker, an audit that follows, or the reason why there is nothing to see.

Every figure comes of metrics, which hold no series and no value (metrics.py).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from stream_app.monitoring.distribution import Distribution, distribution_of
from stream_app.monitoring.scrape import Scrape, per_second


@dataclass(frozen=True, slots=True)
class WorkerSight:
    """A worker at one moment; rates are those since the scrape before, None at the first."""

    url: str
    events: int
    events_per_second: float | None
    lag_records: int
    lag_seconds: float  # of the partition that is furthest behind
    commit_seconds: float | None  # mean time of a batch's commit since the scrape before
    decisions: Mapping[str, int]
    rejects: Mapping[str, int]  # by reason
    rejects_per_second: float | None
    spent_nano: int
    spend_nano_per_second: float | None
    budget_left: Distribution  # this one and the next two since the scrape before, since the start at the first
    sampling_rate: Distribution
    backward_loss: Distribution
    open_steps: int
    cached_series: int
    correlated_series: int
    alarmed_series: int
    partitions_running: int
    partitions_stopped: Mapping[str, int]  # by reason
    recovery_remaining: int
    kind: str = "worker"


@dataclass(frozen=True, slots=True)
class AuditSight:
    """An audit that follows the ledger, at one moment."""

    url: str
    findings: Mapping[str, int]  # by code
    entries: int
    series: int
    unsigned_entries: int
    lag_records: int
    kind: str = "audit"


@dataclass(frozen=True, slots=True)
class NoSight:
    """An endpoint without figures."""

    url: str
    reason: str
    kind: str = "unreachable"


Sight = WorkerSight | AuditSight | NoSight


def sight_of(url: str, before: Scrape | None, scrape: Scrape) -> Sight:
    """Return what an endpoint shows; `before` is its scrape before this one."""
    if scrape.holds("landmark_audit_entries"):
        return AuditSight(
            url=url,
            findings=scrape.by("landmark_audit_findings_total", "code"),
            entries=int(scrape.total("landmark_audit_entries")),
            series=int(scrape.total("landmark_audit_series")),
            unsigned_entries=int(scrape.total("landmark_audit_unsigned_entries")),
            lag_records=int(scrape.total("landmark_audit_lag_records")),
        )
    if not scrape.holds("landmark_partitions_running"):
        return NoSight(url, "no metrics of a worker or an audit there; is it another program?")
    return WorkerSight(
        url=url,
        events=int(scrape.total("landmark_events_total")),
        events_per_second=per_second(before, scrape, "landmark_events_total"),
        lag_records=int(scrape.total("landmark_event_lag_records")),
        lag_seconds=scrape.largest("landmark_event_lag_seconds"),
        commit_seconds=_mean(before, scrape, "landmark_barrier_seconds"),
        decisions=scrape.by("landmark_decisions_total", "decision"),
        rejects=scrape.by("landmark_rejects_total", "reason"),
        rejects_per_second=per_second(before, scrape, "landmark_rejects_total"),
        spent_nano=int(scrape.total("landmark_spend_nano_epsilon_total")),
        spend_nano_per_second=per_second(before, scrape, "landmark_spend_nano_epsilon_total"),
        budget_left=_since(before, scrape, "landmark_budget_left_share"),
        sampling_rate=_since(before, scrape, "landmark_sampling_rate"),
        backward_loss=_since(before, scrape, "landmark_backward_loss"),
        open_steps=int(scrape.total("landmark_open_steps")),
        cached_series=int(scrape.total("landmark_cached_series")),
        correlated_series=int(scrape.total("landmark_correlated_series")),
        alarmed_series=int(scrape.total("landmark_alarmed_series")),
        partitions_running=int(scrape.total("landmark_partitions_running")),
        partitions_stopped=scrape.by("landmark_partitions_stopped", "reason"),
        recovery_remaining=int(scrape.total("landmark_recovery_remaining")),
    )


def together(workers: Sequence[WorkerSight]) -> WorkerSight:
    """Return the sums over workers; a lag is that of the one furthest behind, and commits have no sum."""
    return WorkerSight(
        url="",
        events=sum(seen.events for seen in workers),
        events_per_second=_sum(seen.events_per_second for seen in workers),
        lag_records=sum(seen.lag_records for seen in workers),
        lag_seconds=max(seen.lag_seconds for seen in workers),
        commit_seconds=None,
        decisions=_merged(seen.decisions for seen in workers),
        rejects=_merged(seen.rejects for seen in workers),
        rejects_per_second=_sum(seen.rejects_per_second for seen in workers),
        spent_nano=sum(seen.spent_nano for seen in workers),
        spend_nano_per_second=_sum(seen.spend_nano_per_second for seen in workers),
        budget_left=sum((seen.budget_left for seen in workers), Distribution()),
        sampling_rate=sum((seen.sampling_rate for seen in workers), Distribution()),
        backward_loss=sum((seen.backward_loss for seen in workers), Distribution()),
        open_steps=sum(seen.open_steps for seen in workers),
        cached_series=sum(seen.cached_series for seen in workers),
        correlated_series=sum(seen.correlated_series for seen in workers),
        alarmed_series=sum(seen.alarmed_series for seen in workers),
        partitions_running=sum(seen.partitions_running for seen in workers),
        partitions_stopped=_merged(seen.partitions_stopped for seen in workers),
        recovery_remaining=sum(seen.recovery_remaining for seen in workers),
    )


def document(sights: list[Sight]) -> dict[str, Any]:
    """Return the figures of all endpoints for programs."""
    return {"instances": [asdict(sight) for sight in sights]}


def _since(before: Scrape | None, scrape: Scrape, name: str) -> Distribution:
    return distribution_of(scrape, name).since(distribution_of(before, name))


def _sum(rates: Iterable[float | None]) -> float | None:
    """Return the sum of the rates that are known; None where none is."""
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known else None


def _merged(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    merged: Counter[str] = Counter()
    for each in counts:
        merged.update(each)
    return dict(merged.most_common())


def _mean(before: Scrape | None, scrape: Scrape, name: str) -> float | None:
    """Return the mean of what a histogram took in since `before`; None where that is nothing."""
    count = per_second(before, scrape, f"{name}_count")
    total = per_second(before, scrape, f"{name}_sum")
    return total / count if count and total is not None else None
