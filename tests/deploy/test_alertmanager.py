"""What follows a firing alert: Alertmanager's configuration, and the example receiver, which prints it."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream_app.localbroker.machine import free_ports
from tests.deploy import ROOT
from tests.deploy.queries import PROMETHEUS, rules
from tests.deploy.site import running, wait_for
from tests.patience import awaited
from tests.programs import program

FOLDER = ROOT / "deploy" / "alertmanager"
CONFIG: dict[str, Any] = yaml.safe_load((FOLDER / "alertmanager.yml").read_text())


def alert(name: str) -> dict[str, Any]:
    """Return an alert of the rules as Prometheus sends it."""
    (rule,) = [rule for rule in rules() if rule.get("alert") == name]
    return {"labels": {"alertname": name, **rule["labels"]}, "annotations": rule["annotations"], "status": "firing"}


def post(url: str, document: object) -> int:
    """Send JSON; return the status."""
    request = urllib.request.Request(url, json.dumps(document).encode(), {"Content-Type": "application/json"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 (our own server)
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """Run the example receiver; yield its port and the file of its output."""
    (port,) = free_ports(1)
    with running([sys.executable, str(FOLDER / "receiver.py"), str(port)], tmp_path / "receiver.log"):
        wait_for(port, "/", tmp_path / "receiver.log")
        yield port, tmp_path / "receiver.log"


def test_every_severity_has_a_receiver() -> None:
    """Pages and tickets go to existing receivers; any other severity becomes a ticket."""
    there = {receiver["name"] for receiver in CONFIG["receivers"]}
    routed = {CONFIG["route"]["receiver"], *(route["receiver"] for route in CONFIG["route"]["routes"])}
    assert routed == there == {rule["labels"]["severity"] for rule in rules() if "alert" in rule}


def test_compose_runs_what_prometheus_and_alertmanager_name() -> None:
    """Their names are services on a shared network; the mounted files are those tested here."""
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    scraping = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
    (target,) = scraping["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"]
    urls = [hook["url"] for each in CONFIG["receivers"] for hook in each["webhook_configs"]]
    named = {target.partition(":")[0], *(url.split("/")[2].partition(":")[0] for url in urls)}
    assert named == {"alertmanager", "receiver"}
    assert all("metrics" in services[name]["networks"] for name in named | {"prometheus"})
    assert all("./deploy/alertmanager:/etc/alertmanager:ro" in services[name]["volumes"] for name in named)


def test_the_receiver_prints_what_comes(receiver: tuple[int, Path]) -> None:
    """Each alert is one line, with its page; an invalid message is refused, and it continues."""
    port, log = receiver
    assert post(f"http://127.0.0.1:{port}/page", {"alerts": [{"labels": {}}]}) == 400
    assert post(f"http://127.0.0.1:{port}/page", {"version": "4", "alerts": [alert("LandmarkNoWorker")]}) == 204
    assert log.read_text() == (
        "page firing: LandmarkNoWorker: Prometheus finds no worker. "
        "http://127.0.0.1:9090/user/alerts/LandmarkNoWorker.md\n"
    )


def test_amtool_accepts_the_configuration() -> None:
    """Alertmanager's own tool accepts it, and it routes by severity."""
    tool, config = program("amtool"), str(FOLDER / "alertmanager.yml")
    checked = subprocess.run([tool, "check-config", config], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    for severity, wanted in (("page", "page"), ("ticket", "ticket"), ("other", "ticket")):
        words = ["config", "routes", "test", f"--config.file={config}", f"severity={severity}"]
        assert subprocess.run([tool, *words], capture_output=True, text=True, check=False).stdout.strip() == wanted


def test_an_alert_gets_through(receiver: tuple[int, Path], tmp_path: Path) -> None:
    """A real Alertmanager sends a firing alert to the receiver."""
    port, log = receiver
    (own_port,) = free_ports(1)
    text = (FOLDER / "alertmanager.yml").read_text().replace("receiver:8080", f"127.0.0.1:{port}")
    (tmp_path / "alertmanager.yml").write_text(text.replace("group_wait: 10s", "group_wait: 0s"))
    command = [program("alertmanager"), f"--config.file={tmp_path / 'alertmanager.yml'}", "--cluster.listen-address="]
    command += [f"--storage.path={tmp_path / 'data'}", f"--web.listen-address=127.0.0.1:{own_port}"]
    with running(command, tmp_path / "alertmanager.log"):
        wait_for(own_port, "/-/ready", tmp_path / "alertmanager.log")
        assert post(f"http://127.0.0.1:{own_port}/api/v2/alerts", [alert("LandmarkNoWorker")]) == 200
        awaited(lambda: "page firing: LandmarkNoWorker" in log.read_text(), (tmp_path / "alertmanager.log").read_text)
