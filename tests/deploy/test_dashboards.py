"""Dashboards and rules use the metrics that worker and audit export, and no others."""

import re
import subprocess
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from deploy.grafana.__main__ import DASHBOARDS as MADE
from deploy.grafana.__main__ import FOLDER, text_of
from deploy.grafana.dashboard import COLUMNS, Dashboard
from deploy.grafana.panel import SOURCE, Unit
from tests.deploy import ROOT
from tests.deploy.queries import ALL, DASHBOARDS, exported, load, names_in, panel_queries, rules
from tests.programs import program

OUTSIDE = {"instance", "job", "le", "__name__", "alertname", "alertstate"}  # labels that Prometheus itself gives


def expressions() -> list[str]:
    """Return every query of panels and rules."""
    return [query.expression for query in panel_queries()] + [rule["expr"] for rule in rules()]


def test_queries_name_what_exists() -> None:
    """Each name in a query is exported by a worker or recorded by a rule."""
    known = exported().keys() | {rule["record"] for rule in rules() if "record" in rule}
    unknown = {name for expression in expressions() for name in names_in(expression)} - known
    assert unknown == set()


OF_THE_PAGE = {"landmark_budget_left_share", "landmark_sampling_rate"}
"""A worker's own page shows these for its last minutes; the dashboards have gauges instead."""


def test_every_metric_is_shown() -> None:
    """Every exported metric is shown in a panel or on a page."""
    shown = {exported()[name] for query in panel_queries() for name in names_in(query.expression)}
    assert shown | OF_THE_PAGE == set(ALL)
    assert not shown & OF_THE_PAGE


def test_queries_group_by_labels_that_exist() -> None:
    """A label in a query belongs to a metric of that query."""
    for expression in expressions():
        grouped = {label.strip() for by in re.findall(r"\bby \(([^)]*)\)", expression) for label in by.split(",")}
        matched = set(re.findall(r"[{,]\s*(\w+)\s*=", expression))
        metrics = {exported()[name] for name in names_in(expression) if name in exported()}
        labels = {label for metric in metrics for label in ALL[metric].labels}
        assert grouped | matched <= labels | OUTSIDE, expression


def test_no_metric_names_a_series() -> None:
    """Labels are few and public: a series' id or value among them would reveal when it sent events."""
    assert {label for meaning in ALL.values() for label in meaning.labels} == {
        "cause", "code", "decision", "fingerprint", "level", "outcome", "partition", "policy", "rate",
        "reason", "scheme", "share", "version",
    }  # fmt: skip


@pytest.mark.parametrize("dashboard", MADE, ids=lambda dashboard: dashboard.name)
def test_files_are_what_the_code_makes(dashboard: Dashboard) -> None:
    """The committed JSON matches the description; if it does not, `python -m deploy.grafana` writes it."""
    assert (FOLDER / f"{dashboard.name}.json").read_text() == text_of(dashboard)


def test_no_other_dashboards() -> None:
    """Each file in the folder is generated from a description."""
    assert {path.stem for path in DASHBOARDS} == {dashboard.name for dashboard in MADE}


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_panels_are_laid_out(path: Path) -> None:
    """Ids and titles are unique, and panels are on the grid without overlap."""
    panels = load(path)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({panel["title"] for panel in panels}) == len(panels)
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= COLUMNS for panel in panels)
    for one, other in combinations(panels, 2):
        assert not overlap(one["gridPos"], other["gridPos"]), (one["title"], other["title"])


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_panels_explain_themselves(path: Path) -> None:
    """Each panel has a description in whole sentences, a unit, increasing thresholds, and names for its lines."""
    for panel in load(path)["panels"]:
        if panel["type"] == "row":
            continue
        assert re.fullmatch(r"[A-Za-z0-9].{3,}\.", panel["description"]), panel["title"]
        defaults = panel["fieldConfig"]["defaults"]
        assert defaults["unit"] in get_args(Unit)
        first, *steps = [step["value"] for step in defaults["thresholds"]["steps"]]
        assert first is None
        assert steps == sorted(set(steps))
        assert panel["targets"]
        if panel["type"] in {"timeseries", "heatmap"}:
            assert all(target["legendFormat"] != "__auto" for target in panel["targets"]), panel["title"]


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_the_reader_chooses(path: Path) -> None:
    """Every query of every panel uses the chosen data source, jobs, instances and policies."""
    content = load(path)
    chosen = {variable["name"]: variable for variable in content["templating"]["list"]}
    sources = yaml.safe_load((ROOT / "deploy/grafana/provisioning/datasources/prometheus.yml").read_text())
    assert chosen["datasource"]["current"]["value"] in {source["uid"] for source in sources["datasources"]}
    for panel in content["panels"]:
        for target in panel.get("targets", ()):
            assert target["datasource"] == panel["datasource"] == SOURCE
            for name, labels in re.findall(r"\b((?:landmark|process)_\w+)(\{[^}]*\})?", target["expr"]):
                assert labels.startswith('{job=~"$job", instance=~"$instance"'), target["expr"]
                by_policy = name in exported() and "policy" in ALL[exported()[name]].labels
                if by_policy and name != "landmark_default_policy_epsilon":
                    assert 'policy=~"$policy"' in labels, target["expr"]


def test_linter_finds_nothing() -> None:
    """Grafana's own linter, if installed, has no complaints or warnings."""
    linter = program("dashboard-linter")
    for path in DASHBOARDS:
        run = subprocess.run([linter, "lint", "--strict", str(path)], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout + run.stderr


def overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two places on the grid overlap."""
    beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
    above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    return not (beside or above)
