"""The Compose file against the Compose specification and against what it names; neither needs an engine."""

import argparse
import importlib.metadata
import json
import re
import socket
import subprocess
import tomllib
from pathlib import Path
from threading import Thread
from typing import Any

import jsonschema
import pytest
import yaml

from stream_app.cli import main
from stream_app.cli.ledger import audit
from stream_app.localbroker.broker import LocalBroker
from stream_app.localbroker.machine import KAFKA_VERSION, free_ports
from stream_app.setup import keyfile
from stream_app.setup.settings import PREFIX, Settings
from tests.deploy import ROOT


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """Return the parsed Compose file with its merges resolved."""
    content: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return content


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the Compose specification from check-jsonschema, whose code is not needed."""
    shipped = importlib.metadata.distribution("check-jsonschema")
    path = Path(str(shipped.locate_file("check_jsonschema/builtin_schemas/vendor/compose-spec.json")))
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def test_fits_the_specification(compose: dict[str, Any]) -> None:
    """The file is valid, and the check would find a member that the specification lacks."""
    jsonschema.validate(compose, schema())
    broken = {**compose, "services": {"kafka": {**compose["services"]["kafka"], "helthcheck": {}}}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema())


def test_images_are_pinned_and_kafka_is_the_tested_one(compose: dict[str, Any]) -> None:
    """Every foreign image has a full version; Kafka's is that of the broker that the tests run."""
    images = {name: service["image"] for name, service in compose["services"].items() if "build" not in service}
    assert all(re.fullmatch(r"[a-z/-]+:v?\d+\.\d+\.\d+", image) for image in images.values())
    assert images["kafka"] == f"apache/kafka:{KAFKA_VERSION}"


def test_nothing_listens_beyond_the_machine(compose: dict[str, Any]) -> None:
    """Ports are published on loopback only, and those of the worker not at all."""
    ports = {name: service.get("ports", []) for name, service in compose["services"].items()}
    assert all(port.startswith("127.0.0.1:") for published in ports.values() for port in published)
    assert ports["worker"] == []


def test_mounted_files_exist(compose: dict[str, Any]) -> None:
    """Every mounted file and folder is in the repository; every named volume is declared."""
    mounts = [mount for service in compose["services"].values() for mount in service.get("volumes", [])]
    sources = {mount.partition(":")[0] for mount in mounts if ":" in mount}
    assert all((ROOT / source).exists() for source in sources if source.startswith("."))
    assert {source for source in sources if not source.startswith(".")} == set(compose["volumes"])


def test_workers_run_without_rights(compose: dict[str, Any]) -> None:
    """A worker reads its image, writes its volumes, and cannot gain rights; the keys are mounted read-only."""
    worker = compose["services"]["worker"]
    assert worker["read_only"] is True
    assert worker["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in worker["security_opt"]
    assert "keys:/run/landmark-keys:ro" in worker["volumes"]


def test_settings_and_policies_are_mounted(
    compose: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anyone who runs a command finds both there, and the program uses those that come with the file."""
    folder = ROOT / "deploy" / "compose"
    files = {name: made["file"].partition(":-./")[2].removesuffix("}") for name, made in compose["configs"].items()}
    for name, service in compose["services"].items():
        mounted = {one["target"]: files[one["source"]] for one in service.get("configs", ())}
        runs = name in {"prepare", "landmark-stream", "worker", "audit"}
        assert bool(mounted) == runs, name
        for target, file in mounted.items():
            assert target == f"{service['working_dir']}/{Path(file).name}"
    keyfile.create(tmp_path / "key")
    monkeypatch.setenv(f"{PREFIX}KEY_FILE", str(tmp_path / "key"))
    monkeypatch.chdir(folder)
    assert main(["check"]) == 0
    assert main(["check", "policies.jsonl"]) == 0
    example = re.findall("^# (.+)$", (folder / "landmark-stream.toml").read_text().partition("\n#\n")[2], re.MULTILINE)
    (made,) = tomllib.loads("\n".join(example))["policies"]
    assert made["series"] == "home-*"


def test_no_core_dumps_of_keys_and_raw_values(compose: dict[str, Any]) -> None:
    """Every service with keys or raw values, which means all except those that show metrics, has a limit of 0."""
    limits = {name: service.get("ulimits") for name, service in compose["services"].items()}
    assert {name for name, limit in limits.items() if limit != {"core": 0}} == {"prometheus", "alertmanager", "grafana"}


def test_only_who_needs_the_broker_reaches_it(compose: dict[str, Any]) -> None:
    """The broker trusts every client: Prometheus and Grafana share networks only with services with metrics.

    A service that names no network would be in Compose's `default`, which is not declared here.
    """
    services = compose["services"]
    members = {
        network: {name for name, service in services.items() if network in service.get("networks", ["default"])}
        for network in {"default", *compose["networks"]}
    }
    assert members == {
        "default": set(),
        "kafka": {"kafka", "prepare", "landmark-stream", "worker", "audit"},
        "metrics": {"worker", "audit", "prometheus", "alertmanager", "receiver", "grafana"},
    }
    assert not any("network_mode" in service for service in services.values())
    scraped = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())["scrape_configs"]
    names = {name for job in scraped for config in job.get("dns_sd_configs", []) for name in config["names"]}
    assert names <= members["metrics"]


def test_audit_holds_no_private_key(compose: dict[str, Any]) -> None:
    """The auditor reads the public key that `prepare` leaves, and no other key."""
    services = compose["services"]
    assert services["audit"]["volumes"] == ["public:/run/landmark-public:ro"]
    parser = argparse.ArgumentParser()
    audit.add_arguments(parser)
    name, *options = services["audit"]["command"]
    asked = parser.parse_args(options)
    assert (name, asked.follow, asked.heads) == ("audit", True, True)
    assert f"> {asked.public_key[0]}\n" in services["prepare"]["command"][0]
    assert f"127.0.0.1:{asked.http_port}/healthz" in services["audit"]["healthcheck"]["test"][-1]


def test_variables_are_settings(compose: dict[str, Any]) -> None:
    """Each variable of a worker, here and in the image, names a field of the settings."""
    named = set(compose["services"]["worker"]["environment"]) | set(compose["services"]["audit"]["environment"])
    named |= set(re.findall(rf"{PREFIX}\w+", (ROOT / "Dockerfile").read_text()))
    assert {name.removeprefix(PREFIX).lower() for name in named} <= set(Settings.model_fields)


def test_every_service_that_stays_is_watched(compose: dict[str, Any]) -> None:
    """Each long-lived service has a health check, the worker's in its image."""
    services = compose["services"]
    assert {name for name, service in services.items() if "healthcheck" not in service} == {"worker"}
    assert "HEALTHCHECK" in (ROOT / "Dockerfile").read_text()
    assert "/healthz" in (ROOT / "Dockerfile").read_text()


def test_image_is_built_of_files_that_are_there() -> None:
    """Files copied by the Dockerfile exist and pass .dockerignore; the last user is not root."""
    dockerfile = (ROOT / "Dockerfile").read_text()
    copied = [
        name for line in re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.MULTILINE) for name in line.split()
    ]
    let_through = set(re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
    assert copied
    assert {*copied, "deploy"} == let_through  # `deploy/*` is shut out again but for the image's part
    assert all((ROOT / name).exists() for name in copied)
    assert re.findall(r"^USER (.+)$", dockerfile, re.MULTILINE) == ["10001:10001"]


def probed(compose: dict[str, Any], port: int) -> int:
    """Run the broker's health check on a different port; return its exit code, which is 124 after a time-out."""
    kind, *words = compose["services"]["kafka"]["healthcheck"]["test"]
    assert kind == "CMD"
    script = words.pop().replace("$$", "$").replace("localhost/9092", f"127.0.0.1/{port}")
    return subprocess.run(["timeout", "5", *words, script], capture_output=True, check=False).returncode


def test_the_brokers_health_check_tells_whether_it_answers(broker: LocalBroker, compose: dict[str, Any]) -> None:
    """It starts no JVM; a broker passes, but a closed port and a listener with another protocol fail."""
    assert probed(compose, int(broker.bootstrap_servers.rpartition(":")[2])) == 0
    assert probed(compose, free_ports(1)[0]) == 1
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert probed(compose, silent.getsockname()[1]) == 124
    with socket.create_server(("127.0.0.1", 0)) as other:

        def answer() -> None:
            with other.accept()[0] as met:
                met.recv(64)  # closed before, the check would end by a signal while it writes
                met.sendall(b"HTTP/1.1 400 Bad Request")

        answering = Thread(target=answer)
        answering.start()
        assert probed(compose, other.getsockname()[1]) == 1
        answering.join()
