"""The rules of `beyond.py` about the values of policies: grids, boxes, substitutes, counters, absent readings."""

import math
import sys
from fractions import Fraction
from typing import Any

from tests.schemas.rule import COMPARE, COMPUTE, LOOK_UP, NUMBER, Rule, Sent, policy, rule, sent

MOST_CELLS = 2**50
STRETCH = 1.005
MOST_OPEN_COUNTERS = 65_536
MOST_ITEM_CELLS = 2**31
METRES_PER_DEGREE = math.tau * 6_371_008.8 / 360
_BOUNDS = {"south": -11.1, "west": -37.2, "north": -10.8, "east": -37.0}
_LOCATION = {"kind": "location", "radius": 500, "resolution": 10, "bounds": _BOUNDS}
VALUE_RULES: list[Rule] = []


def _collected(value: dict[str, Any], **collect: Any) -> Sent:
    document = policy(value).document | {"collect": {"neighbours": "replace", "open_steps": 1} | collect}
    return sent("policy", document)


def _value(given: Sent, kind: str) -> dict[str, Any] | None:
    """Return a policy's `value` if it is of a kind."""
    value: dict[str, Any] | None = given.document["value"] if given.record == "policy" else None
    return value if value and value["kind"] == kind else None


def _exact(number: float) -> Fraction:
    return Fraction(repr(float(number)))


def _ends(value: dict[str, Any]) -> tuple[int, int]:
    """Return the first and the last grid point of a number."""
    resolution = _exact(value["resolution"])
    return math.ceil(_exact(value["lower"]) / resolution), math.floor(_exact(value["upper"]) / resolution)


def _grids(given: Sent) -> list[tuple[int, int]]:
    """Return the first and the last grid point of a number, or of each part of a vector."""
    number, vector = _value(given, "number"), _value(given, "vector")
    return [_ends(each) for each in ([number] if number else vector["parts"].values() if vector else ())]


@rule(VALUE_RULES, "lower .. upper holds two multiples of resolution", COMPUTE, policy(NUMBER | {"resolution": 11}))
def _coarse_grid(given: Sent) -> bool:
    return any(high <= low for low, high in _grids(given))


@rule(VALUE_RULES, "the grid ends within 2^50 times resolution", COMPUTE, policy(NUMBER | {"resolution": 1e-16}))
def _fine_grid(given: Sent) -> bool:
    return any(max(high - low, abs(low), abs(high)) > MOST_CELLS for low, high in _grids(given))


@rule(
    VALUE_RULES,
    "collected numbers lie within 2^31 times resolution",
    COMPUTE,
    _collected(NUMBER | {"upper": 2147483.649}, statistic="sum"),
)
def _far_items(given: Sent) -> bool:
    collected = given.record == "policy" and given.document.get("collect")
    return bool(collected) and any(max(abs(low), abs(high)) > MOST_ITEM_CELLS for low, high in _grids(given))


@rule(
    VALUE_RULES,
    "counters hold the noise that a small intrusion_nano asks for",
    COMPUTE,
    _collected(NUMBER | {"upper": 2000000}, statistic="mean", intrusion_nano=1),
)
def _loud_counters(given: Sent) -> bool:
    look = given.record == "policy" and (given.document.get("collect") or {}).get("intrusion_nano")
    if not look or _far_items(given) or _coarse_grid(given):
        return False
    return any(2 * (high - low + 1) // 2 * 10**9 > look * MOST_CELLS for low, high in _grids(given))


def _absent(given: Sent) -> tuple[Any, dict[str, Any]] | None:
    """Return the substitute for an absent reading, and the `value` of its policy."""
    if given.record != "policy" or given.document["protection"].get("absent", "approximated") == "approximated":
        return None
    return given.document["protection"]["absent"], given.document["value"]


@rule(
    VALUE_RULES,
    "what stands for an absent reading is a value of the policy",
    LOOK_UP,
    policy(
        {"kind": "category", "categories": ["walk", "ride"]},
        within="last",
        open_steps=1,
        absent="rest",
    ),
)
def _strange_absent(given: Sent) -> bool:
    found = _absent(given)
    if found is None:
        return False
    absent, value = found
    if value["kind"] == "category":
        return absent not in value["categories"]
    return value["kind"] == "vector" and set(absent) != set(value["parts"])


@rule(
    VALUE_RULES,
    "nothing stands for an absent number with a sensitivity below its range",
    COMPUTE,
    policy(NUMBER | {"sensitivity": 9.99}, within="last", open_steps=1, absent=5),
)
def _telling_absent(given: Sent) -> bool:
    found = _absent(given)
    return found is not None and _narrow(found[1])


def _sides(given: Sent) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Return the ends of a location's box: south and north, west and east."""
    value = _value(given, "location")
    if value is None:
        return None
    bounds = value["bounds"]
    return (bounds["south"], bounds["north"]), (bounds["west"], bounds["east"])


@rule(
    VALUE_RULES,
    "south lies below north and west below east",
    COMPARE,
    policy(_LOCATION | {"bounds": _BOUNDS | {"west": -36.9}}),
)
def _turned_box(given: Sent) -> bool:
    sides = _sides(given)
    return sides is not None and any(low >= high for low, high in sides)


@rule(
    VALUE_RULES,
    "the plane stretches no distance within the bounds by more than 0.5 %",
    COMPUTE,
    policy(_LOCATION | {"bounds": _BOUNDS | {"north": 9}}),
)
def _wide_box(given: Sent) -> bool:
    sides = _sides(given)
    half = math.radians(max(high - low for low, high in sides)) / 2 if sides else 0
    return half > 0 and half / math.sin(half) > STRETCH


@rule(VALUE_RULES, "the bounds hold two lattice points a side", COMPUTE, policy(_LOCATION | {"resolution": 100_000}))
def _coarse_lattice(given: Sent) -> bool:
    sides = _sides(given)
    if sides is None or _turned_box(given):
        return False
    south, north = sides[0]
    shrink = (1, math.cos(math.radians(max(abs(south), abs(north)))))
    per_degree = [METRES_PER_DEGREE * each / given.document["value"]["resolution"] for each in shrink]
    points = zip(sides, per_degree, strict=True)
    return any(math.floor(high * cells) <= math.ceil(low * cells) for (low, high), cells in points)


@rule(
    VALUE_RULES,
    "a private dissimilarity at each step of a window costs a nano-epsilon or more",
    COMPUTE,
    sent(
        "policy",
        policy(NUMBER).document
        | {"epsilon": 1e-8, "protection": {"level": "w-event", "window": 6}}
        | {"scheme": {"name": "bd", "dissimilarity": "private"}},
    ),
)
def _thin_shares(given: Sent) -> bool:
    if given.record != "policy" or given.document["scheme"].get("dissimilarity") != "private":
        return False
    window: int = given.document["protection"].get("window") or 0
    return _exact(given.document["epsilon"]) * 10**9 < 2 * window


@rule(
    VALUE_RULES,
    "a substitute is a value of its kind",
    LOOK_UP,
    policy({"kind": "category", "categories": ["walk", "ride"], "invalid": "rest"}),
)
def _strange_substitute(given: Sent) -> bool:
    category, vector = _value(given, "category"), _value(given, "vector")
    if category and category.get("invalid", "reject") != "reject":
        return category["invalid"] not in category["categories"]
    if vector and vector.get("invalid", "reject") != "reject":
        return set(vector["invalid"]) != set(vector["parts"])
    return False


@rule(
    VALUE_RULES,
    "a number with a sensitivity below its range has no substitute",
    COMPUTE,
    policy(NUMBER | {"sensitivity": 9.99, "invalid": 5}),
)
def _telling_substitute(given: Sent) -> bool:
    number = _value(given, "number")
    return number is not None and number.get("invalid", "reject") != "reject" and _narrow(number)


def _narrow(number: dict[str, Any]) -> bool:
    """Return whether the sensitivity of a number is below its range."""
    if number["kind"] != "number" or number.get("sensitivity") is None or number["sensitivity"] > sys.float_info.max:
        return False
    step = _exact(number["resolution"])
    points = math.floor(_exact(number["upper"]) / step) - math.ceil(_exact(number["lower"]) / step)
    return points > 0 and math.ceil(_exact(number["sensitivity"]) / step) < points


@rule(
    VALUE_RULES,
    "collected series have at most 65,536 open counters",
    COMPUTE,
    sent(
        "policy",
        policy({"kind": "counts", "keys": [str(nth) for nth in range(66)]}).document
        | {"collect": {"neighbours": "replace", "open_steps": 993}},
    ),
)
def _many_counters(given: Sent) -> bool:
    counts, choice = _value(given, "counts"), _value(given, "choice")
    counters = counts["keys"] if counts else choice["items"] if choice else ()
    collect = given.document.get("collect")
    return bool(collect) and collect["open_steps"] * len(counters) > MOST_OPEN_COUNTERS
