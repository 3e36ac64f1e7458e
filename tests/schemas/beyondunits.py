"""The rules of `beyond.py` about units: whole units, open units, edges on the grid, advancing clocks."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tests.schemas.rule import COMPARE, COMPUTE, ITEMS, NUMBER, Rule, Sent, policy, rule

MOST_OPEN_UNITS = 65_536
MOST_UNITS = 10_000
MOST_CELLS = 2**31
MEAN = NUMBER | {"resolution": 0.5, "statistic": "mean"}
NAMES = {"kind": "category", "categories": [True, "true"], "statistic": "histogram"}
UNIT_RULES: list[Rule] = []

Members = dict[str, Any]
Test = Callable[[Members, Members], bool]


def _in_units(value: Members = MEAN, **protection: Any) -> Sent:
    return policy(value, **({"step": 4000, "unit": 1000, "open_steps": 1} | protection))


def _of_units(name: str, reason: str, example: Sent, kind: str | None = None) -> Callable[[Test], Test]:
    """Return a decorator that adds a rule about protection and value of policies with units, or of one kind."""

    def add(broken: Test) -> Test:
        @rule(UNIT_RULES, name, reason, example)
        def of_policy(given: Sent) -> bool:
            if given.record != "policy" or given.document["protection"].get("unit") is None:
                return False
            protection, value = given.document["protection"], given.document["value"]
            return kind in (None, value["kind"]) and broken(protection, value)

        return broken

    return add


@_of_units("a step holds a whole number from units", COMPUTE, _in_units(unit=1001))
def _broken_units(protection: Members, _: Members) -> bool:
    return bool(protection.get("step", 1) % protection["unit"])


@_of_units("a step may contain at most 10,000 units", COMPUTE, _in_units(step=10_001, unit=1))
def _many_units(protection: Members, value: Members) -> bool:
    return not _broken_units(protection, value) and protection.get("step", 1) // protection["unit"] > MOST_UNITS


@_of_units("open steps may contain at most 65,536 units", COMPUTE, _in_units(step=10_000, unit=1, open_steps=7))
def _many_open_units(protection: Members, value: Members) -> bool:
    if _broken_units(protection, value) or _many_units(protection, value):
        return False
    return bool(protection["open_steps"] * protection.get("step", 1) // protection["unit"] > MOST_OPEN_UNITS)


@_of_units("an offset is below the step", COMPARE, _in_units(offset=4000))
def _late_offset(protection: Members, _: Members) -> bool:
    return bool((protection.get("offset") or 0) >= protection.get("step", 1))


def _cell(edge: float, value: Members) -> int:
    exact = Fraction(edge) if isinstance(edge, int) else Fraction(repr(edge))
    return math.floor(exact / Fraction(repr(float(value["resolution"]))) + Fraction(1, 2))


@_of_units(
    "edges, from and to ascend on the grid",
    COMPUTE,
    _in_units(MEAN | {"statistic": "histogram", "edges": [2, 2.2]}),
    "number",
)
def _falling_edges(_: Members, value: Members) -> bool:
    edges = value.get("edges") or ([value["from"], value["to"]] if value["statistic"] == "share" else [])
    return any(_cell(before, value) >= _cell(after, value) for before, after in pairwise(edges))


@_of_units("units lie within 2^31 times resolution", COMPUTE, _in_units(MEAN | {"upper": 2**31}), "number")
def _far_units(_: Members, value: Members) -> bool:
    resolution = Fraction(repr(float(value["resolution"])))
    ends = [Fraction(repr(float(value[name]))) / resolution for name in ("lower", "upper")]
    return max(abs(math.ceil(ends[0])), abs(math.floor(ends[1]))) > MOST_CELLS


@_of_units(
    "a histogram has no two categories of one name",
    "members of an object have texts as names",
    _in_units(NAMES),
    "category",
)
def _one_name(_: Members, value: Members) -> bool:
    names = [str(each).lower() if isinstance(each, bool) else each for each in value["categories"]]
    return len(set(names)) < len(names)


@rule(
    UNIT_RULES,
    "the moments of transitions ascend",
    ITEMS,
    _in_units(MEAN | {"by": "hour", "transitions": [[5, 0], [5, 3_600_000]]}),
)
def _falling_clock(given: Sent) -> bool:
    value = given.document["value"] if given.record == "policy" else {}
    return any(before[0] >= after[0] for before, after in pairwise(value.get("transitions") or ()))
