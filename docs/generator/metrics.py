"""The page of metrics."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from docs.generator.markdown import code, pages_top, sentence, table
from stream_app.monitoring.metric import Metric
from stream_app.monitoring.metrics import AUDIT_TABLE, TABLE
from tests.deploy import ROOT

TOP = """\
A worker serves them at `/metrics` of `http_host:http_port` in Prometheus' text format, beside `/healthz` and `/readyz`.
None has a series label, and none holds a raw value; what some tell of values stands in their rows. A counter has the
ending `_total`; a histogram is `_bucket` (with the `le` label), `_sum` and `_count`. Alerts are those of
`deploy/prometheus/rules.yml`.

Labels: `partition` is the number of an input partition; `decision`, `scheme`, `level`, `reason` and `code` are words of
[records](records.md), [rejects](rejects.md), [stopped partitions](stops.md) and [findings](findings.md). `policy` is
`own` for all policies that series sent for themselves, `default-1` to `default-20` for the configured default policies
by their place, `more` for those behind them, and `earlier` for default policies that left the configuration and rule
series still. `share` and `rate` are upper ends of classes, from `0.00` to `1.00`.

Series that changed last: those that sent something since their partition's producer was opened, at most
`cached_series` of them. Both processes also export `process_*`: memory, processor time, open files and when they
started.

"""
MIDDLE = (
    "\n## Of an audit that follows the ledger\n\nServed by `audit --follow` at `http_host:9465` (`--http-port`).\n\n"
)
UNITS = {
    "_seconds": "seconds",
    "_bytes": "bytes",
    "_nano_epsilon": "1e-9 epsilon",
    "_policy_epsilon": "epsilon",
    "_share": "0 to 1",
    "_rate": "0 to 1",
    "_loss": "epsilon",
    "_epoch": "number of an epoch",
    "_records": "records",
    "_rows": "rows",
    "_steps": "steps",
    "_series": "series",
    "_members": "members",
    "_entries": "entries",
    "_partitions_configured": "partitions",
    "_partitions_running": "partitions",
    "_partitions_stopped": "partitions",
    "_remaining": "offsets",
    "_events": "records",
}
"""Units by name ending; the other metrics are counts."""
HEADER = ("name", "type", "unit", "labels", "meaning", "alerts that look at it")


def page() -> str:
    """Return the page: a row for each metric of a worker, then of an audit."""
    rules = [rule for group in _rules() for rule in group["rules"]]
    return (
        pages_top("Metrics", "stream_app/monitoring/metrics.py and deploy/prometheus/rules.yml")
        + TOP
        + table(HEADER, _rows(TABLE, rules))
        + MIDDLE
        + table(HEADER, _rows(AUDIT_TABLE, rules))
    )


def alerts_on(name: str, rules: list[Any]) -> list[str]:
    """Return the alerts whose expression contains a metric, or a recording rule that contains it."""
    series = re.compile(rf"(?<![\w:]){name}(_total|_bucket|_sum|_count)?(?![\w:])")
    found: list[str] = []
    for rule in rules:
        if series.search(rule["expr"]):
            found += [rule["alert"]] if "alert" in rule else alerts_on(rule["record"], rules)
    return sorted(dict.fromkeys(found))


def _rows(metrics: Mapping[str, Metric], rules: list[Any]) -> list[tuple[str, ...]]:
    return [
        (
            code(name + ("_total" if metric.kind == "counter" else "")),
            metric.kind,
            next((unit for end, unit in UNITS.items() if name.endswith(end)), "count"),
            ", ".join(code(label) for label in metric.labels),
            sentence(metric.text),
            ", ".join(_linked(alert) for alert in alerts_on(name, rules)),
        )
        for name, metric in metrics.items()
    ]


def _linked(alert: str) -> str:
    """Return an alert with a link to its page, if there is one."""
    page = ROOT / "docs" / "alerts" / f"{alert}.md"
    return f"[{alert}](../alerts/{alert}.md)" if page.exists() else alert


def _rules() -> list[Any]:
    groups: list[Any] = yaml.safe_load((ROOT / "deploy/prometheus/rules.yml").read_text())["groups"]
    return groups
