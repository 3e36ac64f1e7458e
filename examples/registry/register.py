"""Registers the schemas with a schema registry that has Confluent's API. Needs only Python 3.11.

    python register.py REGISTRY SCHEMAS [STRATEGY [PREFIX]]

REGISTRY is the address of the API, SCHEMAS the folder of the schema files, and STRATEGY the source of subject names:
`topic` (the default), `record` or `topic-record`. It can be run any number of times; schemas already registered stay
unchanged.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

TOPICS = {
    "events": ("observation", "policy", "landmarks", "close", "member", "contribution", "watermark", "intrusion"),
    "releases": ("release",),
    "ledger": ("ledger-entry", "claim"),
    "rejects": ("reject",),
    "heads": ("leaves", "head"),
}


def subjects(schemas: Path, strategy: str, prefix: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every subject with its schema, each after the subjects that it refers to.

    Files come first, under their own names, because references use these names.
    """
    shared = newest(schemas, "terms")
    files = {record: newest(schemas, record) for records in TOPICS.values() for record in records}
    found = {file: json.loads((schemas / file).read_bytes()) for file in (shared, *files.values())}
    yield from found.items()
    for topic, records in TOPICS.items():
        if strategy == "topic":
            yield f"{prefix}.{topic}-value", union(topic, [files[record] for record in records])
        else:
            start = f"{prefix}.{topic}-" if strategy == "topic-record" else ""
            yield from ((f"{start}{found[files[record]]['title']}", found[files[record]]) for record in records)


def newest(schemas: Path, record: str) -> str:
    """Return the file with the highest version of a record's schema.

    Output that matched an earlier version matches it too.
    """
    found = schemas.glob(f"{record}.v*.schema.json")
    return max(found, key=lambda file: int(file.name.removeprefix(f"{record}.v").partition(".")[0])).name


def union(topic: str, files: list[str]) -> dict[str, Any]:
    """Return the schema of a topic: its records match one of the files. Titles name generated classes."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Any record of {topic}",
        "oneOf": [{"$ref": file} for file in files],
    }


def referred(schema: Any) -> set[str]:
    """Return the files that a schema refers to."""
    if isinstance(schema, dict):
        own = {schema["$ref"].partition("#")[0]} if isinstance(schema.get("$ref"), str) else set()
        return (own - {""}).union(*map(referred, schema.values()))
    return set().union(*map(referred, schema)) if isinstance(schema, list) else set()


def register(registry: str, subject: str, schema: dict[str, Any]) -> int:
    """Register a schema under a subject; return its id. Raises urllib.error.HTTPError if it is refused."""
    body = {
        "schemaType": "JSON",
        "schema": json.dumps(schema),
        "references": [{"name": file, "subject": file, "version": 1} for file in sorted(referred(schema))],
    }
    request = Request(  # noqa: S310 - the address is the user's own
        f"{registry}/subjects/{quote(subject, safe='')}/versions",
        json.dumps(body).encode(),
        {"Content-Type": "application/vnd.schemaregistry.v1+json"},
    )
    with urlopen(request) as answer:  # noqa: S310
        return int(json.load(answer)["id"])


def main(registry: str, schemas: str, strategy: str = "topic", prefix: str = "landmark") -> None:
    """Register all schemas and print their ids."""
    if strategy not in {"topic", "record", "topic-record"}:
        raise SystemExit(f"{strategy}: no strategy; say topic, record or topic-record")
    for subject, schema in subjects(Path(schemas), strategy, prefix):
        print(f"{register(registry, subject, schema):4}  {subject}")


if __name__ == "__main__":
    main(*sys.argv[1:])
