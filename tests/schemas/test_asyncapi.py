"""The document about the topics: valid AsyncAPI 3.0, and everything it refers to exists."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from jsonschema import Draft7Validator

from stream_app.kafka.client.topics import TopicNames, wanted_topics
from tests.schemas.catalogue import FOLDER, HEADS, RECORDS, UNASKED, asyncapi, file_of, resolved

SPECIFICATION = Path(__file__).parent / "vendor" / "asyncapi-3.0.0.json"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """Return the document as read."""
    return asyncapi()


@pytest.fixture(scope="module")
def specification() -> Draft7Validator:
    """Return AsyncAPI's own JSON Schema, bindings included (its origin and licence: vendor/README.md)."""
    return Draft7Validator(json.loads(SPECIFICATION.read_bytes()))


def references(part: Any) -> Iterator[str]:
    """Yield every reference, at any depth."""
    if isinstance(part, dict):
        for name, inner in part.items():
            if name == "$ref":
                yield inner
            else:
                yield from references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from references(inner)


def test_valid(document: dict[str, Any], specification: Draft7Validator) -> None:
    """The document fits the specification, and the check would notice a slip."""
    specification.validate(document)
    for path, member in (((), "chanels"), (("channels", "events"), "adress"), (("operations", "sendLedger"), "chanel")):
        broken = copy.deepcopy(document)
        part: Any = broken
        for name in path:
            part = part[name]
        part[member] = {}
        with pytest.raises(jsonschema.ValidationError):
            specification.validate(broken)


def test_references_lead_somewhere(document: dict[str, Any]) -> None:
    """References within the document resolve, others name a file beside it, and every newest schema is used."""
    found = set(references(document))
    for reference in found:
        if reference.startswith("#/"):
            assert resolved(document, {"$ref": reference}) is not None
        else:
            assert (FOLDER / reference).is_file(), reference
    assert {reference for reference in found if not reference.startswith("#/")} == {
        f"./{file_of(record)}" for record in RECORDS
    }


def test_topics_are_those_of_the_worker(document: dict[str, Any]) -> None:
    """Every topic of the worker except the changelog is a channel; its stated settings are those checked."""
    names = TopicNames.of("landmark", "any")
    wanted = {topic.name: topic.settings for topic in wanted_topics(names, 4, 1) if topic.name != names.changelog}
    channels = {channel["address"]: channel for channel in document["channels"].values()}
    assert set(channels) == set(wanted)
    for address, channel in channels.items():
        kafka = resolved(document, channel["bindings"])["kafka"]
        said = {
            name: ",".join(value) if isinstance(value, list) else str(value)
            for name, value in kafka["topicConfiguration"].items()
        }
        assert said.items() <= wanted[address].items()


def test_every_message_is_keyed_json_of_a_versioned_schema(document: dict[str, Any]) -> None:
    """Messages are keyed by the series and have a payload; those that answer input name it in a header."""
    assert document["defaultContentType"] == "application/json"
    assert "(murmur2(key) & 0x7fffffff) mod partitions" in document["info"]["description"]
    sent = {
        resolved(document, message)["name"]
        for operation in document["operations"].values()
        if operation["action"] == "send"
        for message in resolved(document, operation["channel"])["messages"].values()
    }
    for name, message in document["components"]["messages"].items():
        assert message["payload"]["schemaFormat"] == "application/schema+json;version=draft-2020-12"
        key = resolved(document, message["bindings"])["kafka"]["key"]
        assert "series id" in key["description"]
        # A head stands for many series; it and a claim answer no input.
        assert (key["type"] == "null") == (name in HEADS)
        assert ("headers" in message) == (name in sent - {*UNASKED})
