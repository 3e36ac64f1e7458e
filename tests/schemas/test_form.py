"""The schemas themselves: valid, named, described, closed where they must be, and complete."""

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

from stream_app.privacy import parameters
from stream_app.privacy.kinds.form import Form, RangeForm
from stream_app.privacy.kinds.location import BoundsForm
from stream_app.privacy.reason import Reason
from tests.privacy.kinds.test_samples import KIND_FORMS
from tests.schemas.catalogue import (
    COLLECTED,
    DOCUMENTS,
    OUTPUTS,
    SECOND,
    SUFFIX,
    Example,
    examples,
    fits,
    former_validator,
    label,
    newest,
    schema,
    schemas,
)
from tests.schemas.changes import Path, added, at, places

FORMS: dict[str, type[Form]] = {
    "parameters": parameters.ParametersForm,
    "landmark-level": parameters.ProtectionForm,
    "event-level": parameters.ProtectionForm,
    "user-level": parameters.ProtectionForm,
    "w-event-level": parameters.ProtectionForm,
    "uniform": parameters.UniformForm,
    "adaptive": parameters.AdaptiveForm,
    "skip": parameters.SkipForm,
    "balanced": parameters.BalancedForm,
    "bd": parameters.BudgetDistributionForm,
    "ba": parameters.BudgetAbsorptionForm,
    **KIND_FORMS,
    "part": RangeForm,
    "bounds": BoundsForm,
    "collect": parameters.CollectForm,
    "drawn": parameters.DrawnForm,
    "padding": parameters.PaddingForm,
}
FIRST_KINDS = {"number", "counts", "location", "category"}
"""The kinds of the first version of the schemas."""
LEAST_EXAMPLES = 2
CLOSED = (*OUTPUTS, "proof")
VALID_OUTPUTS = [example for example in examples("valid") if example.record in CLOSED]
INVALID_OUTPUTS = [example for example in examples("invalid") if example.record in CLOSED]


def nodes(document: Any) -> Iterator[dict[str, Any]]:
    """Yield every schema within a schema; examples and defaults are not schemas."""
    if isinstance(document, dict):
        yield document
        for name, part in document.items():
            if name in {"properties", "$defs"}:
                for each in part.values():
                    yield from nodes(each)
            elif name not in {"examples", "default", "const", "enum"}:
                yield from nodes(part)
    elif isinstance(document, list):
        for part in document:
            yield from nodes(part)


def referred(reference: str) -> Any:
    """Return the target of a reference, from the file it names or else from any file that has it."""
    name, _, pointer = reference.partition("#")
    candidates = [schemas()[name]] if name else list(schemas().values())
    found = [document["$defs"].get(pointer.removeprefix("/$defs/")) for document in candidates if "$defs" in document]
    return next(each for each in found if each is not None)


@pytest.mark.parametrize("name", sorted(schemas()))
def test_valid(name: str) -> None:
    """A schema is valid under draft 2020-12 and says what it is."""
    document = schemas()[name]
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(document)
    assert document["title"]
    assert document["description"]


def test_one_schema_a_record() -> None:
    """There is one for each record, each other file and the shared words; former versions stay."""
    assert set(schemas()) == {*newest(), *(f"{record}.v1{SUFFIX}" for record in SECOND)}


def test_titles_are_unique() -> None:
    """No title occurs twice in the newest schemas, so that generated classes do not collide."""
    titles = [node["title"] for document in newest().values() for node in nodes(document) if "title" in node]
    assert len(titles) > len(DOCUMENTS)
    assert sorted(titles) == sorted(set(titles))


@pytest.mark.parametrize("name", sorted(schemas()))
def test_objects_say_whether_they_are_closed(name: str) -> None:
    """Every object specifies what happens to other members."""
    for node in nodes(schemas()[name]):
        if node.get("type") == "object":
            assert {"additionalProperties", "unevaluatedProperties"} & node.keys(), node


@pytest.mark.parametrize("name", sorted(schemas()))
def test_definitions_and_members_are_described(name: str) -> None:
    """Every definition has a title and a description, every member a description of its own or by reference."""
    document = schemas()[name]
    for definition in document.get("$defs", {}).values():
        assert definition["title"]
        assert definition["description"]
    conditions = [node[word] for node in nodes(document) for word in ("if", "then", "else", "not") if word in node]
    excused = [id(node) for condition in conditions for node in nodes(condition)]
    excused += [id(node) for parent in nodes(document) for part in parent.get("anyOf", ()) for node in nodes(part)]
    for node in nodes(document):
        for member in node.get("properties", {}).values() if id(node) not in excused else ():
            assert "description" in member or "description" in referred(member["$ref"]), member


@pytest.mark.parametrize("record", DOCUMENTS)
def test_examples_within_fit(record: str) -> None:
    """Every example in a schema fits it."""
    found = schema(record)["examples"]
    assert found
    assert [document for document in found if not fits(record, document)] == []


@pytest.mark.parametrize("record", DOCUMENTS)
def test_several_examples(record: str) -> None:
    """Every record has examples that fit and examples that do not."""
    valid = [example for example in examples("valid") if example.record == record]
    invalid = [example for example in examples("invalid") if example.record == record]
    assert min(len(valid), len(invalid)) >= LEAST_EXAMPLES


@pytest.mark.parametrize("example", VALID_OUTPUTS, ids=label)
def test_valid_outputs(example: Example) -> None:
    """A valid output example fits its schema and no other output's; its name states its sort."""
    assert [record for record in CLOSED if fits(record, example.document)] == [example.record]
    sort = {"release": "decision", "ledger-entry": "entry", "reject": "reason", "claim": "entry"}.get(
        example.record, "type"
    )
    assert example.name.startswith(example.document[sort])


@pytest.mark.parametrize("example", INVALID_OUTPUTS, ids=label)
def test_invalid_outputs(example: Example) -> None:
    """An invalid output example does not fit."""
    assert not fits(example.record, example.document)


def test_examples_of_every_sort() -> None:
    """Valid examples show every level, scheme, kind, decision and kind of entry."""
    found: dict[str, set[str]] = {}
    for example in examples("valid"):
        document = example.document
        for path in places(document):
            name = str(path[-1]) if path else ""
            if name in {"level", "name", "kind", "decision", "entry"}:
                found.setdefault(f"{example.record}.{name}", set()).add(at(document, path))
    assert found["policy.level"] == {"landmark", "event", "user", "w-event"}
    assert found["policy.name"] == {"uniform", "adaptive", "skip", "balanced", "bd", "ba"}
    assert found["policy.kind"] == KIND_FORMS.keys()
    assert found["release.decision"] == found["ledger-entry.decision"] == {"perturbed", "approximated", "withheld"}
    assert found["ledger-entry.entry"] == {
        *("policy", "dummies", "landmarks", "release", "intrusion", "close", "member"),
    }


def _are_counts(path: Path, found: dict[str, Any]) -> bool:
    """Return whether an object's members are the keys of a policy."""
    return bool(path) and path[-1] in {"value", "measurement", "invalid"} and not {"latitude", "kind"} & found.keys()


@pytest.mark.parametrize("example", examples("valid"), ids=label)
def test_unknown_members(example: Example) -> None:
    """Outputs and policies are closed at every depth, other inputs are open."""
    for path in places(example.document):
        found = at(example.document, path)
        if isinstance(found, dict) and not _are_counts(path, found):
            is_open = example.record in {"observation", "landmarks", "close", "member", *COLLECTED, "correlation"}
            assert fits(example.record, added(example.document, path, "unheard-of", {})) == is_open, path


@pytest.mark.parametrize("definition", sorted(FORMS))
def test_members_are_those_of_the_code(definition: str) -> None:
    """The schema of a policy's part has every member that the decoder knows, and no others."""
    known = {field.alias or name for name, field in FORMS[definition].model_fields.items()}
    if definition == "parameters":  # as the ledger keeps them; the record has all
        assert set(schema("policy")["properties"]) == {"type", "series", "version", "weaker", *known}
        known -= {"dummies"}
    assert set(schema("policy")["$defs"][definition]["properties"]) == known


def test_reasons_are_those_of_the_code() -> None:
    """The reasons of rejects are the worker's, in its order, and each is explained."""
    reason = schema("reject")["$defs"]["reason"]
    assert reason["enum"] == list(get_args(Reason))
    assert all(f"{each}: " in reason["description"] for each in reason["enum"])


def _declared(example: Example) -> set[str]:
    """Return the kinds that a policy or an entry declares: one or none."""
    return {at(example.document, path) for path in places(example.document) if path[-2:] == ("value", "kind")}


@pytest.mark.parametrize("record", SECOND)
def test_a_second_version_takes_what_the_first_took(record: str) -> None:
    """What fits the first fits the second, except policies with revealing substitutes; old ledgers keep those."""
    new = {"policy-weaker", "policy-renewed", "ledger-entry-policy-weaker", "ledger-entry-policy-renewed"}
    new |= {"policy-lifetime", "ledger-entry-policy-claim", "ledger-entry-policy-lifetime"}
    new |= {"ledger-entry-member", "ledger-entry-member-lowered", "reject-weaker-policy", "reject-member-cap"}
    new |= {"ledger-entry-member-cap-zero", "reject-wrong-type", "ledger-entry-policy-view"}
    new |= {"policy-landmark-window", "policy-landmark-window-ba", "watermark-without-seed"}
    names = {"collected-sum", "collected-mean", "collected-mean-add-remove"}
    names |= {"within", "within-absent", "within-approximated"}
    new |= {f"{record}-{name}" for name in names for record in ("policy", "ledger-entry-policy")}
    new |= {label(example) for example in examples("valid") if _declared(example) - FIRST_KINDS}
    new |= {f"release-{name}" for name in ("perturbed-sum", "perturbed-mean", "perturbed-mean-add-remove")}
    new |= {"release-perturbed-vector", "release-approximated-mean", "release-withheld-sum"}
    new |= {label(example) for example in examples("valid") if "-units-" in label(example)}
    first = former_validator(record)
    for example in examples("valid"):
        if example.record == record:
            assert first.is_valid(example.document) == (label(example) not in new), label(example)
    refused = {"policy-counts-substitute", "policy-location-substitute"}  # since the second; the ledger keeps them
    for example in examples("invalid"):
        if example.record == record:
            assert first.is_valid(example.document) == (label(example) in refused), label(example)
    entry = next(each.document for each in examples("valid") if label(each) == "ledger-entry-policy")
    value = {"kind": "counts", "keys": ["walk"], "invalid": {"walk": 1}}
    kept = {**entry, "parameters": {**entry["parameters"], "value": value}}
    assert former_validator("ledger-entry").is_valid(kept)
    assert fits("ledger-entry", kept)
