"""A real Prometheus checks our files, scrapes a real worker, and answers every query of the dashboards."""

import asyncio
import http.client
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from stream_app import keyfile
from stream_app.cli import main
from stream_app.kafka.broker import LocalBroker
from stream_app.kafka.provision import make_and_check
from stream_app.kafka.sending import Event, send_events
from stream_app.settings import Settings
from stream_app.signing import SigningKey
from tests.deploy.queries import PROMETHEUS, panel_queries, rules

PATIENCE_SECONDS = 90
SCRAPE = "500ms"
STEP_MS = 60_000


def program(name: str) -> str:
    """Return the path of a program of Debian's package ``prometheus``; in CI it must be there."""
    path = shutil.which(name)
    if path is None:
        lacking = f"{name} is missing: sudo apt-get install --yes prometheus"
        if os.environ.get("CI"):  # noqa: TID251 (CI says by it that nothing may be left out)
            pytest.fail(lacking)
        pytest.skip(lacking)
    return path


def promtool(*words: str, stdin: bytes | None = None) -> None:
    """Run promtool; what it says is the failure."""
    run = subprocess.run([program("promtool"), *words], input=stdin, cwd=PROMETHEUS, capture_output=True, check=False)
    assert run.returncode == 0, (run.stdout + run.stderr).decode()


def test_configuration_is_valid() -> None:
    """Promtool accepts the configuration and the rules in it."""
    promtool("check", "config", "prometheus.yml")
    promtool("check", "rules", "rules.yml")


def test_alerts_fire_when_they_must() -> None:
    """The rules' own tests hold: each alert at its moment, none without its cause."""
    promtool("test", "rules", "rules_test.yml")


@dataclass(frozen=True, slots=True)
class Site:
    """A worker, an audit that follows it, and the Prometheus that scrapes both."""

    settings: Settings
    worker_port: int
    audit_port: int
    prometheus_port: int


@pytest.fixture(scope="module")
def site(broker: LocalBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Start a worker and an audit on the real broker, and a Prometheus that scrapes them often."""
    folder = tmp_path_factory.mktemp("site")
    worker_port, audit_port, prometheus_port = free_port(), free_port(), free_port()
    keyfile.create(folder / "noise.key")
    (folder / "public.pem").write_text(SigningKey.create(folder / "signing.key").public_pem())
    (folder / "household.json").write_text('{"backward": [[0.8, 0.2], [0, 1]], "forward": null}')
    config = folder / "landmark-stream.toml"
    config.write_text(
        f"""
        bootstrap_servers = "{broker.bootstrap_servers}"
        prefix = "scraped"
        application = "scraped-app"
        key_file = "{folder / "noise.key"}"
        signing_key_file = "{folder / "signing.key"}"
        head_interval_ms = 1000
        correlation_alarm = 1000.0
        correlations = {{ household = "{folder / "household.json"}" }}
        data_folder = "{folder / "data"}"
        http_port = {worker_port}
        """
    )
    settings = Settings.load(config)
    assert asyncio.run(make_and_check(settings)).differences == ()
    with (
        running([sys.executable, "-m", "stream_app", "worker", "--config", str(config)], folder / "worker.log"),
        running(audit_command(folder, config, audit_port), folder / "audit.log"),
        running(prometheus_command(folder, worker_port, audit_port, prometheus_port), folder / "prometheus.log"),
    ):
        wait_for(worker_port, "/readyz", folder / "worker.log")
        wait_for(audit_port, "/readyz", folder / "audit.log")
        wait_for(prometheus_port, "/-/ready", folder / "prometheus.log")
        yield Site(settings, worker_port, audit_port, prometheus_port)


async def test_dashboards_show_a_running_worker(site: Site) -> None:
    """While events flow every query of every panel returns numbers; so do the recorded figures."""
    expressions = {f"{query.panel}: {query.expression}": query.expression for query in panel_queries()}
    expressions |= {rule["record"]: rule["expr"] for rule in rules() if "record" in rule}
    waiting = dict(expressions)
    deadline = time.monotonic() + PATIENCE_SECONDS
    round_number = 0
    while waiting and time.monotonic() < deadline:
        await send_events(site.settings, round_of_events(round_number))
        round_number += 1
        time.sleep(0.2)  # noqa: ASYNC251 (nothing else runs in this loop)
        if round_number % 5 == 0:
            waiting = {name: text for name, text in waiting.items() if not answered(site.prometheus_port, text)}
    assert list(waiting) == []
    assert firing(site.prometheus_port) == []


def test_top_shows_them(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """`top` sees worker and audit at work: its figures lie between those that the endpoints give before and after."""
    urls = [f"http://127.0.0.1:{port}" for port in (site.worker_port, site.audit_port)]
    before = spent(site)
    assert main(["top", "--json", "--interval", "0.5", "--url", urls[0], "--url", urls[1]]) == 0
    worker, audit = orjson.loads(capsys.readouterr().out)["instances"]
    assert 0 < before <= worker["spent_nano"] <= spent(site)
    assert worker["partitions_running"] == 4
    assert worker["events"] == sum(worker["decisions"].values()) + sum(worker["rejects"].values())
    assert {"late", "no-policy"} <= set(worker["rejects"])
    assert worker["events_per_second"] >= 0
    assert (audit["kind"], audit["series"], audit["findings"]) == ("audit", 20, {})


def spent(site: Site) -> int:
    """Return what the worker says it spent, in nano-epsilon."""
    lines = get(site.worker_port, "/metrics")[1].decode().splitlines()
    return int(float(next(line.split()[1] for line in lines if line.startswith("landmark_spend_nano_epsilon_total "))))


def test_metrics_follow_the_conventions(site: Site) -> None:
    """Promtool finds nothing to object to in what worker and audit export."""
    for port in (site.worker_port, site.audit_port):
        promtool("check", "metrics", stdin=get(port, "/metrics")[1])


def test_metrics_name_no_series(site: Site) -> None:
    """Nothing of what was sent stands in the metrics: no id of a series."""
    for port in (site.worker_port, site.audit_port):
        assert b"meter-" not in get(port, "/metrics")[1]


def round_of_events(number: int) -> Iterator[Event]:
    """Yield policies at first, then an event a series, one late event, and one of a series without policy."""
    for series in (f"meter-{index}" for index in range(20)):
        if number == 0:
            policy = {
                "type": "policy",
                "series": series,
                "version": 1,
                "epsilon": 1.0,
                "protection": {"level": "landmark", "landmarks": [[STEP_MS, 30 * STEP_MS]], "step": STEP_MS},
                "scheme": {"name": "adaptive"},
                "correlation": "household",
                "value": {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.01},
            }
            yield Event(series.encode(), orjson.dumps(policy))
        yield observation(series, number)
    yield observation("meter-0", -1 if number == 0 else 0)
    yield observation("meter-unknown", number)


def observation(series: str, step: int) -> Event:
    """Make an event of a series."""
    event = {"series": series, "timestamp": (step + 1) * STEP_MS, "value": 5}
    return Event(series.encode(), orjson.dumps(event))


def answered(port: int, expression: str) -> bool:
    """Tell whether Prometheus answers a query with numbers."""
    query = urllib.parse.urlencode({"query": expression.replace("$__rate_interval", "10s")})
    status, body = get(port, f"/api/v1/query?{query}")
    answer: dict[str, Any] = orjson.loads(body)
    assert status == 200, answer
    samples = answer["data"]["result"]
    return bool(samples) and any(sample["value"][1] != "NaN" for sample in samples)


def firing(port: int) -> list[str]:
    """Return the names of the alerts that fire now."""
    alerts = orjson.loads(get(port, "/api/v1/alerts")[1])["data"]["alerts"]
    return [alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"]


def audit_command(folder: Path, config: Path, port: int) -> list[str]:
    """Return the command of an audit that follows the worker."""
    command = [sys.executable, "-m", "stream_app", "audit", "--follow", "--http-port", str(port)]
    return [*command, "--config", str(config), "--heads", "--public-key", str(folder / "public.pem")]


def prometheus_command(folder: Path, worker_port: int, audit_port: int, own_port: int) -> list[str]:
    """Return the command of a Prometheus with our configuration but for where the others are and how often it looks."""
    config = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": SCRAPE, "scrape_timeout": SCRAPE, "evaluation_interval": SCRAPE}
    config["rule_files"] = [str(PROMETHEUS / name) for name in config["rule_files"]]
    ports = {"landmark-stream": worker_port, "landmark-audit": audit_port, "prometheus": own_port}
    config["scrape_configs"] = [
        {"job_name": job["job_name"], "static_configs": [{"targets": [f"127.0.0.1:{ports[job['job_name']]}"]}]}
        for job in config["scrape_configs"]
    ]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    return [
        program("prometheus"),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{own_port}",
    ]


@contextmanager
def running(command: list[str], log: Path) -> Iterator[None]:
    """Run a program until the end of the block, then end it and nothing else."""
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_for(port: int, path: str, log: Path) -> None:
    """Wait until a server answers 200."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            if get(port, path)[0] == http.client.OK:
                return
        except OSError:
            pass
        time.sleep(0.1)
    pytest.fail(f"no answer at {path}: {log.read_text()[-2000:]}")


def get(port: int, path: str) -> tuple[int, bytes]:
    """Ask a server on loopback."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def free_port() -> int:
    """Return a port of loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
