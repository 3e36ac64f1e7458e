"""A real worker and a real audit on the real broker, and a real Prometheus with our configuration that scrapes both."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import yaml

from stream_app.heads.signing import SigningKey
from stream_app.kafka.provision import make_and_check
from stream_app.localbroker.broker import LocalBroker
from stream_app.localbroker.machine import free_ports
from stream_app.setup import keyfile
from stream_app.setup.settings import Settings
from tests.deploy import ROOT
from tests.deploy.queries import PROMETHEUS
from tests.loopback import ask
from tests.patience import awaited
from tests.programs import program

SCRAPE = "500ms"
STEP_MS = 60_000


@dataclass(frozen=True, slots=True)
class Site:
    """A worker, an audit that follows it, and the Prometheus that scrapes both."""

    settings: Settings
    worker_port: int
    audit_port: int
    prometheus_port: int


@contextmanager
def standing(broker: LocalBroker, folder: Path, name: str) -> Iterator[Site]:
    """Run a worker and an audit on the broker, and a Prometheus that scrapes them often."""
    worker_port, audit_port, prometheus_port = free_ports(3)
    keyfile.create(folder / "noise.key")
    (folder / "public.pem").write_text(SigningKey.create(folder / "signing.key").public_pem())
    (folder / "household.json").write_text('{"backward": [[0.8, 0.2], [0, 1]], "forward": null}')
    config = folder / "landmark-stream.toml"
    config.write_text(
        f"""
        bootstrap_servers = "{broker.bootstrap_servers}"
        prefix = "{name}"
        application = "{name}-app"
        key_file = "{folder / "noise.key"}"
        signing_key_file = "{folder / "signing.key"}"
        head_interval_ms = 1000
        member_separator = "/"
        member_epsilon = 1000.0
        correlation_alarm = 1000.0
        correlations = {{ household = "{folder / "household.json"}" }}
        data_folder = "{folder / "data"}"
        http_port = {worker_port}

        [[policies]]
        series = "sensor-*"
        epsilon = 1.0
        protection = {{ level = "user", length = 1000, step = {STEP_MS} }}
        scheme = {{ name = "uniform" }}
        value = {{ kind = "number", lower = 0, upper = 10, resolution = 0.01 }}
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


def audit_command(folder: Path, config: Path, port: int) -> list[str]:
    """Return the command of an audit that follows the worker."""
    command = [sys.executable, "-m", "stream_app", "audit", "--follow", "--http-port", str(port)]
    return [*command, "--config", str(config), "--heads", "--public-key", str(folder / "public.pem")]


def prometheus_command(folder: Path, worker_port: int, audit_port: int, own_port: int) -> list[str]:
    """Return the command of a Prometheus with our configuration, except for addresses and scrape interval."""
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
        f"--web.user-assets={ROOT / 'docs'}",  # as in the Compose file
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
    """Wait until a server answers 200, or 204 if it has no content."""

    def answers() -> bool:
        with suppress(OSError):
            return ask(port, path)[0].status in {HTTPStatus.OK, HTTPStatus.NO_CONTENT}
        return False

    awaited(answers, lambda: f"no answer at {path}: {log.read_text()[-2000:]}")
