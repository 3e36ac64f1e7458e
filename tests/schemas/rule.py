"""A rule given only in words, because no JSON Schema can express it, and a document as it is sent."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple


class Sent(NamedTuple):
    """A document that fits the schema of its record, and the bytes that were sent."""

    record: str
    document: Any
    value: bytes


Broken = Callable[[Sent], bool]
COMPARE = "schemas do not compare members"
COMPUTE = "schemas do not compute"
ITEMS = "schemas do not compare items"
LOOK_UP = "schemas do not look members up in other members"
NUMBER: dict[str, Any] = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001}


class Rule(NamedTuple):
    """A rule: its name, why no schema expresses it, whether a document breaks it, and one that does."""

    name: str
    reason: str
    broken: Broken
    example: Sent


def sent(record: str, document: Any) -> Sent:
    """Return a document as it is sent."""
    return Sent(record, document, json.dumps(document).encode())


def rule(rules: list[Rule], name: str, reason: str, example: Sent) -> Callable[[Broken], Broken]:
    """Return a decorator that adds a rule, which is broken if the function below says so."""

    def add(broken: Broken) -> Broken:
        rules.append(Rule(name, reason, broken, example))
        return broken

    return add


def policy(value: dict[str, Any] = NUMBER, **protection: Any) -> Sent:
    """Return a policy at level landmark."""
    members = {"type": "policy", "series": "home-7", "version": 1, "epsilon": 1, "scheme": {"name": "uniform"}}
    return sent("policy", members | {"protection": {"level": "landmark"} | protection, "value": value})
