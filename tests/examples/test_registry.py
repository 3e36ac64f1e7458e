"""The schemas in a real schema registry: what it returns is enough to check every record."""

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest
import yaml
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

import register
from tests.examples.apicurio import registry
from tests.examples.published import EXAMPLES
from tests.schemas.catalogue import FOLDER, Example, examples, file_of

TOPIC_OF = {record: topic for topic, records in register.TOPICS.items() for record in records}
RECORDS = [example for sort in ("valid", "invalid") for example in examples(sort) if example.record in TOPIC_OF]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a registry, with everything registered by every strategy."""
    with registry(tmp_path_factory.mktemp("registry")) as found:
        for strategy in ("topic", "record", "topic-record"):
            registered(found, strategy)
        yield found


def registered(address: str, strategy: str) -> str:
    """Run the example; return what it prints."""
    command = [sys.executable, str(EXAMPLES / "registry" / "register.py"), address, str(FOLDER), strategy]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def asked(address: str, path: str, body: Any = None) -> Any:
    """Return what the registry answers."""
    data = None if body is None else json.dumps(body).encode()
    request = Request(f"{address}/{path}", data, {"Content-Type": "application/vnd.schemaregistry.v1+json"})  # noqa: S310
    with urlopen(request) as answer:  # noqa: S310 - loopback
        return json.load(answer)


def with_references(address: str, subject: str) -> dict[str, Any]:
    """Return the schemas that a subject needs, by reference name, using only the registry's answers."""
    found: dict[str, Any] = {}
    wanted = [("", subject, "latest")]
    while wanted:
        name, of, version = wanted.pop()
        answer = version_of(address, of, version)
        found[name] = json.loads(answer["schema"])
        wanted += [(each["name"], each["subject"], each["version"]) for each in answer.get("references", ())]
    return found


@cache
def version_of(address: str, subject: str, version: str | int) -> Any:
    """Return a version of a subject, which is requested only once."""
    return asked(address, f"subjects/{quote(subject, safe='')}/versions/{version}")


def validator(schemas: dict[str, Any]) -> Draft202012Validator:
    """Return a validator that checks records by these schemas and no others."""
    resources = [(name, DRAFT202012.create_resource(schema)) for name, schema in schemas.items() if name]
    return Draft202012Validator(schemas[""], registry=Registry().with_resources(resources))


def test_every_record_has_its_topic() -> None:
    """The example knows the topics and records of the AsyncAPI document."""
    document = yaml.safe_load((FOLDER / "asyncapi.v1.yaml").read_text())
    messages = document["components"]["messages"]
    assert {topic: len(records) for topic, records in register.TOPICS.items()} == {
        topic: len(channel["messages"]) for topic, channel in document["channels"].items()
    }
    files = {message["payload"]["schema"]["$ref"] for message in messages.values()}
    assert {f"./{file_of(record)}" for record in TOPIC_OF} == files


@pytest.mark.parametrize("topic", register.TOPICS)
def test_a_topic_is_the_union_of_its_records(address: str, topic: str) -> None:
    """By the topic's subject every valid record is of exactly one of its kinds, and no invalid one is of any."""
    schemas = with_references(address, f"landmark.{topic}-value")
    check = validator(schemas)
    for example in RECORDS:
        if TOPIC_OF[example.record] == topic:
            assert check.is_valid(example.document) == fits(example), example


def fits(example: Example) -> bool:
    """Return whether an example is valid."""
    return example in examples("valid")


@pytest.mark.parametrize("start", ["", "landmark.{topic}-"])
def test_a_record_is_found_by_its_title(address: str, start: str) -> None:
    """The record's own subject holds its schema, with or without the topic as prefix."""
    for record, topic in TOPIC_OF.items():
        title = json.loads((FOLDER / file_of(record)).read_bytes())["title"]
        check = validator(with_references(address, f"{start.format(topic=topic)}{title}"))
        for example in RECORDS:
            if example.record == record:
                assert check.is_valid(example.document) == fits(example), example


def test_registering_again_changes_nothing(address: str) -> None:
    """The ids stay the same, and each subject keeps one version."""
    for line in registered(address, "topic").splitlines():
        number, subject = line.split(maxsplit=1)
        assert version_of(address, subject, 1)["id"] == int(number)
    subjects = asked(address, "subjects")
    assert len(subjects) == 1 + len(TOPIC_OF) * 3 + len(register.TOPICS)
    assert all(asked(address, f"subjects/{quote(each, safe='')}/versions") == [1] for each in subjects)


def test_a_registry_needs_what_is_referred_to(address: str) -> None:
    """A reference to a missing schema is refused: the order of registration matters."""
    references = [{"name": "terms.v1.schema.json", "subject": "nothing", "version": 1}]
    schema = (FOLDER / file_of("release")).read_text()
    with pytest.raises(HTTPError, match="422"):
        asked(address, "subjects/x/versions", {"schemaType": "JSON", "schema": schema, "references": references})


def test_this_registry_cannot_compare_versions(address: str) -> None:
    """This registry's compatibility checks do not support draft 2020-12, as the page says."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A", "type": "object"}
    asked(address, "subjects/compared/versions", {"schemaType": "JSON", "schema": json.dumps(schema)})
    body = json.dumps({"compatibility": "BACKWARD"}).encode()
    request = Request(f"{address}/config/compared", body, {"Content-Type": "application/json"}, method="PUT")  # noqa: S310
    with urlopen(request):  # noqa: S310 - loopback
        pass
    schema["title"] = "B"
    with pytest.raises(HTTPError, match="500"):
        asked(address, "subjects/compared/versions", {"schemaType": "JSON", "schema": json.dumps(schema)})
