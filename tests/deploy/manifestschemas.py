"""The schemas with which a Kubernetes cluster checks manifests, and that check."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

VENDOR = Path(__file__).parent / "vendor"
GROUPS = {
    "v1": "core.v1",
    "apps/v1": "apps.v1",
    "batch/v1": "batch.v1",
    "networking.k8s.io/v1": "networking.v1",
    "policy/v1": "policy.v1",
}
OPERATOR = "monitoring.coreos.com/v1"


@cache
def schema_file(name: str) -> dict[str, Any]:
    """Return a schema beside this file."""
    content: dict[str, Any] = json.loads((VENDOR / name).read_text())
    return content


def validate(manifest: dict[str, Any]) -> None:
    """Check an object against the schema of its kind, as strictly as a server that refuses unknown members."""
    if manifest["apiVersion"] == OPERATOR:
        schema = schema_file(f"{manifest['kind']}.json")
    else:
        definition = f"#/$defs/io.k8s.api.{GROUPS[manifest['apiVersion']]}.{manifest['kind']}"
        schema = {**schema_file("kubernetes-1.33-strict.json"), "$ref": definition}
    # Not `jsonschema.validate`, which would check the schemas each time.
    jsonschema.Draft202012Validator(schema).validate(manifest)
