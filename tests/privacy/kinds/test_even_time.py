"""The work of reading a raw value does not reveal it: counted, not timed, in Python's own steps.

Steps of C (a look-up, a product of integers) are not counted: tests/privacy/kinds/test_axis.py has the bounds of the
integers, and docs/guarantee.md says what was measured with a clock.
"""

import sys
from math import inf, nan
from types import FrameType
from typing import Any

import pytest

from stream_app.privacy.kinds import Category, Kind
from stream_app.privacy.policy import policy_of
from stream_app.privacy.values import Raw, RawCells

MOST = 1.5
"""The largest ratio of steps between one value and another."""
KEYS = [f"key-{nth}" for nth in range(50)]
LOCATION = {
    "kind": "location",
    "radius": 500,
    "resolution": 10,
    "bounds": {"south": -11.1, "west": -37.2, "north": -10.8, "east": -37.0},
}
NUMBERS: list[object] = [
    *(0, -0.0, 0.0005, 0.0015, 1.0005, 4.2, 9.9995, 9.999499999999999, 0.30000000000000004, 10, 5, -3, 11),
    *(5e-324, -2.2250738585072014e-308, 1e-9, 1e22, -1e300, 1.7976931348623157e308, 2**63, -(2**53) - 1),
]
INVALID: list[object] = [None, True, "text", [], {}, nan, inf]
CATEGORIES = [f"category-{nth}" for nth in range(1000)]
VALUES: dict[str, tuple[dict[str, object], list[object]]] = {
    "number": ({"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001}, [*NUMBERS, *INVALID]),
    "wide number": ({"kind": "number", "lower": -1e9, "upper": 1e9, "resolution": 7e-6}, [*NUMBERS, *INVALID]),
    "location": (
        LOCATION,
        [
            *({"latitude": one, "longitude": other} for one in (*NUMBERS, -11.00001) for other in (-37.1, -1e300, 0)),
            {"latitude": "text", "longitude": 3},
            {"latitude": 1},
            *INVALID,
        ],
    ),
    "counts": (
        {"kind": "counts", "keys": KEYS},
        [
            {},
            dict.fromkeys(KEYS, 1),
            dict.fromkeys(KEYS, 2**53 - 1),
            {KEYS[0]: -1},
            {KEYS[-1]: -1},
            {KEYS[0]: 0.5, KEYS[1]: 3},
            {"other": 1},
            *INVALID,
        ],
    ),
    "vector": (
        {"kind": "vector", "parts": {key: {"lower": 0, "upper": 10, "resolution": 0.001} for key in KEYS}},
        [
            *(dict.fromkeys(KEYS, number) for number in NUMBERS),
            {**dict.fromkeys(KEYS, 1), KEYS[0]: None},
            {**dict.fromkeys(KEYS, 1), KEYS[-1]: nan},
            {**dict.fromkeys(KEYS[1:], 1), "other": 1},
            {KEYS[0]: 5},
            *INVALID,
        ],
    ),
    "category": (
        {"kind": "category", "categories": [*CATEGORIES, True]},
        [*CATEGORIES, "x" * 100_000, "", *INVALID],
    ),
}


def steps(kind: Kind, value: object) -> int:
    """Return how many of Python's instructions reading a value takes."""
    found = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        """Trace every frame that begins, and count."""
        nonlocal found
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        found += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        kind.quantise(Raw(value))
    finally:
        sys.settrace(before)
    return found


@pytest.mark.parametrize("name", VALUES)
def test_all_values_take_about_as_many_steps(name: str) -> None:
    """This holds for values valid or not, on or off a boundary, first or last in a list, far outside or tiny."""
    value, raws = VALUES[name]
    parameters = {"epsilon": 1.0, "protection": {"level": "landmark"}, "scheme": {"name": "uniform"}, "value": value}
    kind = policy_of(parameters, 1).kind
    # The least of three: a garbage collection may call back what others have registered.
    found = {repr(raw)[:50]: min(steps(kind, raw) for _ in range(3)) for raw in raws}
    assert min(found.values()) > 10
    assert max(found.values()) <= MOST * min(found.values()), found


class Watched(str):
    """A text that counts how often such a text is compared with another."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Watched.compared += 1
        return str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


@pytest.mark.parametrize("place", [0, 1, 500, 999, None])
def test_a_category_is_looked_up(place: int | None) -> None:
    """It is compared with a few of a thousand categories, wherever it is listed, and even if it is not listed."""
    kind = Category(tuple(Watched(name) for name in CATEGORIES), substitute=RawCells((7,)))
    Watched.compared = 0
    sought = Watched("no-category" if place is None else CATEGORIES[place])
    assert kind.quantise(Raw(sought)) == (7 if place is None else place,)
    assert Watched.compared <= 5
