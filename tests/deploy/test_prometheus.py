"""A real Prometheus checks our files, scrapes a real worker, and answers every query of dashboards and rules."""

import re
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from stream_app.cli import main
from stream_app.kafka.client.sending import Event, send_events
from stream_app.localbroker.broker import LocalBroker
from tests.deploy import ROOT
from tests.deploy.prometheus import promtool_failures
from tests.deploy.queries import (
    ALL,
    PROMETHEUS,
    RUNBOOKS,
    Query,
    annotation_queries,
    names_in,
    panel_queries,
    resolved,
    rules,
    variables,
)
from tests.deploy.site import STEP_MS, Site, standing
from tests.loopback import ask
from tests.patience import PATIENCE_SECONDS

RATE_INTERVAL = "10s"
"""The interval as Grafana computes it: four scrapes, here of 0.5 s, and at least what a slow machine needs."""

QUIET = {"ALERTS": "no alert fires", "alert": "its condition does not hold: the system is well"}
"""Why a correct query has no result."""


def test_configuration_is_valid() -> None:
    """Promtool accepts the configuration and the rules in it."""
    assert promtool_failures("check", "config", "prometheus.yml", folder=PROMETHEUS) == ""
    assert promtool_failures("check", "rules", "rules.yml", folder=PROMETHEUS) == ""


@pytest.fixture(scope="module")
def site(broker: LocalBroker, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Site]:
    """Start what is looked at."""
    with standing(broker, tmp_path_factory.mktemp("site"), f"scraped-{worker_id}") as running:
        yield running


async def test_every_query_is_answered(site: Site, pytestconfig: pytest.Config) -> None:
    """While events flow, every query returns numbers, for all policies and one; only trouble queries need not.

    They name metrics that the system has. ``--queries FILE`` writes the table of queries and answers.
    """
    asked = [*queries({}), *queries({"policy": "own"})]
    answers: dict[Query, str] = {}
    deadline = time.monotonic() + PATIENCE_SECONDS
    round_number = 0
    while any(query not in answers and reason_of(query) is None for query in asked) and time.monotonic() < deadline:
        await send_events(site.settings, round_of_events(round_number))
        round_number += 1
        time.sleep(0.2)  # noqa: ASYNC251 (nothing else runs in this loop)
        if round_number % 5 == 0:
            for query in set(asked) - answers.keys():
                if (answer := answered(site.prometheus_port, query.expression)) is not None:
                    answers[query] = answer
    quiet = {query: reason_of(query) for query in asked if query not in answers}
    assert {query for query, reason in quiet.items() if reason is None} == set()
    known = metadata(site.prometheus_port)
    assert {name for query in quiet for name in names_in(query.expression) if ":" not in name} <= known.keys()
    assert firing(site.prometheus_port) == []
    groups = api(site.prometheus_port, "rules")["groups"]
    assert [rule for group in groups for rule in group["rules"] if rule["health"] == "err"] == []
    if (path := pytestconfig.getoption("--queries")) is not None:
        Path(path).write_text(table(asked, answers, quiet))  # noqa: ASYNC240 (nothing else runs in this loop)


def queries(chosen: dict[str, str]) -> Iterator[Query]:
    """Yield every query of panels, annotations and, if nothing is chosen, rules, as Prometheus receives it."""
    found = [*panel_queries(), *annotation_queries()]
    if not chosen:
        found += [Query("rule", rule["record"], rule["expr"]) for rule in rules() if "record" in rule]
        found += [Query("alert", rule["alert"], rule["expr"]) for rule in rules() if "alert" in rule]
    for query in found:
        text = resolved(query.expression, chosen, RATE_INTERVAL)
        if not chosen or text != resolved(query.expression, {}, RATE_INTERVAL):
            yield query._replace(expression=text)


def reason_of(query: Query) -> str | None:
    """Return why a query has no result in a healthy system, or None if it should have one."""
    if query.place == "alert":
        return QUIET["alert"]
    return QUIET["ALERTS"] if query.expression.startswith("ALERTS{") else None


def table(asked: list[Query], answers: dict[Query, str], quiet: dict[Query, str | None]) -> str:
    """Return the queries and answers as Markdown."""
    rows = ["| where | what | query | result |", "|---|---|---|---|"]
    for query in asked:
        said = answers.get(query) or f"nothing: {quiet[query]}"
        text = " ".join(query.expression.split()).replace("|", "\\|")
        rows.append(f"| {query.place} | {query.name} | `{text}` | {said} |")
    return "\n".join(rows) + "\n"


def test_the_page_of_each_alert_is_served(site: Site) -> None:
    """Prometheus itself serves docs/, which the Compose file mounts, at its usual port."""
    service = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["prometheus"]
    assert "./docs:/docs:ro" in service["volumes"]
    assert "--web.user-assets=/docs" in service["command"]
    assert service["ports"] == [f"{RUNBOOKS.split('/')[2]}:9090"]
    for page in (rule["annotations"]["runbook_url"].removeprefix(RUNBOOKS) for rule in rules() if "alert" in rule):
        assert ask(site.prometheus_port, f"/user/{page}")[1] == (ROOT / "docs" / page).read_bytes()


def test_variables_have_values(site: Site) -> None:
    """A reader can choose from both jobs, both instances, and the policies of the series."""
    found = {
        (query.place, query.name): label_values(site.prometheus_port, resolved(query.expression, {}, RATE_INTERVAL))
        for query in variables()
    }
    instances = [f"127.0.0.1:{port}" for port in sorted((site.worker_port, site.audit_port), key=str)]
    for place in ("operation", "privacy"):
        assert found[place, "job"] == ["landmark-audit", "landmark-stream"]
        assert found[place, "instance"] == instances
    assert found["privacy", "policy"] == ["default-1", "own"]


def label_values(port: int, query: str) -> list[str]:
    """Return the same as Grafana's ``label_values(selector, label)``."""
    selector, label = re.fullmatch(r"label_values\((.+), (\w+)\)", query).groups()  # type: ignore[union-attr]
    values: list[str] = api(port, f"label/{label}/values?{urllib.parse.urlencode({'match[]': selector})}")
    return values


def test_top_shows_them(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """`top` shows worker and audit running: its figures are between those of the endpoints before and after."""
    urls = [f"http://127.0.0.1:{port}" for port in (site.worker_port, site.audit_port)]
    before = spent(site)
    assert main(["top", "--json", "--interval", "0.5", "--url", urls[0], "--url", urls[1]]) == 0
    worker, audit = orjson.loads(capsys.readouterr().out)["instances"]
    assert 0 < before <= worker["spent_nano"] <= spent(site)
    assert worker["partitions_running"] == 4
    assert worker["events"] == sum(worker["decisions"].values()) + sum(worker["rejects"].values())
    assert {"late", "no-policy"} <= set(worker["rejects"])
    assert worker["events_per_second"] >= 0
    assert (audit["kind"], audit["series"], audit["findings"]) == ("audit", 25, {})


def spent(site: Site) -> int:
    """Return the worker's reported spend, in nano-epsilon."""
    lines = ask(site.worker_port, "/metrics")[1].decode().splitlines()
    spends = [line.split()[1] for line in lines if line.startswith("landmark_spend_nano_epsilon_total{")]
    return sum(int(float(spend)) for spend in spends)


def test_metrics_follow_the_conventions(site: Site) -> None:
    """Promtool has no objections to the metrics that worker and audit export."""
    for port in (site.worker_port, site.audit_port):
        assert promtool_failures("check", "metrics", folder=PROMETHEUS, stdin=ask(port, "/metrics")[1]) == ""


def test_metrics_name_no_series(site: Site) -> None:
    """The metrics contain nothing that was sent: no series id, and no glob."""
    for port in (site.worker_port, site.audit_port):
        text = ask(port, "/metrics")[1]
        assert b"meter" not in text
        assert b"sensor" not in text


def test_the_table_has_every_metric_of_ours(site: Site) -> None:
    """Metrics that worker and audit export under our name are in the tables, and vice versa."""
    ours = {name for name in metadata(site.prometheus_port) if name.startswith("landmark_")}
    # The client library adds when each counter and histogram began.
    assert {name.removesuffix("_created").removesuffix("_total") for name in ours} == set(ALL)


def round_of_events(number: int) -> Iterator[Event]:
    """Yield policies first, then one event per series, a late event, and one of a series without a policy."""
    for series in (f"meter-{index}" for index in range(20)):
        if number == 0:
            policy = {
                "type": "policy",
                "series": series,
                "version": 1,
                "epsilon": 1.0,
                "protection": {"level": "landmark", "landmarks": [[STEP_MS, 300 * STEP_MS]], "step": STEP_MS},
                "scheme": {"name": "adaptive"},
                "correlation": "household",
                "value": {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.01},
                "renew": [bound * STEP_MS for bound in range(2, 1002)],  # each is refused: the lifetime is one epsilon
            }
            yield Event(series.encode(), orjson.dumps(policy))
        yield observation(series, number)
    for index in range(5):
        yield observation(f"sensor-{index}", number)
    yield observation("meter-0", -1 if number == 0 else 0)
    yield observation("unknown", number)


def observation(series: str, step: int) -> Event:
    """Return an event of a series."""
    event = {"series": series, "timestamp": (step + 1) * STEP_MS, "value": 5}
    return Event(series.encode(), orjson.dumps(event))


def api(port: int, question: str) -> Any:
    """Return Prometheus's answer; fail if it rejects the question."""
    response, body = ask(port, f"/api/v1/{question}")
    answer = orjson.loads(body)
    assert response.status == 200, answer
    return answer["data"]


def answered(port: int, expression: str) -> str | None:
    """Return the number of lines in Prometheus's answer and the first line's value, or None without any value."""
    samples = api(port, f"query?{urllib.parse.urlencode({'query': expression})}")["result"]
    numbers = [float(sample["value"][1]) for sample in samples if sample["value"][1] != "NaN"]
    if not numbers:
        return None
    return f"{numbers[0]:.4g}" if len(numbers) == 1 else f"{len(numbers)} lines, the first {numbers[0]:.4g}"


def metadata(port: int) -> dict[str, Any]:
    """Return the metrics that Prometheus knows from its targets, with and without samples."""
    found: dict[str, Any] = api(port, "metadata")
    return found


def firing(port: int) -> list[str]:
    """Return the names of the alerts that fire now."""
    return [alert["labels"]["alertname"] for alert in api(port, "alerts")["alerts"] if alert["state"] == "firing"]
