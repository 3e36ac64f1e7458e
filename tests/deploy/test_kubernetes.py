"""The Kubernetes manifests: valid, restricted, and in agreement with the program, its settings and each other."""

import argparse
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from stream_app.cli import COMMANDS
from stream_app.cli.ledger import audit
from stream_app.cli.operating import topics, worker
from stream_app.kafka.provision import ROLES
from stream_app.setup.settings import PREFIX, Settings
from tests.deploy import ROOT
from tests.deploy.manifestschemas import validate
from tests.deploy.queries import PROMETHEUS, RUNBOOKS
from tests.programs import program

KUBERNETES = ROOT / "deploy" / "kubernetes"
ROLE_OF = {"landmark-worker": "worker", "landmark-audit": "auditor", "landmark-topics": "operator"}
"""The role from `topics --acls` that each workload has on the brokers."""
DECLARE = {"worker": worker.add_arguments, "audit": audit.add_arguments, "topics": topics.add_arguments}


def manifests() -> list[dict[str, Any]]:
    """Return every object in the files named by the kustomizations."""
    found: list[dict[str, Any]] = []
    for folder in (KUBERNETES, KUBERNETES / "monitoring"):
        for name in yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]:
            found.extend(yaml.safe_load_all((folder / name).read_text()))
    return found


MANIFESTS = manifests()


def named(kind: str, name: str) -> dict[str, Any]:
    """Return one object."""
    (found,) = (one for one in MANIFESTS if (one["kind"], one["metadata"]["name"]) == (kind, name))
    return found


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every workload's name and pod template."""
    for one in MANIFESTS:
        if "template" in one.get("spec", {}):
            yield one["metadata"]["name"], one["spec"]["template"]


def containers(template: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the containers of a pod, with init containers first."""
    spec = template["spec"]
    return [*spec.get("initContainers", []), *spec["containers"]]


def settings_file() -> dict[str, Any]:
    """Return the settings that the pods receive."""
    return tomllib.loads((KUBERNETES / "landmark-stream.toml").read_text())


def printed_rules(*files: Path, docs_url: str = "") -> list[dict[str, Any]]:
    """Return the output of the script `rules`."""
    command = ["env", f"DOCS_URL={docs_url}", str(KUBERNETES / "rules"), *map(str, files)]
    return list(yaml.safe_load_all(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda one: f"{one['kind']}-{one['metadata']['name']}")
def test_fits_the_schema(manifest: dict[str, Any]) -> None:
    """Each manifest is valid, and a member unknown to the API would be found."""
    validate(manifest)
    if manifest["kind"] != "Namespace":
        member = "automountServiceAccountTokens" if manifest["kind"] == "ServiceAccount" else "spec"
        broken = {**manifest, member: {**manifest.get("spec", {}), "selecter": {}}}
        with pytest.raises(jsonschema.ValidationError):
            validate(broken)


def test_rules_are_those_of_every_prometheus() -> None:
    """The script wraps each file of prometheus.yml, by group, in a valid PrometheusRule with its own name."""
    files = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())["rule_files"]
    printed = printed_rules()
    for manifest in printed:
        validate(manifest)
    assert [one["spec"] for one in printed] == [yaml.safe_load((PROMETHEUS / name).read_text()) for name in files]
    assert len({one["metadata"]["name"] for one in printed}) == len(files) > 0


def test_alerts_can_name_docs_that_are_published_elsewhere() -> None:
    """With DOCS_URL, all of them use it, and nothing else changes."""
    (there,) = printed_rules(docs_url="https://docs.example/")
    (here,) = printed_rules()
    found = [rule["annotations"] for group in there["spec"]["groups"] for rule in group["rules"] if "alert" in rule]
    assert {each.pop("runbook_url").partition("alerts/")[0] for each in found} == {"https://docs.example/"}
    found = [rule["annotations"] for group in here["spec"]["groups"] for rule in group["rules"] if "alert" in rule]
    assert {each.pop("runbook_url").partition("alerts/")[0] for each in found} == {RUNBOOKS}
    assert there == here


@pytest.mark.parametrize(("name", "template"), list(pods()), ids=lambda value: value if isinstance(value, str) else "")
def test_pods_are_restricted(name: str, template: dict[str, Any]) -> None:
    """They meet the Restricted profile of Pod Security, with a read-only root and no token as well."""
    spec = template["spec"]
    assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys(), name
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 10001
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    kinds = {kind for volume in spec["volumes"] for kind in volume if kind != "name"}
    assert kinds <= {"configMap", "secret", "emptyDir"}
    for container in containers(template):
        context = container["securityContext"]
        assert context == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"]
        assert not any("hostPort" in port for port in container.get("ports", []))
    assert re.search(r"^USER 10001:10001$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)


@pytest.mark.parametrize(("name", "template"), list(pods()), ids=lambda value: value if isinstance(value, str) else "")
def test_commands_and_mounts_agree(name: str, template: dict[str, Any]) -> None:
    """Arguments parse, variables are settings, and every named path is in a mounted volume."""
    spec = template["spec"]
    volumes = {volume["name"] for volume in spec["volumes"]}
    if name == "landmark-worker":
        volumes |= {claim["metadata"]["name"] for claim in named("StatefulSet", name)["spec"]["volumeClaimTemplates"]}
    used = set()
    for container in containers(template):
        places = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
        used |= {mount["name"] for mount in places.values()}
        for variable in container.get("env", []):
            assert variable["name"].removeprefix(PREFIX).lower() in Settings.model_fields
        paths = [word for word in container.get("command") or container["args"] if word.startswith("/")]
        if "args" in container:
            command, *options = container["args"]
            assert command in COMMANDS
            parser = argparse.ArgumentParser()
            DECLARE[command](parser)
            parser.parse_args(options)
            paths += [settings_file()["ca_file"], settings_file()["sasl_password_file"]]
        assert all(any(path == place or path.startswith(f"{place}/") for place in places) for path in paths)
    assert used == volumes


def test_the_worker_writes_where_it_may() -> None:
    """State is on its volume, keys are in the folder filled by the first container; only /tmp is writable too."""
    template = named("StatefulSet", "landmark-worker")["spec"]["template"]
    keys, _, main = containers(template)
    mounts = {mount["name"]: mount for mount in main["volumeMounts"]}
    settings = settings_file()
    assert {name for name, mount in mounts.items() if not mount.get("readOnly")} == {"state", "tmp"}
    assert settings["data_folder"].startswith(f"{mounts['state']['mountPath']}/")
    *_, first, second, password, folder = keys["command"]
    assert settings["sasl_password_file"] == f"{folder}/{Path(password).name}"
    assert folder == mounts["keys"]["mountPath"] == str(Path(settings["key_file"]).parent)
    assert [Path(first).name, Path(second).name] == [
        Path(settings["key_file"]).name,
        Path(settings["signing_key_file"]).name,
    ]
    assert "secret-keys" not in mounts


def test_keys_reach_workers_alone() -> None:
    """No other pod mounts the Secret of the keys."""
    holders = {
        name
        for name, template in pods()
        for volume in template["spec"]["volumes"]
        if volume.get("secret", {}).get("secretName") == "landmark-keys"
    }
    assert holders == {"landmark-worker"}


def test_each_role_is_a_user_with_a_secret_of_its_own() -> None:
    """No two workloads share a Secret; all programs in a pod are its role's user, which no setting overrides."""
    holders: dict[str, list[str]] = {}
    for name, template in pods():
        for volume in template["spec"]["volumes"]:
            if "secret" in volume:
                holders.setdefault(volume["secret"]["secretName"], []).append(name)
        programs = [container for container in containers(template) if "args" in container]
        assert [user_of(container) for container in programs] == [f"landmark-{ROLE_OF[name]}"] * len(programs)
    assert holders == {
        **{f"landmark-kafka-{role}": [name] for name, role in ROLE_OF.items()},
        "landmark-keys": ["landmark-worker"],
    }
    assert set(ROLE_OF.values()) <= set(ROLES)
    assert not any(name.startswith("sasl_user") or name == "sasl_password" for name in settings_file())


def user_of(container: dict[str, Any]) -> str | None:
    """Return the user that a program is on the brokers."""
    return next((one["value"] for one in container["env"] if one["name"] == f"{PREFIX}SASL_USER"), None)


def test_the_page_makes_these_users_and_secrets() -> None:
    """Following the page gives rights to the manifests' users, and creates every Secret that they mount."""
    page = (ROOT / "docs" / "how-to" / "run-in-production.md").read_text()
    granted = dict(re.findall(r"--acls (\w+)=User:([\w-]+)", page))
    assert granted == {role: f"landmark-{role}" for role in ROLE_OF.values()}
    loops = re.findall(r"^for role in ([^;]+); do", page, re.MULTILINE)
    assert [set(roles.split()) for roles in loops] == [set(ROLE_OF.values())] * 2  # passwords, then Secrets
    assert 'create secret generic "landmark-kafka-$role"' in page
    assert "delete job landmark-topics" in page
    assert all(f"| `{name}` | `landmark-{role}` | " in page for name, role in ROLE_OF.items())


def test_settings_are_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is a valid configuration once Secret and user exist; every worker has a partition."""
    monkeypatch.setenv(f"{PREFIX}SASL_USER", "landmark-worker")
    content = (KUBERNETES / "landmark-stream.toml").read_text()
    (tmp_path / "password").write_text("x")
    (tmp_path / "password").chmod(0o400)  # as the first container copies it
    # The brokers' certificate is the operator's; without it the system's are used.
    content = re.sub(r"^ca_file = .*\n", "", content, flags=re.MULTILINE)
    (tmp_path / "file.toml").write_text(content.replace("/run/landmark-keys/password", str(tmp_path / "password")))
    settings = Settings.load(tmp_path / "file.toml")
    replicas = named("StatefulSet", "landmark-worker")["spec"]["replicas"]
    assert settings.standby_replicas < replicas <= settings.partitions


def test_labels_and_ports_meet() -> None:
    """Services, budgets, policies and the monitor select the intended pods; ports have the actual numbers."""
    ports = {name: containers(template)[-1].get("ports", []) for name, template in pods()}
    default = Settings.model_fields["http_port"].default
    assert ports["landmark-worker"] == [{"name": "metrics", "containerPort": default}]
    parser = argparse.ArgumentParser()
    audit.add_arguments(parser)
    assert ports["landmark-audit"] == [{"name": "metrics", "containerPort": parser.parse_args([]).http_port}]
    labels = {name: template["metadata"]["labels"] for name, template in pods()}
    watched = {name for name, found in labels.items() if found.get("landmark-stream/metrics") == "true"}
    assert watched == {name for name, open_ports in ports.items() if open_ports}
    assert all(found["landmark-stream/kafka"] == "true" for found in labels.values())
    for name in watched:
        service = named("Service", name)
        assert service["spec"]["selector"].items() <= labels[name].items()
        assert service["spec"]["ports"][0]["port"] == ports[name][0]["containerPort"]
        wanted = named("ServiceMonitor", "landmark-stream")["spec"]["selector"]["matchLabels"]
        assert wanted.items() <= service["metadata"]["labels"].items()
    budget = named("PodDisruptionBudget", "landmark-worker")["spec"]["selector"]["matchLabels"]
    assert budget.items() <= labels["landmark-worker"].items()
    broker = int(settings_file()["bootstrap_servers"].rpartition(":")[2])
    assert broker in {
        port["port"] for rule in named("NetworkPolicy", "to-kafka")["spec"]["egress"] for port in rule["ports"]
    }


def test_everything_is_denied_first() -> None:
    """One policy chooses all pods and allows nothing in either direction."""
    assert named("NetworkPolicy", "deny-all")["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_jobs_have_the_names_that_rules_look_for() -> None:
    """The monitor gives scraped pods the job names of the Compose file's Prometheus."""
    jobs = {job["job_name"] for job in yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())["scrape_configs"]}
    (endpoint,) = named("ServiceMonitor", "landmark-stream")["spec"]["endpoints"]
    renamed = {rule["regex"]: rule["replacement"] for rule in endpoint["relabelings"] if "regex" in rule}
    services = [one["metadata"]["name"] for one in MANIFESTS if one["kind"] == "Service"]
    assert {renamed.get(name, name) for name in services} == jobs - {"prometheus"}


def test_kustomize_puts_them_together() -> None:
    """The result is also valid; the settings' name includes their hash, and every pod mounts them."""
    command = [program("kubectl"), "kustomize", str(KUBERNETES)]
    built = list(yaml.safe_load_all(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    for manifest in built:
        validate(manifest)
    (settings,) = (one["metadata"]["name"] for one in built if one["kind"] == "ConfigMap")
    assert settings.startswith("landmark-settings-")
    mounted = {
        volume["configMap"]["name"]
        for one in built
        if "template" in one.get("spec", {})
        for volume in one["spec"]["template"]["spec"]["volumes"]
        if volume["name"] == "settings"
    }
    assert mounted == {settings}
    assert {one["metadata"].get("namespace", "landmark-stream") for one in built} == {"landmark-stream"}
