"""Whether the parameters in a `policy` entry make a policy: each member by itself, and the members together.

This reading shares nothing with the worker's: a policy that the worker would refuse promises something else than it
says. Numbers are read as the decimals that they are written as.
"""

from collections.abc import Mapping
from math import ceil

from stream_app.audit.form.domains import (
    ANY,
    BOUNDS,
    COLLECT,
    DOUBLE,
    KINDS,
    MOST_CELLS_OF_AN_ITEM,
    MOST_OPEN_COUNTERS,
    PARAMETERS,
    PART,
    PROTECTION,
    RATES,
    SCHEMES,
    WIDE,
    Domain,
    whole,
)
from stream_app.audit.form.entry import MAX_SEQUENCE
from stream_app.audit.form.exact import shown
from stream_app.audit.form.lattice import MOST_CELLS, Members, box_fault, decimal_of, grid_fault, grid_of


def fault_of(parameters: Members) -> str:
    """Return the sentence that says why a policy's parameters make no policy, or ""."""
    return (
        _members("parameters", parameters, PARAMETERS)
        or _protection(parameters["protection"])
        or _scheme(parameters["scheme"], parameters["protection"])
        or _value(parameters["value"])
        or _private(parameters)
        or _readings(parameters)
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
        return "" if value["kind"] != "choice" else "a choice is made of what is collected"
    fault = _members("collect", collect, COLLECT)
    if fault:
        return fault
    if value["kind"] not in ("counts", "number", "choice"):
        return f"nothing of kind {value['kind']} is collected"
    if (value["kind"] == "number") is (collect.get("statistic") is None):
        return "collect.statistic says what becomes of numbers, and of nothing else"
    if value.get("invalid", "reject") != "reject":
        return "what is collected has no substitute"
    if collect["neighbours"] == "add-remove" and collect.get("intrusion_nano") is not None:
        return "collect.intrusion_nano protects nothing from neighbours add-remove"
    if parameters["scheme"].get("dissimilarity") == "private":
        return "what is collected is not compared in private"
    if value["kind"] != "counts" and parameters.get("filter") == "level":
        return "filter level takes no sum, no mean and no choice"
    return _added(parameters) if value["kind"] == "number" else _counted(parameters)


def _counted(parameters: Members) -> str:
    """Return what is wrong with collected counts or a choice."""
    collect, value = parameters["collect"], parameters["value"]
    counters = value["keys"] if value["kind"] == "counts" else value["items"]
    if collect["open_steps"] * len(counters) > MOST_OPEN_COUNTERS:
        return f"collect.open_steps times the number of counters is above {MOST_OPEN_COUNTERS}"
    if value["kind"] == "choice":
        return "" if collect.get("intrusion_nano") is None else "collect.intrusion_nano has no meaning for a choice"
    if value.get("sensitivity", sensitivity_of(parameters)) != sensitivity_of(parameters):
        return f"value.sensitivity is not that of neighbours {collect['neighbours']}"
    return ""


def _added(parameters: Members) -> str:
    """Return what is wrong with a collected sum or mean."""
    collect, value = parameters["collect"], parameters["value"]
    low, high = grid_of(value)
    if max(-low, high) > MOST_CELLS_OF_AN_ITEM:
        return "an item lies more than 2^31 grid points from 0"
    if value.get("sensitivity") is not None:
        return "value.sensitivity is that of the neighbours, for what is added up"
    split = collect["statistic"] == "mean" and collect["neighbours"] == "add-remove"
    if split and SCHEMES[parameters["scheme"]["name"]].has_rate:
        return "two measurements of a mean have no rate"
    centre = (low + high) // 2
    look = collect.get("intrusion_nano")
    if look is not None and 2 * max(high - centre, centre - low) * 10**9 > look * MOST_CELLS:
        return "collect.intrusion_nano is too small: the noise of counters passes 2^50 grid points"
    return ""


def _readings(parameters: Members) -> str:
    """Return what is wrong with steps of several readings; nothing is where there are none."""
    protection, value = parameters["protection"], parameters["value"]
    within = protection.get("within")
    if (within is None) is not (protection.get("open_steps") is None):
        return "protection.within and protection.open_steps go together"
    if within is None:
        return "" if "absent" not in protection else "protection.absent needs protection.within"
    if parameters.get("collect") is not None:
        return "protection.within has no meaning for what is collected"
    if within != "last" and value["kind"] != "number":
        return f"the {within} of readings is one of numbers, not of {value['kind']}"
    return "" if "absent" not in protection else _absent(parameters)


def _absent(parameters: Members) -> str:
    """Return what is wrong with what stands for a step without a reading."""
    absent, value = parameters["protection"]["absent"], parameters["value"]
    if absent == "approximated":
        if value["kind"] == "category" and absent in value["categories"]:
            return "protection.absent is a category, or says that a gap is filled: which is not clear"
        return "" if parameters["scheme"].get("dissimilarity") != "private" else "a gap would cost a comparison"
    if value["kind"] in ("location", "counts"):
        return f"a {value['kind']} may be no neighbour of protection.absent"
    if value["kind"] == "number" and value.get("sensitivity") is not None and cells_of(value) < _width(value):
        return "numbers beyond value.sensitivity are no neighbours of protection.absent"
    return "" if _is_value(absent, value) else f"protection.absent is no {value['kind']} of this policy"


def cells_of(value: Members) -> int:
    """Return how far apart neighbouring numbers lie, in grid points."""
    if value.get("sensitivity") is None:
        return _width(value)
    return min(_width(value), ceil(decimal_of(value["sensitivity"]) / decimal_of(value["resolution"])))


def _width(value: Members) -> int:
    low, high = grid_of(value)
    return high - low


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
        return f"scheme.name {shown(name)} is not known"
    level = protection["level"]
    meant = {level, WIDE} if level == "landmark" and (protection.get("window") or 1) > 1 else {level}
    if meant.isdisjoint(SCHEMES[name].levels):
        return f"scheme {name!r} has no meaning at level {level}"
    return _members("scheme", scheme, {"name": ANY, **SCHEMES[name].members})


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
        return f"value.kind {shown(kind)} is not known"
    fault = _members("value", value, KINDS[kind])
    if fault:
        return fault
    match kind:
        case "number":
            fault = grid_fault(value)
        case "location":
            fault = _members("value.bounds", value["bounds"], BOUNDS) or box_fault(value)
        case "vector":
            fault = _parts(value["parts"])
        case _:
            pass
    return fault or ("" if _is_substitute(value) else f'value.invalid is neither "reject" nor a {kind} of this policy')


def _parts(parts: Members) -> str:
    for name, part in parts.items():
        where = f"value.parts.{name}"
        fault = _members(where, part, PART) if isinstance(part, dict) else f"{where} is not an object"
        fault = fault or grid_fault(part)
        if fault:
            return fault
    return ""


def _is_substitute(value: Members) -> bool:
    """Tell whether `invalid` is absent, "reject", or a value of this policy."""
    if "invalid" not in value:
        return True
    found, kind = value["invalid"], value["kind"]
    if kind == "category":  # where "reject" is a category, it would be one, and would not reject
        return _is_value(found, value) is not (found == "reject")
    return found == "reject" or _is_value(found, value)


def _is_value(found: object, value: Members) -> bool:
    """Tell whether something of JSON is a value of this kind."""
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
        case _:
            position = {"latitude", "longitude"}
            return isinstance(found, dict) and found.keys() == position and all(map(DOUBLE.fits, found.values()))
