"""The rules of `beyond.py` about the values of policies: grids, boxes, substitutes, counters, absent readings."""

import math
import sys
from fractions import Fraction
from typing import Any

from tests.schemas.rule import Rule, Sent, sent

MOST_CELLS = 2**50
STRETCH = 1.005
MOST_OPEN_COUNTERS = 65_536
MOST_ITEM_CELLS = 2**31
METRES_PER_DEGREE = math.tau * 6_371_008.8 / 360


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


def _coarse_grid(given: Sent) -> bool:
    return any(high <= low for low, high in _grids(given))


def _fine_grid(given: Sent) -> bool:
    return any(max(high - low, abs(low), abs(high)) > MOST_CELLS for low, high in _grids(given))


def _far_items(given: Sent) -> bool:
    collected = given.record == "policy" and given.document.get("collect")
    return bool(collected) and any(max(abs(low), abs(high)) > MOST_ITEM_CELLS for low, high in _grids(given))


def _loud_counters(given: Sent) -> bool:
    look = given.record == "policy" and (given.document.get("collect") or {}).get("intrusion_nano")
    if not look or _far_items(given) or _coarse_grid(given):
        return False
    return any(2 * (high - low + 1) // 2 * 10**9 > look * MOST_CELLS for low, high in _grids(given))


def _absent(given: Sent) -> tuple[Any, dict[str, Any]] | None:
    """Return what stands for an absent reading, and the `value` of its policy."""
    if given.record != "policy" or given.document["protection"].get("absent", "approximated") == "approximated":
        return None
    return given.document["protection"]["absent"], given.document["value"]


def _strange_absent(given: Sent) -> bool:
    found = _absent(given)
    if found is None:
        return False
    absent, value = found
    if value["kind"] == "category":
        return absent not in value["categories"]
    return value["kind"] == "vector" and set(absent) != set(value["parts"])


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


def _turned_box(given: Sent) -> bool:
    sides = _sides(given)
    return sides is not None and any(low >= high for low, high in sides)


def _wide_box(given: Sent) -> bool:
    sides = _sides(given)
    half = math.radians(max(high - low for low, high in sides)) / 2 if sides else 0
    return half > 0 and half / math.sin(half) > STRETCH


def _coarse_lattice(given: Sent) -> bool:
    sides = _sides(given)
    if sides is None or _turned_box(given):
        return False
    south, north = sides[0]
    shrink = (1, math.cos(math.radians(max(abs(south), abs(north)))))
    per_degree = [METRES_PER_DEGREE * each / given.document["value"]["resolution"] for each in shrink]
    points = zip(sides, per_degree, strict=True)
    return any(math.floor(high * cells) <= math.ceil(low * cells) for (low, high), cells in points)


def _thin_shares(given: Sent) -> bool:
    if given.record != "policy" or given.document["scheme"].get("dissimilarity") != "private":
        return False
    window: int = given.document["protection"].get("window") or 0
    return _exact(given.document["epsilon"]) * 10**9 < 2 * window


def _strange_substitute(given: Sent) -> bool:
    category, vector = _value(given, "category"), _value(given, "vector")
    if category and category.get("invalid", "reject") != "reject":
        return category["invalid"] not in category["categories"]
    if vector and vector.get("invalid", "reject") != "reject":
        return set(vector["invalid"]) != set(vector["parts"])
    return False


def _telling_substitute(given: Sent) -> bool:
    number = _value(given, "number")
    return number is not None and number.get("invalid", "reject") != "reject" and _narrow(number)


def _narrow(number: dict[str, Any]) -> bool:
    """Tell whether the sensitivity of a number is below its range."""
    if number["kind"] != "number" or number.get("sensitivity") is None or number["sensitivity"] > sys.float_info.max:
        return False
    step = _exact(number["resolution"])
    points = math.floor(_exact(number["upper"]) / step) - math.ceil(_exact(number["lower"]) / step)
    return points > 0 and math.ceil(_exact(number["sensitivity"]) / step) < points


def _many_counters(given: Sent) -> bool:
    counts, choice = _value(given, "counts"), _value(given, "choice")
    counters = counts["keys"] if counts else choice["items"] if choice else ()
    collect = given.document.get("collect")
    return bool(collect) and collect["open_steps"] * len(counters) > MOST_OPEN_COUNTERS


def _collected(value: dict[str, Any], **collect: Any) -> Sent:
    document = _policy(value).document | {"collect": {"neighbours": "replace", "open_steps": 1} | collect}
    return sent("policy", document)


def _policy(value: dict[str, Any], **protection: Any) -> Sent:
    members = {"type": "policy", "series": "home-7", "version": 1, "epsilon": 1, "scheme": {"name": "uniform"}}
    return sent("policy", members | {"protection": {"level": "landmark"} | protection, "value": value})


_NUMBER = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001}
_BOUNDS = {"south": -11.1, "west": -37.2, "north": -10.8, "east": -37.0}
_LOCATION = {"kind": "location", "radius": 500, "resolution": 10, "bounds": _BOUNDS}

VALUE_RULES = (
    Rule(
        "lower .. upper holds two multiples of resolution",
        "schemas do not compute",
        _coarse_grid,
        _policy(_NUMBER | {"resolution": 11}),
    ),
    Rule(
        "the grid ends within 2^50 times resolution",
        "schemas do not compute",
        _fine_grid,
        _policy(_NUMBER | {"resolution": 1e-16}),
    ),
    Rule(
        "south lies below north and west below east",
        "schemas do not compare members",
        _turned_box,
        _policy(_LOCATION | {"bounds": _BOUNDS | {"west": -36.9}}),
    ),
    Rule(
        "the plane stretches no distance within the bounds by more than 0.5 %",
        "schemas do not compute",
        _wide_box,
        _policy(_LOCATION | {"bounds": _BOUNDS | {"north": 9}}),
    ),
    Rule(
        "the bounds hold two lattice points a side",
        "schemas do not compute",
        _coarse_lattice,
        _policy(_LOCATION | {"resolution": 100_000}),
    ),
    Rule(
        "a substitute is a value of its kind",
        "schemas do not look members up in other members",
        _strange_substitute,
        _policy({"kind": "category", "categories": ["walk", "ride"], "invalid": "rest"}),
    ),
    Rule(
        "a number with a sensitivity below its range has no substitute",
        "schemas do not compute",
        _telling_substitute,
        _policy(_NUMBER | {"sensitivity": 9.99, "invalid": 5}),
    ),
    Rule(
        "collected series have at most 65,536 open counters",
        "schemas do not compute",
        _many_counters,
        sent(
            "policy",
            _policy({"kind": "counts", "keys": [str(nth) for nth in range(66)]}).document
            | {"collect": {"neighbours": "replace", "open_steps": 993}},
        ),
    ),
    Rule(
        "collected numbers lie within 2^31 times resolution",
        "schemas do not compute",
        _far_items,
        _collected(_NUMBER | {"upper": 2147483.649}, statistic="sum"),
    ),
    Rule(
        "counters hold the noise that a small intrusion_nano asks for",
        "schemas do not compute",
        _loud_counters,
        _collected(_NUMBER | {"upper": 2000000}, statistic="mean", intrusion_nano=1),
    ),
    Rule(
        "what stands for an absent reading is a value of the policy",
        "schemas do not look members up in other members",
        _strange_absent,
        _policy(
            {"kind": "category", "categories": ["walk", "ride"]},
            within="last",
            open_steps=1,
            absent="rest",
        ),
    ),
    Rule(
        "nothing stands for an absent number with a sensitivity below its range",
        "schemas do not compute",
        _telling_absent,
        _policy(_NUMBER | {"sensitivity": 9.99}, within="last", open_steps=1, absent=5),
    ),
    Rule(
        "a private dissimilarity at each step of a window costs a nano-epsilon or more",
        "schemas do not compute",
        _thin_shares,
        sent(
            "policy",
            _policy(_NUMBER).document
            | {"epsilon": 1e-8, "protection": {"level": "w-event", "window": 6}}
            | {"scheme": {"name": "bd", "dissimilarity": "private"}},
        ),
    ),
)
