"""Whether the parameters in a `policy` entry make a policy: each member by itself, and the members together.

This reading shares nothing with the worker's: a policy that the worker would refuse promises something else than it
says. Numbers are read as the decimals that they are written as.
"""

from collections.abc import Mapping

from stream_app.audit.form.domains import (
    BOUNDS,
    COLLECT,
    DOUBLE,
    KINDS,
    MOST_OPEN_COUNTERS,
    PARAMETERS,
    PROTECTION,
    RATES,
    SCHEMES,
    Domain,
    whole,
)
from stream_app.audit.form.entry import MAX_SEQUENCE
from stream_app.audit.form.lattice import Members, box_fault, decimal_of, grid_fault


def fault_of(parameters: Members) -> str:
    """Return the sentence that says why a policy's parameters make no policy, or ""."""
    return (
        _members("parameters", parameters, PARAMETERS)
        or _protection(parameters["protection"])
        or _scheme(parameters["scheme"], parameters["protection"])
        or _value(parameters["value"])
        or _private(parameters)
        or _collect(parameters)
        or _renewal(parameters)
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


def _renewal(parameters: Members) -> str:
    if parameters.get("renew") is None:
        return ""
    if parameters["protection"]["level"] not in ("landmark", "user"):
        return f"level {parameters['protection']['level']} has no budget that is used up, so none to renew"
    return "" if parameters.get("collect") is None else "what is collected is not renewed"


def _members(where: str, found: Members, table: Mapping[str, Domain]) -> str:
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
    if protection.get("window") is None:
        return "level w-event needs a window" if level == "w-event" else ""
    return "" if level in ("w-event", "landmark") else f"level {level} takes no window"


def _scheme(scheme: Members, protection: Members) -> str:
    name = scheme.get("name")
    if not isinstance(name, str) or name not in SCHEMES:
        return f"scheme.name {name!r} is not known"
    level = protection["level"]
    meant = {"user": ("uniform", "adaptive"), "w-event": ("uniform", "bd", "ba")}
    known = meant.get(level, ("uniform", "adaptive", "skip", "balanced"))
    if level == "landmark" and (protection.get("window") or 1) > 1:
        known += ("bd", "ba")
    if name not in known:
        return f"scheme {name!r} has no meaning at level {level}"
    return _members("scheme", scheme, SCHEMES[name])


def _private(parameters: Members) -> str:
    """Return what is wrong with a private dissimilarity; nothing is where there is none."""
    scheme = parameters["scheme"]
    if scheme.get("dissimilarity") != "private":
        return ""
    if parameters["protection"]["level"] != "w-event":
        return "a private dissimilarity has no meaning beside landmarks"
    if scheme.keys() & RATES.keys():
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
            return DOUBLE.fits(found)
        case "counts":
            count = whole(0, MAX_SEQUENCE)
            return (
                isinstance(found, dict) and found.keys() <= set(value["keys"]) and all(map(count.fits, found.values()))
            )
        case _:
            position = isinstance(found, dict) and found.keys() == {"latitude", "longitude"}
            return position and all(map(DOUBLE.fits, found.values()))
