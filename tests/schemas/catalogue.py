"""The schemas and their examples, as the tests read them."""

import json
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing import Registry
from referencing.jsonschema import DRAFT202012

FOLDER = Path(__file__).parents[2] / "schemas"
COLLECTED = ("contribution", "watermark", "intrusion")
INPUTS = ("observation", "policy", "landmarks", "close", *COLLECTED)
HEADS = ("leaves", "head")
OUTPUTS = ("release", "ledger-entry", "reject", *HEADS)
RECORDS = INPUTS + OUTPUTS
DOCUMENTS = (*RECORDS, "proof", "correlation")
"""Records, and what is a file of its own."""
SUFFIX = ".v1.schema.json"


class Example(NamedTuple):
    """An example file: its record, its name without ending, its bytes."""

    record: str
    name: str
    value: bytes

    @property
    def document(self) -> Any:
        """Return what the bytes hold."""
        return json.loads(self.value)


@cache
def schemas() -> dict[str, Any]:
    """Return every schema by its file's name, the words that they share included."""
    return {path.name: json.loads(path.read_bytes()) for path in sorted(FOLDER.glob(f"*{SUFFIX}"))}


def schema(record: str) -> Any:
    """Return the schema of a record."""
    return schemas()[f"{record}{SUFFIX}"]


@cache
def examples(sort: Literal["valid", "invalid"]) -> tuple[Example, ...]:
    """Return all valid, or all invalid, examples."""
    paths = sorted(FOLDER.glob(f"examples/*/{sort}/*.json"))
    return tuple(Example(path.parts[-3], path.stem, path.read_bytes()) for path in paths)


def label(example: Example) -> str:
    """Return the name of a test case."""
    return f"{example.record}-{example.name}"


@cache
def validator(record: str) -> Validator:
    """Return what checks a record as JSON Schema says, by which 1.0 is an integer."""
    return Draft202012Validator(_reference(record), registry=_registry())


@cache
def strict_validator(record: str) -> Validator:
    """Return the same where an integer is written as one."""
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, found: type(found) is int)
    strict: type[Validator] = extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
    return strict(_reference(record), registry=_registry())


def fits(record: str, document: Any) -> bool:
    """Return whether a document fits the schema of a record."""
    return validator(record).is_valid(document)


def _reference(record: str) -> dict[str, str]:
    return {"$ref": f"{record}{SUFFIX}"}


@cache
def _registry() -> Registry[Any]:
    # Without `$schema` a strict validator stays strict beyond a reference.
    found = [(name, {**document}) for name, document in schemas().items()]
    for _, document in found:
        del document["$schema"]
    resources = ((name, DRAFT202012.create_resource(document)) for name, document in found)
    return Registry().with_resources(resources).crawl()
