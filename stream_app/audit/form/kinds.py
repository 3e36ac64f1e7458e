"""The value kinds: the domain of each member, rules that combine members, and the values of a kind."""

from collections.abc import Mapping
from math import ceil
from sys import float_info
from typing import Final

from stream_app.audit.form.domains import (
    ANY,
    COORDINATE,
    DOUBLE,
    FLAG,
    OBJECT,
    OF_UNITS,
    Domain,
    is_text,
    listed,
    needed,
    number,
    or_null,
    positive,
    whole,
)
from stream_app.audit.form.entry import MAX_SEQUENCE
from stream_app.audit.form.exact import shown
from stream_app.audit.form.lattice import Members, box_fault, decimal_of, grid_fault, grid_of

MOST_PARTS: Final = 64  # per vector
_METRES: Final = 20_100_000
KINDS: Final[dict[str, dict[str, Domain]]] = {
    "number": {
        "kind": ANY,
        "lower": needed(COORDINATE),
        "upper": needed(COORDINATE),
        "resolution": needed(number(1e-100, 1e100)),
        "sensitivity": or_null(positive(float_info.max)),
        "clamp": FLAG,
        "invalid": ANY,
        **OF_UNITS,
    },
    "counts": {
        "kind": ANY,
        "keys": needed(listed(is_text, 1, "strings of 1 to 200 characters")),
        "sensitivity": whole(1, MAX_SEQUENCE),
        "clamp": FLAG,
        "invalid": ANY,
    },
    "location": {
        "kind": ANY,
        "radius": needed(number(0.001, _METRES)),
        "resolution": needed(number(0.1, _METRES)),
        "bounds": OBJECT,
        "clamp": FLAG,
        "invalid": ANY,
    },
    "category": {
        "kind": ANY,
        "categories": needed(
            listed(
                lambda found: is_text(found) or isinstance(found, bool), 2, "strings of 1 to 200 characters or flags"
            )
        ),
        "clamp": FLAG,
        "invalid": ANY,
        "statistic": OF_UNITS["statistic"],
    },
    "choice": {"kind": ANY, "items": needed(listed(is_text, 2, "strings of 1 to 200 characters"))},
    "vector": {
        "kind": ANY,
        "parts": needed(
            Domain(
                lambda found: isinstance(found, dict) and 1 <= len(found) <= MOST_PARTS and all(map(is_text, found)),
                f"an object of 1 to {MOST_PARTS} parts, whose names are strings of 1 to 200 characters",
            )
        ),
        "clamp": FLAG,
        "invalid": ANY,
    },
}
"""The value kinds with their members."""
PART: Final = {name: KINDS["number"][name] for name in ("lower", "upper", "resolution")}
"""The members of one part of a vector."""
BOUNDS: Final = {
    "south": needed(number(-85, 85)),
    "west": needed(number(-180, 180)),
    "north": needed(number(-85, 85)),
    "east": needed(number(-180, 180)),
}
"""The members of a location's `bounds`, in degrees."""


def fault_in(where: str, found: Members, table: Mapping[str, Domain]) -> str:
    """Return a sentence on a fault in an object's members, each checked by itself, or "" if there is none."""
    unknown = sorted(found.keys() - table.keys())
    if unknown:
        return f"{where}.{unknown[0]} is not known"
    for name, member in table.items():
        if name not in found:
            if member.needed:
                return f"{where}.{name} is missing"
        elif not member.fits(found[name]):
            return f"{where}.{name} is not {member.says}"
    return ""


def cells_of(value: Members) -> int:
    """Return the distance between neighbouring numbers, in grid points."""
    if value.get("sensitivity") is None:
        return width_of(value)
    return min(width_of(value), ceil(decimal_of(value["sensitivity"]) / decimal_of(value["resolution"])))


def width_of(value: Members) -> int:
    """Return the width of a number's range, in grid points."""
    low, high = grid_of(value)
    return high - low


def value_fault(value: Members) -> str:
    """Return a sentence that says why `value` is not a valid declaration, or "" if it is valid."""
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        return f"value.kind {shown(kind)} is not known"
    fault = fault_in("value", value, KINDS[kind])
    if fault:
        return fault
    match kind:
        case "number":
            fault = grid_fault(value)
        case "location":
            fault = fault_in("value.bounds", value["bounds"], BOUNDS) or box_fault(value)
        case "vector":
            fault = _parts(value["parts"])
        case "counts" | "category" | "choice":
            pass
        case _:
            raise AssertionError(f"kind {kind} has no rules for its members here")
    return fault or ("" if _is_substitute(value) else f'value.invalid is neither "reject" nor a {kind} of this policy')


def _parts(parts: Members) -> str:
    for name, part in parts.items():
        where = f"value.parts.{name}"
        fault = fault_in(where, part, PART) if isinstance(part, dict) else f"{where} is not an object"
        fault = fault or grid_fault(part)
        if fault:
            return fault
    return ""


def _is_substitute(value: Members) -> bool:
    """Return whether `invalid` is absent, "reject", or a value of this policy."""
    if "invalid" not in value:
        return True
    found, kind = value["invalid"], value["kind"]
    if kind == "category":  # a category "reject" would be a value and reject nothing
        return is_value(found, value) is not (found == "reject")
    return found == "reject" or is_value(found, value)


def is_value(found: object, value: Members) -> bool:
    """Return whether a JSON value is of this kind."""
    match value["kind"]:
        case "category":
            return isinstance(found, str | bool) and found in value["categories"]
        case "number":
            return DOUBLE.fits(found)
        case "vector":
            return (
                isinstance(found, dict)
                and found.keys() == value["parts"].keys()
                and all(map(DOUBLE.fits, found.values()))
            )
        case "counts":
            count = whole(0, MAX_SEQUENCE)
            return (
                isinstance(found, dict) and found.keys() <= set(value["keys"]) and all(map(count.fits, found.values()))
            )
        case "choice":
            return isinstance(found, str) and found in value["items"]
        case "location":
            position = {"latitude", "longitude"}
            return isinstance(found, dict) and found.keys() == position and all(map(DOUBLE.fits, found.values()))
        case other:
            raise AssertionError(f"kind {other} has no values here")
