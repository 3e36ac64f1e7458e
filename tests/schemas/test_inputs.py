"""Inputs: a schema accepts what the decoder accepts, except for the rules of one table."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_app.formats import records, wire
from stream_app.formats.records import Contribution, Intrusion, Observation, Watermark
from stream_app.privacy.policy import PolicyError, policy_of
from tests.schemas.beyond import RULES, broken_rules
from tests.schemas.catalogue import INPUTS, Example, examples, fits, label
from tests.schemas.changes import ADDED, ANYTHING, NAMES, added, at, changes, places, removed, replaced
from tests.schemas.rule import Rule, Sent, sent

CLASSES = {
    "observation": Observation,
    "policy": records.PolicyRecord,
    "landmarks": records.LandmarksRecord,
    "close": records.CloseRecord,
    "member": records.MemberRecord,
    "contribution": Contribution,
    "watermark": Watermark,
    "intrusion": Intrusion,
}
VALID = [example for example in examples("valid") if example.record in INPUTS]
INVALID = [example for example in examples("invalid") if example.record in INPUTS]


def accepted(record: str, value: bytes) -> bool:
    """Return whether the worker accepts bytes for a record of this sort, whatever the state of its series."""
    found = wire.decode(value)
    if isinstance(found, records.PolicyRecord) and record == "policy":
        try:
            policy_of(found.parameters, found.version)
        except PolicyError:
            return False
    return isinstance(found, CLASSES[record])


def disagreement(record: str, document: Any) -> str | None:
    """Return what schema and decoder say about a document if they differ beyond the table."""
    given_document = sent(record, document)
    fitting = fits(record, document)
    broken = broken_rules(given_document) if fitting else []
    taken = accepted(record, given_document.value)
    if taken == (fitting and not broken):
        return None
    return f"schema {fitting}, rules broken {broken}, decoder {taken}: {given_document.value[:2000].decode()}"


@pytest.mark.parametrize("example", VALID, ids=label)
def test_valid(example: Example) -> None:
    """A valid example fits only the schema of its record, and the decoder accepts it."""
    assert [record for record in INPUTS if fits(record, example.document)] == [example.record]
    assert accepted(example.record, example.value)
    assert broken_rules(Sent(example.record, example.document, example.value)) == []


@pytest.mark.parametrize("example", INVALID, ids=label)
def test_invalid(example: Example) -> None:
    """An invalid example fits no schema of its record, and the decoder refuses it."""
    assert not fits(example.record, example.document)
    assert not accepted(example.record, example.value)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rules_beyond_schemas(rule: Rule) -> None:
    """A rule's example breaks it and no other: the schema accepts it, the decoder does not."""
    assert fits(rule.example.record, rule.example.document)
    assert broken_rules(rule.example) == [rule.name]
    assert not accepted(rule.example.record, rule.example.value)


def new_members() -> dict[str, tuple[Example, frozenset[str]]]:
    """Return the valid examples with their members that no earlier example of the record has in the same form."""
    known: set[tuple[str, str, str]] = set()
    found = {}
    for example in VALID:
        members = {(example.record, name, json.dumps(value)) for name, value in example.document.items()}
        found[label(example)] = example, frozenset(name for _, name, _ in members - known)
        known |= members
    return found


@pytest.mark.parametrize(("example", "members"), new_members().values(), ids=new_members())
def test_one_change(example: Example, members: frozenset[str], percent: int) -> None:
    """Schema and decoder agree on documents one change away from a valid example; `make long` tries all."""
    some = islice(changes(example.document, members), 0, None, 100 // percent)
    found = (disagreement(example.record, document) for document in some)
    assert [each for each in found if each] == []


@pytest.mark.parametrize("count", [4096, 4097])
@pytest.mark.parametrize(("kind", "member"), [("counts", "keys"), ("category", "categories")])
def test_longest_lists(kind: str, member: str, count: int) -> None:
    """Schema and decoder agree on how many keys and categories there may be."""
    value = {"kind": kind, member: [f"{nth}" for nth in range(count)]}
    document = next(each.document for each in VALID if each.record == "policy") | {"value": value}
    assert disagreement("policy", document) is None
    assert fits("policy", document) == (count == 4096)


@st.composite
def changed(draw: st.DrawFn) -> tuple[str, Any]:
    """Draw a valid example with two to five changes."""
    record, _, value = draw(st.sampled_from(VALID))
    document = json.loads(value)
    for _ in range(draw(st.integers(2, 5))):
        path = draw(st.sampled_from(sorted(places(document), key=len, reverse=True)))
        found = at(document, path)
        if isinstance(found, dict) and draw(st.booleans()):
            name = draw(st.sampled_from(sorted(ADDED)))
            document = added(document, path, name, draw(st.sampled_from(ADDED[name])))
        elif path and draw(st.integers(0, 3)) == 0:
            document = removed(document, path)
        elif path:
            fitting = NAMES.get(str(path[-1]), ()) + tuple(_neighbours(found))
            document = replaced(document, path, draw(st.sampled_from(fitting or ANYTHING) | st.sampled_from(ANYTHING)))
    return record, document


def _neighbours(found: Any) -> Iterator[Any]:
    """Yield values of the same type."""
    if type(found) in (int, float) and abs(found) < 2**64:
        yield from (found + 1, found - 1, found * 2, found / 2, -found)


@settings(max_examples=1500, derandomize=True)
@given(changed())
def test_many_changes(drawn: tuple[str, Any]) -> None:
    """Schema and decoder agree on documents that are several changes away, where rules meet."""
    assert disagreement(*drawn) is None
