"""Dashboards and rules use what worker and audit export, and nothing that it does not."""

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy import ROOT
from tests.deploy.queries import ALL, DASHBOARDS, exported, load, names_in, panel_queries, rules

OUTSIDE = {"instance", "job", "le"}  # labels that Prometheus itself gives


def expressions() -> list[str]:
    """Return every query of panels and rules."""
    return [query.expression for query in panel_queries()] + [rule["expr"] for rule in rules()]


def test_queries_name_what_exists() -> None:
    """Each name in a query is exported by a worker or recorded by a rule."""
    known = exported().keys() | {rule["record"] for rule in rules() if "record" in rule}
    unknown = {name for expression in expressions() for name in names_in(expression)} - known
    assert unknown == set()


def test_every_metric_is_shown() -> None:
    """No metric is exported that no panel shows."""
    shown = {exported()[name] for query in panel_queries() for name in names_in(query.expression)}
    assert shown == set(ALL)


def test_queries_group_by_labels_that_exist() -> None:
    """A label in a query belongs to a metric of that query."""
    for expression in expressions():
        grouped = {label.strip() for by in re.findall(r"\bby \(([^)]*)\)", expression) for label in by.split(",")}
        matched = set(re.findall(r"[{,]\s*(\w+)\s*=", expression))
        metrics = {exported()[name] for name in names_in(expression) if name in exported()}
        labels = {label for metric in metrics for label in ALL[metric].labels}
        assert grouped | matched <= labels | OUTSIDE, expression


def test_no_metric_names_a_series() -> None:
    """Labels are few and public: a series' id or value among them would publish when it sent events."""
    assert {label for meaning in ALL.values() for label in meaning.labels} == {
        "code", "decision", "partition", "reason", "scheme",
    }  # fmt: skip


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_panels_are_laid_out(path: Path) -> None:
    """Ids and titles are unique, panels do not overlap, each explains itself by a unit and says where its data is."""
    panels = load(path)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({panel["title"] for panel in panels}) == len(panels)
    for one, other in combinations(panels, 2):
        assert not overlap(one["gridPos"], other["gridPos"]), (one["title"], other["title"])
    sources = yaml.safe_load((ROOT / "deploy/grafana/provisioning/datasources/prometheus.yml").read_text())
    assert {panel["datasource"]["uid"] for panel in panels if panel["type"] != "row"} == {
        source["uid"] for source in sources["datasources"]
    }


def overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether two places of the grid overlap."""
    beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
    above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    return not (beside or above)


def test_alerts_say_what_to_do() -> None:
    """Each alert has a severity, a summary and a remedy."""
    for rule in rules():
        if "alert" in rule:
            assert rule["labels"]["severity"] in {"page", "ticket"}
            assert set(rule["annotations"]) == {"summary", "remedy"}
