"""What the decoder refuses and a JSON Schema cannot: the one table of the rules given only in words.

Each rule is implemented again here, as plainly as possible, and has an example that breaks this rule and no other.
"""

import math
from collections.abc import Iterator
from typing import Any

from tests.schemas.beyondspans import SPAN_RULES
from tests.schemas.beyondunits import UNIT_RULES
from tests.schemas.beyondvalues import VALUE_RULES
from tests.schemas.catalogue import fits
from tests.schemas.rule import Rule, Sent, rule, sent

LARGEST_RECORD_BYTES = 262_144
LARGEST_SERIES_BYTES = 200
DEEPEST = 1024
RULES: list[Rule] = [*SPAN_RULES, *VALUE_RULES, *UNIT_RULES]


def _nested(depth: int) -> Sent:
    """Return an observation whose value is nested lists, made without the recursion of a JSON codec."""
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    text = b'{"series": "home-7", "timestamp": 5, "value": %b}' % (b"[" * depth + b"]" * depth)
    return Sent("observation", {"series": "home-7", "timestamp": 5, "value": value}, text)


def _observation(**members: Any) -> Sent:
    return sent("observation", {"series": "home-7", "timestamp": 5, "value": 1.5} | members)


def broken_rules(document: Sent) -> list[str]:
    """Return the names of all rules that a document breaks."""
    return [each.name for each in RULES if each.broken(document)]


@rule(
    RULES,
    "an integer has no fraction and no exponent",
    "to JSON Schema 1.0 is an integer; a decoder that took it would need a rule for 1e400 too",
    _observation(timestamp=5.0),
)
def _whole_floats(given: Sent) -> bool:
    return not fits(given.record, given.document, strict=True)


@rule(
    RULES,
    "a series id has at most 200 bytes in UTF-8",
    "lengths of a schema count characters",
    _observation(series="é" * 101),
)
def _long_series(given: Sent) -> bool:
    if given.record == "member":
        return False
    return len(given.document["series"].encode("utf-8", "surrogatepass")) > LARGEST_SERIES_BYTES


@rule(
    RULES,
    "a member has at most 200 bytes in UTF-8",
    "lengths of a schema count characters",
    sent(
        "contribution",
        {"type": "contribution", "series": "ward-3", "timestamp": 5, "member": "é" * 101, "value": "walk"},
    ),
)
def _long_member(given: Sent) -> bool:
    if given.record not in ("contribution", "member"):
        return False
    return len(given.document["member"].encode("utf-8", "surrogatepass")) > LARGEST_SERIES_BYTES


@rule(
    RULES,
    "a record may have at most 262144 bytes",
    "a schema sees the document, not its bytes",
    _observation(value="x" * LARGEST_RECORD_BYTES),
)
def _long_record(given: Sent) -> bool:
    return len(given.value) > LARGEST_RECORD_BYTES


@rule(
    RULES,
    "a text holds no half of a surrogate pair",
    "it has no UTF-8, and what a reader makes of its escape differs",
    _observation(value="\ud800"),
)
def _lone_surrogate(given: Sent) -> bool:
    texts = (node for node, _ in _nodes(given.document) if isinstance(node, str))
    return any("\ud800" <= letter <= "\udfff" for text in texts for letter in text)


@rule(
    RULES,
    "a number is no larger than a double",
    "JSON has numbers of any size, and raw values have no declared range",
    _observation(value=10**400),
)
def _beyond_doubles(given: Sent) -> bool:
    try:
        return any(math.isinf(float(node)) for node, _ in _nodes(given.document) if isinstance(node, int | float))
    except OverflowError:
        return True


@rule(RULES, "a record nests at most 1024 deep", "schemas have no depth", _nested(DEEPEST))
def _deep(given: Sent) -> bool:
    return any(depth > DEEPEST for node, depth in _nodes(given.document) if isinstance(node, list | dict))


def _nodes(document: Any) -> Iterator[tuple[Any, int]]:
    """Yield every value and member name with its depth, however deep."""
    open_nodes = [(document, 1)]
    while open_nodes:
        node, depth = open_nodes.pop()
        yield node, depth
        if isinstance(node, dict):
            open_nodes += [(name, depth + 1) for name in node]
            open_nodes += [(value, depth + 1) for value in node.values()]
        elif isinstance(node, list):
            open_nodes += [(value, depth + 1) for value in node]
