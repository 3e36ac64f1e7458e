"""How metrics are seen: sums and rates of a registry that Prometheus' own client made."""

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from stream_app.monitoring.metrics import AUDIT_TABLE, AuditMetric, Metrics, WorkerMetric
from stream_app.monitoring.scrape import Scrape, ScrapeError, per_second, scrape_of
from stream_app.monitoring.snapshot import AuditSnapshot, Unreachable, WorkerSnapshot, snapshot_of, together


def busy() -> Metrics:
    """Return the metrics of a worker that did some work on two partitions."""
    metrics = Metrics()
    metrics.set(WorkerMetric.IN_GROUP, 1)
    metrics.count(WorkerMetric.EVENTS, 70, "0")
    metrics.count(WorkerMetric.EVENTS, 30, "1")
    metrics.count(WorkerMetric.DECISIONS, 60, "perturbed", "adaptive", "own")
    metrics.count(WorkerMetric.DECISIONS, 20, "perturbed", "uniform", "own")
    metrics.count(WorkerMetric.DECISIONS, 15, "approximated", "adaptive", "default-1")
    metrics.count(WorkerMetric.REJECTS, 5, "late")
    metrics.count(WorkerMetric.SPEND_NANO_EPSILON, 2_000_000_000, "adaptive", "own")
    metrics.set(WorkerMetric.BUDGET_MOST_USED_NANO_EPSILON, 700_000_000)
    metrics.set(WorkerMetric.BUDGET_MOST_PROMISED_NANO_EPSILON, 10**9)
    metrics.set(WorkerMetric.EVENT_LAG_RECORDS, 3, "0")
    metrics.set(WorkerMetric.EVENT_LAG_RECORDS, 4, "1")
    metrics.set(WorkerMetric.EVENT_LAG_SECONDS, 0.5, "0")
    metrics.set(WorkerMetric.EVENT_LAG_SECONDS, 2.5, "1")
    metrics.set(WorkerMetric.CACHED_SERIES, 12, "1")
    metrics.set(WorkerMetric.PARTITIONS_CONFIGURED, 5)
    metrics.set(WorkerMetric.PARTITIONS_RUNNING, 2)
    metrics.set(WorkerMetric.PARTITIONS_STOPPED, 1, "fenced")
    metrics.observe(WorkerMetric.BARRIER_SECONDS, 0.1)
    metrics.observe(WorkerMetric.BUDGET_LEFT_SHARE, 0.25)
    metrics.observe(WorkerMetric.BUDGET_LEFT_SHARE, 0.75)
    return metrics


def scraped(metrics: Metrics, seconds: float) -> Scrape:
    """Return what a scrape brings."""
    return scrape_of(metrics.text().decode(), seconds)


def test_a_worker_at_work() -> None:
    """Sums cover partitions and schemes, rates the ten seconds in between; the lag is the furthest partition's."""
    metrics = busy()
    first = scraped(metrics, 100.0)
    alone = snapshot_of("http://a:1", None, first)
    assert isinstance(alone, WorkerSnapshot)
    assert (alone.events, alone.events_per_second, alone.spend_nano_per_second) == (100, None, None)
    assert (alone.lag_records, alone.lag_seconds, alone.commit_seconds) == (7, 2.5, None)
    assert list(alone.decisions.items()) == [("perturbed", 80), ("approximated", 15)]
    metrics.count(WorkerMetric.EVENTS, 50, "1")
    metrics.count(WorkerMetric.SPEND_NANO_EPSILON, 40, "uniform", "own")
    metrics.count(WorkerMetric.REJECTS, 20, "early")
    assert (alone.budget_left.mean, alone.budget_left.observations, alone.sampling_rate.mean) == (0.5, 2, None)
    metrics.observe(WorkerMetric.BUDGET_LEFT_SHARE, 0.35)
    metrics.set(WorkerMetric.OPEN_STEPS, 6, "1")
    metrics.observe(WorkerMetric.BARRIER_SECONDS, 0.2)
    metrics.observe(WorkerMetric.BARRIER_SECONDS, 0.4)
    seen = snapshot_of("http://a:1", first, scraped(metrics, 110.0))
    assert isinstance(seen, WorkerSnapshot)
    assert (seen.events, seen.events_per_second) == (150, 5.0)
    assert (seen.spent_nano, seen.spend_nano_per_second) == (2_000_000_040, 4.0)
    assert (seen.used_nano, seen.promised_nano, seen.most_used) == (700_000_000, 10**9, "0.7 of 1.0")
    assert (list(seen.rejects.items()), seen.rejects_per_second) == ([("early", 20), ("late", 5)], 2.0)
    assert seen.commit_seconds == pytest.approx(0.3)
    assert {upper: met for upper, met in seen.budget_left.counts.items() if met} == {"0.4": 1}
    assert seen.budget_left.mean == pytest.approx(0.35)
    assert seen.open_steps == 6
    assert (seen.partitions_running, seen.partitions_stopped, seen.cached_series) == (2, {"fenced": 1}, 12)


def test_a_worker_that_was_restarted() -> None:
    """Counters that fell have restarted: their rate is what they counted since, never below 0."""
    before, after = scraped(busy(), 0.0), Metrics()
    after.count(WorkerMetric.EVENTS, 8, "0")
    assert per_second(before, scraped(after, 2.0), "landmark_events_total") == 4.0
    assert per_second(before, scraped(after, 0.0), "landmark_events_total") is None


def test_workers_together() -> None:
    """Values are summed, but the longest lag counts; a rate that one worker lacks is that of the others."""
    metrics = busy()
    first = scraped(metrics, 0.0)
    metrics.count(WorkerMetric.REJECTS, 9, "late")
    metrics.set(WorkerMetric.EVENT_LAG_SECONDS, 9.5, "0")
    pair = [snapshot_of("http://a:1", first, scraped(metrics, 3.0)), snapshot_of("http://b:1", None, first)]
    seen = together([snapshot for snapshot in pair if isinstance(snapshot, WorkerSnapshot)])
    assert seen.most_used == "0.7 of 1.0"
    assert (seen.events, seen.lag_records, seen.lag_seconds, seen.partitions_running) == (200, 14, 9.5, 4)
    assert seen.partitions_configured == 5, "all of them tell the same"
    assert (seen.rejects, seen.rejects_per_second, seen.partitions_stopped) == ({"late": 19}, 3.0, {"fenced": 2})
    assert list(seen.decisions.items()) == [("perturbed", 160), ("approximated", 30)]
    assert (seen.budget_left.mean, seen.budget_left.observations) == (0.5, 2)


def test_an_audit_that_follows() -> None:
    """Findings are counted by code, and progress is shown."""
    metrics = Metrics(AUDIT_TABLE)
    metrics.count(AuditMetric.FINDINGS, 2, "share")
    metrics.set(AuditMetric.ENTRIES, 9)
    metrics.set(AuditMetric.LAG_RECORDS, 1)
    seen = snapshot_of("http://a:1", None, scraped(metrics, 0.0))
    assert seen == AuditSnapshot("http://a:1", {"share": 2}, entries=9, series=0, unsigned_entries=0, lag_records=1)


def test_another_program() -> None:
    """Metrics of another program, and text that is not metrics at all."""
    other = snapshot_of("http://a:1", None, scrape_of(generate_latest(CollectorRegistry()).decode(), 0.0))
    assert isinstance(other, Unreachable)
    assert "another program" in other.reason
    with pytest.raises(ScrapeError):
        scrape_of("<html>{", 0.0)
