"""The schemas and their examples, as the tests read them."""

import json
import marshal
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml
from jsonschema import Draft202012Validator, TypeChecker, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing import Registry
from referencing.jsonschema import DRAFT202012

FOLDER = Path(__file__).parents[2] / "schemas"
COLLECTED = ("contribution", "watermark", "intrusion")
INPUTS = ("observation", "policy", "landmarks", "close", "member", *COLLECTED)
HEADS = ("leaves", "head")
UNASKED = ("claim", *HEADS)
"""Outputs that answer no input."""
OUTPUTS = ("release", "ledger-entry", "reject", *UNASKED)
RECORDS = INPUTS + OUTPUTS
DOCUMENTS = (*RECORDS, "proof", "correlation")
"""Records, and documents that are separate files."""
SUFFIX = ".schema.json"
SECOND = ("policy", "ledger-entry", "reject", "release", "watermark")
"""Records whose schema has a second version; the first is kept beside it for records written under it."""


class Example(NamedTuple):
    """An example file: its record, its name without the extension, and its bytes."""

    record: str
    name: str
    value: bytes

    @property
    def document(self) -> Any:
        """Return what the bytes hold."""
        return json.loads(self.value)


@cache
def schemas() -> dict[str, Any]:
    """Return every schema by its file's name, including the shared words."""
    return {path.name: json.loads(path.read_bytes()) for path in sorted(FOLDER.glob(f"*{SUFFIX}"))}


def asyncapi() -> dict[str, Any]:
    """Return the document about the topics."""
    found: dict[str, Any] = yaml.safe_load((FOLDER / "asyncapi.v1.yaml").read_text())
    return found


def resolved(document: dict[str, Any], part: Any) -> Any:
    """Return a part of a document, or the part that it refers to within the document."""
    found: Any = document
    for name in part["$ref"].removeprefix("#/").split("/") if "$ref" in part else ():
        found = found[name]
    return found if "$ref" in part else part


def file_of(record: str) -> str:
    """Return the file of the newest schema of a record."""
    return f"{record}.v{2 if record in SECOND else 1}{SUFFIX}"


def schema(record: str) -> Any:
    """Return the newest schema of a record."""
    return schemas()[file_of(record)]


def newest() -> dict[str, Any]:
    """Return the newest schemas by their files' names, including the shared words."""
    return {file_of(record): schema(record) for record in (*DOCUMENTS, "terms")}


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
    """Return a validator for a record by JSON Schema's rules, under which 1.0 is an integer."""
    return Draft202012Validator({"$ref": file_of(record)}, registry=_registry())


@cache
def former_validator(record: str) -> Validator:
    """Return a validator for a record by the first version of a schema that has a second one."""
    return Draft202012Validator({"$ref": f"{record}.v1{SUFFIX}"}, registry=_registry())


@cache
def strict_validator(record: str) -> Validator:
    """Return the same validator, but integers must be written as integers."""
    strict: type[Validator] = extend(Draft202012Validator, type_checker=_strict_types())  # type: ignore[no-untyped-call]
    return strict({"$ref": file_of(record)}, registry=_registry())


def fits(record: str, document: Any, *, strict: bool = False) -> bool:
    """Return whether a document fits the newest schema of a record by its validator, or by the strict one."""
    return _remembering(record, strict).is_valid(document)


def _strict_types() -> TypeChecker:
    types: TypeChecker = Draft202012Validator.TYPE_CHECKER
    return types.redefine("integer", lambda _, found: type(found) is int)


_MOST_KNOWN = 50_000
"""How many parts are cached at once: they take some 30 MB."""


@cache
def _remembering(record: str, strict: bool) -> Validator:  # noqa: FBT001 (a key)
    """Return a validator that caches what a reference says about a part: changed documents share most parts."""
    known: dict[tuple[int, bytes], bool] = {}
    follow = Draft202012Validator.VALIDATORS["$ref"]

    def remembered(check: Validator, ref: str, part: Any, schema: Any) -> Iterator[ValidationError]:
        place = id(schema), marshal.dumps(part, 2)  # the registry keeps every schema; 1, 1.0 and True differ
        if place not in known:
            if len(known) >= _MOST_KNOWN:
                known.clear()
            known[place] = next(iter(follow(check, ref, part, schema)), None) is None
        if not known[place]:
            yield ValidationError(f"{ref} refuses a part")

    types = _strict_types() if strict else Draft202012Validator.TYPE_CHECKER
    kept: type[Validator] = extend(Draft202012Validator, {"$ref": remembered}, type_checker=types)  # type: ignore[no-untyped-call]
    return kept({"$ref": file_of(record)}, registry=_registry())


@cache
def _registry() -> Registry[Any]:
    # Without `$schema` a strict validator stays strict beyond a reference.
    found = [(name, {**document}) for name, document in schemas().items()]
    for _, document in found:
        del document["$schema"]
    resources = ((name, DRAFT202012.create_resource(document)) for name, document in found)
    return Registry().with_resources(resources).crawl()
