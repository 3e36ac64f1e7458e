"""The domain of every member of a policy: what it may be alone, and what must hold between members.

A second reading of the format, which shares nothing with the worker's: a policy that the worker would refuse promises
something else than it says. Numbers are read as the decimals they are written as.
"""

from collections.abc import Mapping
from fractions import Fraction
from sys import float_info
from typing import Any, Final

from stream_app.audit.form.entry import MAX_SEQUENCE, MAX_TIMESTAMP
from stream_app.audit.form.lattice import box_fault, decimal_of, grid_fault
from stream_app.audit.form.members import Member, is_number, listed, needed, number, one_of, or_null, positive, whole

Members = Mapping[str, Any]
"""An object as JSON holds it."""

LEVELS: Final = ("landmark", "event", "user", "w-event")


MOST_WINDOW: Final = 10_000
"""Steps of a window."""
MOST_OPEN: Final = 1_000
"""Steps that take contributions at a time."""
MOST_OPEN_COUNTERS: Final = 65_536
"""Their counters: one for each of these steps and keys."""
MOST_NANO: Final = 10**15
"""The largest epsilon in nano-epsilon."""


def _is_text(found: object) -> bool:
    return isinstance(found, str) and 1 <= len(found) <= 200


def _is_landmark(found: object) -> bool:
    if isinstance(found, list):
        return len(found) == 2 and all(map(_TIMESTAMP.fits, found)) and found[0] < found[1]
    return _TIMESTAMP.fits(found)


_TIMESTAMP: Final = whole(0, MAX_TIMESTAMP)
_OBJECT: Final = Member(lambda found: isinstance(found, dict), "an object", needed=True)
_FLAG: Final = Member(lambda found: isinstance(found, bool), "true or false")
_TEXT: Final = Member(_is_text, "a text of 1 to 200 characters")
_DOUBLE: Final = number(-float_info.max, float_info.max)
_COORDINATE: Final = number(-1e100, 1e100)
_SHARE: Final = number(0, 1)
_METRES: Final = 20_100_000
_ANY: Final = Member(lambda _: True, "")
"""Of `invalid`, whose domain is told by the members beside it."""

PARAMETERS: Final = {
    "epsilon": Member(
        lambda found: is_number(found) and found <= 1e6 and decimal_of(found) >= Fraction(1, 10**9),
        "a number of 1e-9 to 1e6",
        needed=True,
    ),
    "protection": _OBJECT,
    "scheme": _OBJECT,
    "filter": or_null(one_of("none", "level")),
    "value": _OBJECT,
    "correlation": or_null(_TEXT),
    "collect": or_null(Member(lambda found: isinstance(found, dict), "an object")),
}
"""The members of a policy's parameters."""
PROTECTION: Final = {
    "level": needed(one_of(*LEVELS)),
    "landmarks": Member(
        lambda found: isinstance(found, list) and all(map(_is_landmark, found)),
        "a list of timestamps and [start, end) pairs of timestamps with start < end",
    ),
    "step": whole(1, MAX_TIMESTAMP),
    "spare": whole(0, MAX_TIMESTAMP),
    "length": or_null(whole(1, MAX_TIMESTAMP)),
    "window": or_null(whole(1, MOST_WINDOW)),
}
"""The members of `protection`."""
_RATES: Final = {"increase": _SHARE, "decrease": _SHARE, "minimum": _SHARE}
SCHEMES: Final[dict[str, dict[str, Member]]] = {
    "uniform": {"name": _ANY},
    "adaptive": {"name": _ANY, **_RATES},
    "skip": {"name": _ANY, "accept_risk": Member(lambda found: found is True, "true", needed=True)},
    "balanced": {"name": _ANY, "regular_share": _SHARE},
    "bd": {"name": _ANY, **_RATES, "dissimilarity": one_of("released", "private")},
    "ba": {"name": _ANY, **_RATES, "dissimilarity": one_of("released", "private")},
}
"""The schemes with their members."""
KINDS: Final[dict[str, dict[str, Member]]] = {
    "number": {
        "kind": _ANY,
        "lower": needed(_COORDINATE),
        "upper": needed(_COORDINATE),
        "resolution": needed(number(1e-100, 1e100)),
        "sensitivity": or_null(positive(float_info.max)),
        "clamp": _FLAG,
        "invalid": _ANY,
    },
    "counts": {
        "kind": _ANY,
        "keys": needed(listed(_is_text, 1, "texts of 1 to 200 characters")),
        "sensitivity": whole(1, MAX_SEQUENCE),
        "clamp": _FLAG,
        "invalid": _ANY,
    },
    "location": {
        "kind": _ANY,
        "radius": needed(number(0.001, _METRES)),
        "resolution": needed(number(0.1, _METRES)),
        "bounds": _OBJECT,
        "clamp": _FLAG,
        "invalid": _ANY,
    },
    "category": {
        "kind": _ANY,
        "categories": needed(
            listed(lambda found: _is_text(found) or isinstance(found, bool), 2, "texts of 1 to 200 characters or flags")
        ),
        "clamp": _FLAG,
        "invalid": _ANY,
    },
}
"""The value kinds with their members."""
COLLECT: Final = {
    "neighbours": needed(one_of("replace", "add-remove")),
    "open_steps": needed(whole(1, MOST_OPEN)),
    "intrusion_nano": or_null(whole(1, MOST_NANO)),
}
"""The members of `collect`."""
BOUNDS: Final = {
    "south": needed(number(-85, 85)),
    "west": needed(number(-180, 180)),
    "north": needed(number(-85, 85)),
    "east": needed(number(-180, 180)),
}
"""The members of a location's `bounds`, in degrees."""


def fault_of(parameters: Members) -> str:
    """Return the sentence that says why a policy's parameters make no policy, or ""."""
    return (
        _members("parameters", parameters, PARAMETERS)
        or _protection(parameters["protection"])
        or _scheme(parameters["scheme"], parameters["protection"]["level"])
        or _value(parameters["value"])
        or _private(parameters)
        or _collect(parameters)
    )


def sensitivity_of(parameters: Members) -> int:
    """Return the largest sum of absolute differences of neighbouring counts: an item moves, or is there or not."""
    collect = parameters.get("collect")
    if collect is None:
        return int(parameters["value"].get("sensitivity", 1))
    return 2 if collect["neighbours"] == "replace" else 1


def _collect(parameters: Members) -> str:
    collect, value = parameters.get("collect"), parameters["value"]
    if collect is None:
        return ""
    fault = _members("collect", collect, COLLECT)
    if fault:
        return fault
    if value["kind"] != "counts":
        return f"what is collected are counts, not {value['kind']}"
    if collect["open_steps"] * len(value["keys"]) > MOST_OPEN_COUNTERS:
        return f"collect.open_steps times the number of keys is above {MOST_OPEN_COUNTERS}"
    if value.get("sensitivity", sensitivity_of(parameters)) != sensitivity_of(parameters):
        return f"value.sensitivity is not that of neighbours {collect['neighbours']}"
    if value.get("invalid", "reject") != "reject":
        return "what is collected has no substitute"
    if collect["neighbours"] == "add-remove" and collect.get("intrusion_nano") is not None:
        return "collect.intrusion_nano protects nothing from neighbours add-remove"
    if parameters["scheme"].get("dissimilarity") == "private":
        return "what is collected is not compared in private"
    return ""


def _members(where: str, found: Members, table: Mapping[str, Member]) -> str:
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


def _protection(protection: Members) -> str:
    fault = _members("protection", protection, PROTECTION)
    if fault:
        return fault
    level = protection["level"]
    if level != "landmark" and (protection.get("landmarks") or protection.get("spare")):
        return f"level {level} takes no landmarks and no spare"
    if (level == "user") is (protection.get("length") is None):
        return "level user needs a length" if level == "user" else f"level {level} takes no length"
    if (level == "w-event") is (protection.get("window") is None):
        return "level w-event needs a window" if level == "w-event" else f"level {level} takes no window"
    return ""


def _scheme(scheme: Members, level: str) -> str:
    name = scheme.get("name")
    if not isinstance(name, str) or name not in SCHEMES:
        return f"scheme.name {name!r} is not known"
    meant = {"user": ("uniform", "adaptive"), "w-event": ("uniform", "bd", "ba")}
    if name not in meant.get(level, ("uniform", "adaptive", "skip", "balanced")):
        return f"scheme {name!r} has no meaning at level {level}"
    return _members("scheme", scheme, SCHEMES[name])


def _private(parameters: Members) -> str:
    """Return what is wrong with a private dissimilarity; nothing is where there is none."""
    scheme = parameters["scheme"]
    if scheme.get("dissimilarity") != "private":
        return ""
    if scheme.keys() & _RATES.keys():
        return "a private dissimilarity has no rate"
    if parameters["value"]["kind"] not in ("number", "counts"):
        return "a private dissimilarity compares numbers or counts"
    if parameters.get("collect") is not None:
        return "a private dissimilarity does not look at collected counts"
    if decimal_of(parameters["epsilon"]) * 10**9 < 2 * parameters["protection"]["window"]:
        return "epsilon is too small for a private dissimilarity at every step of a window"
    return ""


def _value(value: Members) -> str:
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        return f"value.kind {kind!r} is not known"
    fault = _members("value", value, KINDS[kind])
    if fault:
        return fault
    match kind:
        case "number":
            fault = grid_fault(value)
        case "location":
            fault = _members("value.bounds", value["bounds"], BOUNDS) or box_fault(value)
        case _:
            pass
    return fault or ("" if _is_substitute(value) else f'value.invalid is neither "reject" nor a {kind} of this policy')


def _is_substitute(value: Members) -> bool:
    """Tell whether `invalid` is absent, "reject", or a value of this policy."""
    if "invalid" not in value:
        return True
    found, kind = value["invalid"], value["kind"]
    if kind == "category":  # where "reject" is a category, it would be one, and would not reject
        categories = value["categories"]
        known = isinstance(found, str | bool) and found in categories
        return known is not (found == "reject")
    if found == "reject":
        return True
    match kind:
        case "number":
            return _DOUBLE.fits(found)
        case "counts":
            count = whole(0, MAX_SEQUENCE)
            return (
                isinstance(found, dict) and found.keys() <= set(value["keys"]) and all(map(count.fits, found.values()))
            )
        case _:
            position = isinstance(found, dict) and found.keys() == {"latitude", "longitude"}
            return position and all(map(_DOUBLE.fits, found.values()))
