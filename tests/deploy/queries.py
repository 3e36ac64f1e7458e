"""The queries of dashboards and rules, and the names that a worker exports."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from stream_app.kafka.metrics import AUDIT_TABLE, TABLE
from tests.deploy import ROOT

DASHBOARDS = sorted((ROOT / "deploy" / "grafana" / "dashboards").glob("*.json"))
PROMETHEUS = ROOT / "deploy" / "prometheus"

ALL = {**TABLE, **AUDIT_TABLE}
"""What workers and a following audit measure."""

_SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}


class Query(NamedTuple):
    """One query of a panel."""

    dashboard: str
    panel: str
    expression: str


def load(dashboard: Path) -> dict[str, Any]:
    """Return a dashboard as Grafana reads it."""
    content: dict[str, Any] = json.loads(dashboard.read_text())
    return content


def panel_queries() -> Iterator[Query]:
    """Yield every query of every panel of every dashboard."""
    for dashboard in DASHBOARDS:
        for panel in load(dashboard)["panels"]:
            for target in panel.get("targets", ()):
                yield Query(dashboard.stem, panel["title"], target["expr"])


def rules() -> list[dict[str, Any]]:
    """Return the recording and alerting rules."""
    groups = yaml.safe_load((PROMETHEUS / "rules.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def exported() -> dict[str, str]:
    """Return every name that Prometheus sees of worker and audit, with the metric that it belongs to."""
    return {name + suffix: name for name, meaning in ALL.items() for suffix in _SUFFIXES[meaning.kind]}


def names_in(expression: str) -> set[str]:
    """Return the names of our metrics and recorded figures in a query."""
    return set(re.findall(r"\blandmark[_:][a-z0-9_:]+", expression))
