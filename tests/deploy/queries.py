"""The queries of dashboards and rules, and the names that a worker exports."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from stream_app.monitoring.metrics import AUDIT_TABLE, TABLE
from tests.deploy import ROOT

DASHBOARDS = sorted((ROOT / "deploy" / "grafana" / "dashboards").glob("*.json"))
PROMETHEUS = ROOT / "deploy" / "prometheus"
RUNBOOKS = "http://127.0.0.1:9090/user/"
"""The address where Prometheus serves the folder from the Compose file: docs/, with a page for each alert."""

ALL = {**TABLE, **AUDIT_TABLE}
"""The metrics of workers and of a following audit."""

_SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}


class Query(NamedTuple):
    """One query: of a panel, of a dashboard's annotations or variables, or of a rule."""

    place: str
    name: str
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


def annotation_queries() -> Iterator[Query]:
    """Yield the queries of the dashboards' annotations."""
    for dashboard in DASHBOARDS:
        for annotation in load(dashboard)["annotations"]["list"]:
            yield Query(dashboard.stem, annotation["name"], annotation["expr"])


def variables() -> Iterator[Query]:
    """Yield the queries for the values that a reader can choose."""
    for dashboard in DASHBOARDS:
        for variable in load(dashboard)["templating"]["list"]:
            if variable["type"] == "query":
                yield Query(dashboard.stem, variable["name"], variable["query"])


def resolved(expression: str, chosen: dict[str, str], rate_interval: str) -> str:
    """Return a query as Grafana sends it: with the variables' values from ``chosen``, or ``.+`` for all.

    Raises:
        ValueError: if a variable remains that Grafana would not know.
    """
    text = expression.replace("$__rate_interval", rate_interval)
    for name in ("job", "instance", "policy"):
        text = text.replace(f"${name}", chosen.get(name, ".+"))
    if "$" in text:
        raise ValueError(f"a variable that no dashboard has: {text}")
    return text


def rules() -> list[dict[str, Any]]:
    """Return the recording and alerting rules."""
    groups = yaml.safe_load((PROMETHEUS / "rules.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def exported() -> dict[str, str]:
    """Return every name that Prometheus sees from worker and audit, with the metric to which it belongs."""
    return {name + suffix: name for name, meaning in ALL.items() for suffix in _SUFFIXES[meaning.kind]}


def names_in(expression: str) -> set[str]:
    """Return the names of our metrics and recorded figures in a query."""
    return set(re.findall(r"\blandmark[_:][a-z0-9_:]+", expression))
