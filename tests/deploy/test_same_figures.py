"""`top` and the page compute from scrapes what dashboards and rules ask of Prometheus: the figures agree."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from stream_app.monitoring.metrics import AUDIT_TABLE, CLAIMED, USED_UP, AuditMetric, Metrics, WorkerMetric
from stream_app.monitoring.scrape import Scrape, scrape_of
from stream_app.monitoring.snapshot import AuditSnapshot, WorkerSnapshot, snapshot_of, together
from tests.deploy.prometheus import promtool_failures
from tests.deploy.queries import PROMETHEUS, panel_queries, resolved, rules

SCRAPES, EVERY_SECONDS = 20, 15
"""Scrapes from first to last over five minutes; counters grow evenly, so every window has the same rate."""
SECONDS = SCRAPES * EVERY_SECONDS  # numbers are such that no float is rounded: promtool compares exactly
Labelled = Mapping[str, float]
"""Values by their labels in Prometheus's notation."""


def worker(nth: int) -> tuple[Scrape, Scrape]:
    """Return the nth worker's scrapes at the beginning and at the end; every figure is different."""
    metrics, number = Metrics(), str(nth)

    def grow(times: int) -> None:
        metrics.count(WorkerMetric.EVENTS, 600 * times * nth, number)
        metrics.count(WorkerMetric.REJECTS, 150 * times, "late")
        metrics.count(WorkerMetric.DECISIONS, 450 * times, "perturbed", "adaptive", "own")
        metrics.count(WorkerMetric.SPEND_NANO_EPSILON, 300 * 400_000_000 * times * nth, "adaptive", "own")

    grow(5)
    first = scrape_of(metrics.text().decode(), 0.0)
    grow(1)
    metrics.set(WorkerMetric.EVENT_LAG_RECORDS, 7 * nth, number)
    metrics.set(WorkerMetric.EVENT_LAG_RECORDS, 5, "9")
    metrics.set(WorkerMetric.EVENT_LAG_SECONDS, 2.5 * nth, number)
    metrics.set(WorkerMetric.EVENT_LAG_SECONDS, 0.5, "9")
    metrics.set(WorkerMetric.OPEN_STEPS, 40 * nth, number)
    metrics.set(WorkerMetric.CACHED_SERIES, 12, number)
    metrics.set(WorkerMetric.CACHED_SERIES, 13, "9")
    metrics.set(WorkerMetric.CORRELATED_SERIES, 16, number)
    metrics.set(WorkerMetric.ALARMED_SERIES, nth, number)
    metrics.set(WorkerMetric.CAP_LEFT_MEMBERS, 50 * nth, number, "1.00")
    metrics.set(WorkerMetric.CAP_LEFT_MEMBERS, 3 * nth, number, "0.10")
    metrics.set(WorkerMetric.CAP_LEFT_MEMBERS, nth, number, "0.00")
    metrics.set(WorkerMetric.PARTITIONS_CONFIGURED, 9)
    metrics.set(WorkerMetric.PARTITIONS_RUNNING, 2 + nth)
    metrics.set(WorkerMetric.PARTITIONS_STOPPED, nth, "tail-differs")
    metrics.set(WorkerMetric.RECOVERY_REMAINING, 1_000 * nth)
    metrics.set(WorkerMetric.RECOVERED_ROWS, 2_000 * nth)
    metrics.set(WorkerMetric.STATE_BYTES, 4_000 * nth)
    metrics.set(WorkerMetric.KEPT_RECORDS, 80 * nth, number)
    return first, scrape_of(metrics.text().decode(), SECONDS)


def audit() -> Scrape:
    """Return what an audit shows."""
    metrics = Metrics(AUDIT_TABLE)
    metrics.count(AuditMetric.FINDINGS, 3, "fork")
    metrics.count(AuditMetric.FINDINGS, 1, "gap")
    metrics.set(AuditMetric.ENTRIES, 99)
    metrics.set(AuditMetric.SERIES, 8)
    metrics.set(AuditMetric.UNSIGNED_ENTRIES, 21)
    metrics.set(AuditMetric.LAG_RECORDS, 34)
    return scrape_of(metrics.text().decode(), SECONDS)


def of_workers(seen: WorkerSnapshot, alone: Mapping[str, WorkerSnapshot]) -> Iterator[tuple[str, str, Labelled]]:
    """Yield a query's place and name with its expected result, for all workers or for each of them."""
    assert seen.events_per_second is not None
    assert seen.rejects_per_second is not None
    assert seen.spend_nano_per_second is not None
    yield "operation", "Partitions served", {"{}": seen.partitions_running}
    yield "operation", "Partitions missing", {"{}": 9 - seen.partitions_running}
    yield "operation", "Partitions stopped", {"{}": sum(seen.partitions_stopped.values())}
    yield "operation", "Events per second", {"{}": seen.events_per_second}
    yield "operation", "Events waiting", {"{}": seen.lag_records}
    yield "operation", "Append to commit, slowest", {"{}": seen.lag_seconds}
    yield "operation", "Share of events rejected", {"{}": seen.rejects_per_second / seen.events_per_second}
    yield "privacy", "Alarming temporal loss", {"{}": seen.alarmed_series / seen.correlated_series}
    yield "privacy", "Series with a correlation", {"{}": seen.correlated_series}
    yield "privacy", "Sum over all steps, per second", {"{}": seen.spend_nano_per_second / 1e9}
    yield "rule", "landmark:events:rate1m", {"landmark:events:rate1m": seen.events_per_second}
    share = {"landmark:rejects:share5m": seen.rejects_per_second / seen.events_per_second}
    yield "rule", "landmark:rejects:share5m", share
    share = {"landmark:alarmed_series:share": seen.alarmed_series / seen.correlated_series}
    yield "rule", "landmark:alarmed_series:share", share
    yield "rule", "landmark:cap_claimed:members", {"landmark:cap_claimed:members": seen.claimed_members}
    details = {name: each.detail for name, each in alone.items() if each.detail is not None}
    yield "operation", "Series in memory", by_instance({name: each.cached_series for name, each in alone.items()})
    left = {name: each.recovery_remaining for name, each in alone.items()}
    yield "operation", "Changelog left to restore", by_instance(left)
    rows = {name: detail.recovered_rows for name, detail in details.items()}
    yield "operation", "Changelog rows restored", by_instance(rows)
    yield "operation", "Local state", by_instance({name: detail.state_bytes for name, detail in details.items()})
    kept = sum(detail.kept_records for detail in details.values())
    yield "operation", "Input kept and read again for open steps", {"{}": kept}
    partitions = [(number, shown) for detail in details.values() for number, shown in detail.partitions.items()]
    waiting: dict[str, float] = {}
    for number, shown in partitions:
        label = f'{{partition="{number}"}}'
        waiting[label] = waiting.get(label, 0) + shown.lag_records
    yield "operation", "Events waiting by partition", waiting


def of_audit(seen: AuditSnapshot) -> Iterator[tuple[str, str, Labelled]]:
    """Yield the same for an audit."""
    yield "privacy", "Audit findings", {"{}": sum(seen.findings.values())}
    by_code = {f'{{code="{code}"}}': float(number) for code, number in seen.findings.items()}
    yield "privacy", "Findings by code", {**by_code, "{}": 0}
    yield "privacy", "Not audited yet", by_instance({"audit:1": seen.lag_records})
    yield "privacy", "Entries without a signed checkpoint", by_instance({"audit:1": seen.unsigned_entries})
    yield "privacy", "Audited entries and series", {"{}": seen.entries}


def by_instance(values: Labelled) -> dict[str, float]:
    """Return values by the label of their instance."""
    return {f'{{instance="{name}"}}': value for name, value in values.items()}


def test_prometheus_answers_what_the_snapshot_says(tmp_path: Path) -> None:
    """They agree for two workers and an audit, and a wrong number is detected."""
    scrapes = {f"worker:{nth}": worker(nth) for nth in (1, 2)}
    alone = {
        name: seen
        for name, (first, last) in scrapes.items()
        if isinstance(seen := snapshot_of(name, first, last), WorkerSnapshot)
    }
    audited = snapshot_of("audit:1", None, audit())
    assert isinstance(audited, AuditSnapshot)
    expected = [*of_workers(together(list(alone.values())), alone), *of_audit(audited)]
    asked = {(query.place, query.name): query.expression for query in reversed([*panel_queries()])}  # a panel's first
    asked |= {("rule", rule["record"]): rule["record"] for rule in rules() if "record" in rule}
    series = [
        *(each for name, pair in scrapes.items() for each in series_of(*pair, "landmark-stream", name)),
        *series_of(audit(), audit(), "landmark-audit", "audit:1"),
    ]
    tests = [
        {
            "expr": resolved(asked[place, name], {}, f"{SECONDS}s"),
            "eval_time": f"{SECONDS}s",
            "exp_samples": [{"labels": label, "value": float(value)} for label, value in found.items()],
        }
        for place, name, found in expected
    ]
    assert failures(tmp_path, series, tests) == ""
    tests[0]["exp_samples"] = [{"labels": "{}", "value": 1.0}]
    assert asked["operation", "Partitions served"].split("{")[0] in failures(tmp_path, series, tests)


def series_of(first: Scrape, last: Scrape, job: str, instance: str) -> Iterator[dict[str, str]]:
    """Yield the series of two scrapes in promtool's form, growing evenly from the first to the last."""
    for name, samples in last.samples.items():
        earlier = {tuple(sample.labels.items()): sample.value for sample in first.samples.get(name, ())}
        if not name.startswith("landmark_"):
            continue
        for labels, value in samples:
            begun = earlier.get(tuple(labels.items()), value)
            grown = (value - begun) / SCRAPES
            named = ",".join(f'{key}="{it}"' for key, it in {**labels, "job": job, "instance": instance}.items())
            yield {"series": f"{name}{{{named}}}", "values": f"{begun!r}+{grown!r}x{SCRAPES}"}


def failures(folder: Path, series: list[dict[str, str]], tests: list[dict[str, Any]]) -> str:
    """Return the differences that promtool finds."""
    interval = f"{EVERY_SECONDS}s"
    groups = [{"interval": interval, "input_series": series, "promql_expr_test": tests}]
    file = {"rule_files": [str(PROMETHEUS / "rules.yml")], "evaluation_interval": interval, "tests": groups}
    (folder / "figures.yml").write_text(yaml.safe_dump(file))
    return promtool_failures("test", "rules", "figures.yml", folder=folder)


def test_the_same_classes_count_as_used_up_everywhere() -> None:
    """The worker excludes what is used up as planned by the same share that rules and panels use."""
    asked = [rule["expr"] for rule in rules()] + [query.expression for query in panel_queries()]
    for metric, classes in (("landmark_budget_left_series", USED_UP), ("landmark_cap_left_members", CLAIMED)):
        found = [each for text in asked for each in re.findall(metric + r'\{[^}]*\bshare=~"([^"]*)"', text)]
        assert len(found) > 1
        assert set(found) == {"|".join(classes)}
