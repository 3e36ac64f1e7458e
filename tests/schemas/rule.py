"""A rule that stands in words alone, since no JSON Schema can say it, and a document as it is sent."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple


class Sent(NamedTuple):
    """A document that fits the schema of its record, and the bytes that were sent."""

    record: str
    document: Any
    value: bytes


class Rule(NamedTuple):
    """A rule: its name, why no schema says it, whether a document breaks it, and one that does."""

    name: str
    reason: str
    broken: Callable[[Sent], bool]
    example: Sent


def sent(record: str, document: Any) -> Sent:
    """Return a document as it is sent."""
    return Sent(record, document, json.dumps(document).encode())
