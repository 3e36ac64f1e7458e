"""Documents close to a given one: one member or item removed, replaced or added, at any depth."""

from collections.abc import Callable, Container, Iterator
from typing import Any

from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from tests.run import KINDS

Path = tuple[str | int, ...]
ANYTHING: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 90, 2**53, LAST_TIMESTAMP_MS, LAST_TIMESTAMP_MS + 1, 10**20, 10**400),
    *(0.5, -0.5, -181, -1e101, 1.0, 1e3, 1e-10, 1e-101, 1e17, 1e101),
    *("", "a", "reject", "x" * 200, "x" * 201, "é" * 101, "\ud800"),
    *([], [1], [1, 2], [2, 1], [1, 1], [1, 2, 3], [[1, 2]], [2.0, 3], ["a", "b"], ["a", "a"], [True, False]),
    *({}, {"a": 1}, {"latitude": -10.9, "longitude": 400}),
)
"""The replacements for any member or item."""
NAMES = {
    "type": ("observation", "policy", "landmarks", "close", "member", "contribution", "watermark", "intrusion"),
    "level": ("landmark", "event", "user", "w-event"),
    "name": ("uniform", "adaptive", "skip", "balanced", "bd", "ba"),
    "kind": (*KINDS, "choice"),
    "statistic": ("sum", "mean", "share", "histogram"),
    "by": ("hour", "weekday", "hour-of-week"),
    "unit": (1, 1000, 300_000),
    "edges": ([2], [2, 3], [3, 2]),
    "transitions": ([[0, 0]], [[1, 0], [0, 0]]),
    "within": ("last", "sum", "mean", "max"),
    "absent": ("approximated", 1, True, "contact", {"oxygen": 1, "pulse": 60}),
    "filter": ("none", "level"),
    "neighbours": ("replace", "add-remove"),
    "method": ("optimal", "heuristic", "partitioned", "padding"),
    "utility": ("proximity", "count"),
}
"""Words with a meaning, by the member under which they have it."""
ADDED: dict[str, tuple[Any, ...]] = {
    "length": (1, None),
    "window": (1, 3, None),
    "dissimilarity": ("private", "released"),
    "landmarks": ([], [5]),
    "spare": (0, 3),
    "accept_risk": (True, False),
    "minimum": (0.2,),
    "regular_share": (0.2, True),
    "sensitivity": (2, 0.5, None),
    "clamp": (False,),
    "invalid": (0, True, {"a": 1}, "contact"),
    "filter": (None,),
    "dummies": ({}, None, {"method": "padding", "probability": 0.5, "start": 0, "end": 9}),
    "collect": ({}, None, {"neighbours": "replace", "open_steps": 2}, {"neighbours": "add-remove", "open_steps": 1}),
    "intrusion_nano": (1, None),
    "statistic": ("sum", "mean", "histogram", None),
    "unit": (1, 300_000, None),
    "offset": (0, 500, None),
    "from": (70, None),
    "to": (90.5, None),
    "edges": ([50, 60], None),
    "by": ("weekday", None),
    "transitions": ([[0, 3_600_000]], None),
    "within": ("last", "sum", None),
    "open_steps": (3, None),
    "absent": ("approximated", 1, None, "contact", {"oxygen": 1, "pulse": 60}),
    "timestamp": (7,),
    "weaker": (True, False),
    "lifetime": (2, 0, None),
    "renew": ([], [5, 9], [9, 5], None),
}
"""Members that an object may gain, each with values that may suit it."""


def places(document: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the place of every value, with that of the whole document last."""
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for name, value in inner:
        yield from places(value, (*path, name))
    yield path


def at(document: Any, path: Path) -> Any:
    """Return the value at a place."""
    for name in path:
        document = document[name]
    return document


def replaced(document: Any, path: Path, value: Any) -> Any:
    """Return a copy with another value at a place."""
    if not path:
        return value
    return _upon(document, path[:-1], lambda found: found.__setitem__(path[-1], value))


def removed(document: Any, path: Path) -> Any:
    """Return a copy without the member or item at a place."""
    return _upon(document, path[:-1], lambda found: found.__delitem__(path[-1]))


def added(document: Any, path: Path, name: str, value: Any) -> Any:
    """Return a copy in which the object at a place has one member added or its value changed."""
    return _upon(document, path, lambda found: found.__setitem__(name, value))


def _upon(document: Any, path: Path, change: Callable[[Any], None]) -> Any:
    """Return a copy that is changed at a place; everything off the way there is shared with the original."""
    copied = document.copy()
    if path:
        copied[path[0]] = _upon(document[path[0]], path[1:], change)
    else:
        change(copied)
    return copied


def changes(document: Any, within: Container[str] | None = None) -> Iterator[Any]:
    """Yield every document that is one change away, overall or only within some of its members."""
    for path in places(document):
        if path and within is not None and path[0] not in within:
            continue
        found = at(document, path)
        if path:
            yield removed(document, path)
        for value in ANYTHING:
            yield replaced(document, path, value)
        for value in NAMES.get(str(path[-1]) if path else "", ()):
            yield replaced(document, path, value)
        if isinstance(found, dict):
            for name, values in ADDED.items():
                for value in values:
                    yield added(document, path, name, value)
