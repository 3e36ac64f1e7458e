"""Alerts: each fires exactly when it must, a changed threshold is noticed, and a page says what to do."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy import ROOT
from tests.deploy.prometheus import promtool_failures
from tests.deploy.queries import PROMETHEUS, RUNBOOKS, rules

PAGES = ROOT / "docs" / "alerts"
TESTS = sorted(path.name for path in PROMETHEUS.glob("*_test.yml"))
HEADINGS = ["What it means", "How bad it is", "What to look at", "What to do", "When it ends"]
ALERTS = {rule["alert"]: rule for rule in rules() if "alert" in rule}
COMPARISON = re.compile(r"(?<![a-z]) (>|<|==) (\d+(?:\.\d+)?)?(?![\d.])")
FIGURE = re.compile(r"landmark:[a-z0-9_:]+")

Mutation = Callable[[dict[str, Any]], str | None]
"""A function that changes a rule and returns the name under which its tests must fail; None: no change."""


def compared(nth: int, *, up: bool) -> Mutation:
    """Return the mutation that moves an alert's nth threshold up or down by a fifth, and at least by 1."""

    def mutate(rule: dict[str, Any]) -> str | None:
        found = list(COMPARISON.finditer(rule["expr"])) if "alert" in rule else []
        if nth >= len(found):
            return None
        sign, number = found[nth].groups()
        changed = f" {sign} {_moved(float(number), up=up)}" if number else f" {sign}= "
        if number == "0" and not up:
            changed = " >= 0" if sign == ">" else " != 0"
        rule["expr"] = rule["expr"][: found[nth].start()] + changed + rule["expr"][found[nth].end() :]
        return str(rule["alert"])

    return mutate


def _moved(number: float, *, up: bool) -> float:
    distance = 0.2 * number if 0 < number < 1 else max(0.2 * number, 1)
    return number + distance if up else number - distance


def waiting(factor: float) -> Mutation:
    """Return the mutation that makes an alert wait longer or shorter."""

    def mutate(rule: dict[str, Any]) -> str | None:
        if "for" not in rule:
            return None
        number, unit = re.fullmatch(r"(\d+)([hm])", rule["for"]).groups()  # type: ignore[union-attr]
        rule["for"] = f"{int(float(number) * {'h': 3600, 'm': 60}[unit] * factor)}s"
        return str(rule["alert"])

    return mutate


def doubled(rule: dict[str, Any]) -> str | None:
    """Record twice the value of a figure."""
    if "record" not in rule:
        return None
    rule["expr"] = f"({rule['expr']}) * 2"
    return str(rule["record"])


def nearer(rule: dict[str, Any]) -> str | None:
    """Count fewer series as close to exhaustion."""
    changed = rule["expr"].replace('|0.05"', '"')
    if changed == rule["expr"]:
        return None
    rule["expr"] = changed
    return str(rule["record"])


MUTATIONS: dict[str, Mutation] = {
    "first threshold up": compared(0, up=True),
    "first threshold down": compared(0, up=False),
    "second threshold up": compared(1, up=True),
    "second threshold down": compared(1, up=False),
    "half the time": waiting(0.5),
    "twice the time": waiting(2),
    "figures doubled": doubled,
    "less is near": nearer,
}


def test_they_fire_and_end_when_they_must() -> None:
    """The rules' own tests hold."""
    assert promtool_failures("test", "rules", *TESTS, folder=PROMETHEUS) == ""


FEW = ("first threshold up", "less is near", "second threshold down")
"""The mutations of `make test`, because they take the least time."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FEW else pytest.mark.long) for name in MUTATIONS]
)
def test_a_changed_rule_is_noticed(name: str, tmp_path: Path) -> None:
    """For every alert and figure that a mutation changes, the tests fail: all of them are really tested."""
    content = yaml.safe_load((PROMETHEUS / "rules.yml").read_text())
    changed = {MUTATIONS[name](rule) for group in content["groups"] for rule in group["rules"]} - {None}
    assert changed
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(content))
    concerned = [test for test in TESTS if any(name in (PROMETHEUS / test).read_text() for name in changed if name)]
    for test in concerned:
        shutil.copy(PROMETHEUS / test, tmp_path)
    said = promtool_failures("test", "rules", *concerned, folder=tmp_path)
    noticed = set(re.findall(r"alertname: (\w+)", said))
    noticed |= {figure for line in re.findall(r"expr: (.+), time:", said) for figure in FIGURE.findall(line)}
    assert changed <= noticed


def test_every_alert_can_be_changed() -> None:
    """Each alert has a threshold or a time that a mutation changes."""
    reached = {mutate(dict(rule)) for rule in rules() for mutate in MUTATIONS.values()}
    assert reached - {None} == set(ALERTS) | {rule["record"] for rule in rules() if "record" in rule}


def moments() -> Iterator[dict[str, Any]]:
    """Yield the expectations of the rules' tests about alerts."""
    for test in TESTS:
        for group in yaml.safe_load((PROMETHEUS / test).read_text())["tests"]:
            yield from group.get("alert_rule_test", ())


@pytest.mark.parametrize("alert", ALERTS)
def test_tests_show_it_before_during_and_after(alert: str) -> None:
    """There is a moment before it fires, one at which it fires, and a later one at which it has ended."""
    course = [bool(moment["exp_alerts"]) for moment in moments() if moment["alertname"] == alert]
    assert "".join("!" if fires else "." for fires in course).strip("!") != ""
    assert re.search(r"\.!+\.", "".join("!" if fires else "." for fires in course))


def test_every_alert_has_a_page_and_every_page_an_alert() -> None:
    """The page in an alert's runbook_url exists, and no page remains for a removed alert."""
    assert {path.stem for path in PAGES.glob("*.md")} - {"README"} == set(ALERTS)
    for name, rule in ALERTS.items():
        assert rule["annotations"]["runbook_url"] == f"{RUNBOOKS}alerts/{name}.md"


@pytest.mark.parametrize("alert", ALERTS)
def test_page_says_what_whoever_is_called_needs(alert: str) -> None:
    """All pages have the same parts in the same order; the index lists each with its severity and its summary."""
    text = (PAGES / f"{alert}.md").read_text()
    assert re.findall(r"^# (.+)$", text, re.MULTILINE)[0] == alert
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS
    expression = " ".join(ALERTS[alert]["expr"].split())
    condition = f"`{expression}`" + (f" for {ALERTS[alert]['for']}" if "for" in ALERTS[alert] else "")
    assert condition in text, "the page names the condition as the rule has it"
    index = (PAGES / "README.md").read_text()
    assert re.search(rf"\| \[{alert}\]\({alert}\.md\) \| {ALERTS[alert]['labels']['severity']} \| \S", index)


def test_alerts_say_whom_they_call() -> None:
    """Each alert has a severity, a summary and a runbook."""
    for rule in ALERTS.values():
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert set(rule["annotations"]) == {"summary", "runbook_url"}
