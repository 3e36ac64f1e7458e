"""Checks the parameters in a `policy` entry: each member by itself, and all of them together.

This check shares nothing with the worker's. It is needed because a policy that the worker would reject does not
guarantee what it states. Each number is taken to be exactly the decimal that is printed.
"""

from math import floor
from operator import lt

from stream_app.audit.form import domains
from stream_app.audit.form.domains import fault_in
from stream_app.audit.form.exact import shown
from stream_app.audit.form.grid import MOST_CELLS, Members, decimal_of, grid_of
from stream_app.audit.kinds import kind_of, value_fault
from stream_app.audit.kinds.category import Choice
from stream_app.audit.kinds.counts import Counts
from stream_app.audit.kinds.number import Number


def fault_of(parameters: Members) -> str:
    """Return a sentence that says why these parameters do not form a policy, or "" if they do."""
    return (
        fault_in("parameters", parameters, domains.PARAMETERS)
        or _protection(parameters["protection"])
        or _scheme(parameters["scheme"], parameters["protection"])
        or value_fault(parameters["value"])
        or _private(parameters)
        or _units(parameters)
        or _readings(parameters)
        or _collect(parameters)
        or _filter(parameters)
        or _renewal(parameters)
    )


def is_filtered(parameters: Members) -> bool:
    """Return whether the filter level may follow the measurements of a policy without a fault in its members.

    Others are published as measured.
    """
    value, collect = parameters["value"], parameters.get("collect") or {}
    if parameters["protection"].get("unit") is not None:
        return value["statistic"] == "mean" and value.get("by") is None
    return kind_of(parameters).has_filter and not collect.get("statistic")


def _filter(parameters: Members) -> str:
    if parameters.get("filter") != "level" or is_filtered(parameters):
        return ""
    return "filter level does not apply: these measurements are published as they are"


def _collect(parameters: Members) -> str:
    collect, kind = parameters.get("collect"), kind_of(parameters)
    if collect is None:
        return "" if not isinstance(kind, Choice) else "kind choice is only for collected data"
    fault = fault_in("collect", collect, domains.COLLECT)
    if fault:
        return fault
    if not isinstance(kind, Counts | Number | Choice):
        return f"data of kind {kind.value['kind']} cannot be collected"
    if isinstance(kind, Number) is (collect.get("statistic") is None):
        return "collect.statistic is required for numbers and does not apply to other kinds"
    if kind.substitutes:
        return "collected data cannot have a substitute for invalid values"
    if collect["neighbours"] == "add-remove" and collect.get("intrusion_nano") is not None:
        return "collect.intrusion_nano has no effect with neighbours add-remove"
    if parameters["scheme"].get("dissimilarity") == "private":
        return "collected data cannot be compared privately"
    return _added(parameters) if isinstance(kind, Number) else _counted(kind)


def _counted(kind: Counts | Choice) -> str:
    collect, value = kind.collect, kind.value
    counters = value["keys"] if isinstance(kind, Counts) else value["items"]
    if collect["open_steps"] * len(counters) > domains.MOST_OPEN_COUNTERS:
        return f"collect.open_steps times the number of counters is above {domains.MOST_OPEN_COUNTERS}"
    if isinstance(kind, Choice):
        return "" if collect.get("intrusion_nano") is None else "collect.intrusion_nano does not apply to a choice"
    if value.get("sensitivity", kind.sensitivity) != kind.sensitivity:
        return f"value.sensitivity does not match neighbours {collect['neighbours']}"
    return ""


def _added(parameters: Members) -> str:
    collect, value = parameters["collect"], parameters["value"]
    low, high = grid_of(value)
    if max(-low, high) > domains.MOST_CELLS_OF_AN_ITEM:
        return "an item may be more than 2^31 grid points from 0"
    if value.get("sensitivity") is not None:
        return "value.sensitivity does not apply to collected numbers: collect.neighbours determines it"
    split = collect["statistic"] == "mean" and collect["neighbours"] == "add-remove"
    if split and domains.SCHEMES[parameters["scheme"]["name"]].has_rate:
        return "a mean with two measurements has no publishing rate"
    centre = (low + high) // 2
    look = collect.get("intrusion_nano")
    if look is not None and 2 * max(high - centre, centre - low) * 10**9 > look * MOST_CELLS:
        return "collect.intrusion_nano is too small: the noise of the counters exceeds 2^50 grid points"
    return ""


def _readings(parameters: Members) -> str:
    protection, value = parameters["protection"], parameters["value"]
    within = protection.get("within")
    if protection.get("unit") is None and (within is None) is not (protection.get("open_steps") is None):
        return "protection.within and protection.open_steps must be used together"
    if within is None:
        return "" if "absent" not in protection else "protection.absent needs protection.within"
    if parameters.get("collect") is not None:
        return "protection.within does not apply to collected data"
    if within != "last" and value["kind"] != "number":
        return f"the {within} of readings requires kind number, not {value['kind']}"
    return "" if "absent" not in protection else _absent(parameters)


def _absent(parameters: Members) -> str:
    absent, value = parameters["protection"]["absent"], parameters["value"]
    if absent == "approximated":
        if value["kind"] == "category" and absent in value["categories"]:
            return "protection.absent is ambiguous: it is a category, but also says that gaps are filled"
        return (
            ""
            if parameters["scheme"].get("dissimilarity") != "private"
            else "filling a gap would cost a private comparison"
        )
    kind = kind_of(parameters)
    if not kind.are_all_neighbours:
        return f"not every {value['kind']} of this policy is a neighbour of protection.absent"
    return "" if kind.holds(absent) else f"protection.absent is not a {value['kind']} of this policy"


def _renewal(parameters: Members) -> str:
    if parameters.get("renew") is None:
        return ""
    if parameters["protection"]["level"] not in ("landmark", "user"):
        return f"level {parameters['protection']['level']} has no budget to renew, because its budget is never used up"
    return "" if parameters.get("collect") is None else "the budget of collected data cannot be renewed"


def _protection(protection: Members) -> str:
    fault = fault_in("protection", protection, domains.PROTECTION)
    if fault:
        return fault
    level = protection["level"]
    if level != "landmark" and (protection.get("landmarks") or protection.get("spare")):
        return f"level {level} does not allow landmarks or spare"
    if (level == "user") is (protection.get("length") is None):
        return "level user needs a length" if level == "user" else f"level {level} does not allow a length"
    if protection.get("window") is None:
        return "level w-event needs a window" if level == "w-event" else ""
    return "" if level in ("w-event", "landmark") else f"level {level} does not allow a window"


def _scheme(scheme: Members, protection: Members) -> str:
    name = scheme.get("name")
    if not isinstance(name, str) or name not in domains.SCHEMES:
        return f"scheme.name {shown(name)} is not known"
    level = protection["level"]
    meant = {level, domains.WIDE} if level == "landmark" and (protection.get("window") or 1) > 1 else {level}
    if meant.isdisjoint(domains.SCHEMES[name].levels):
        return f"scheme {name!r} does not support level {level}"
    return fault_in("scheme", scheme, {"name": domains.ANY, **domains.SCHEMES[name].members})


def _private(parameters: Members) -> str:
    scheme = parameters["scheme"]
    if scheme.get("dissimilarity") != "private":
        return ""
    if parameters["protection"]["level"] != "w-event":
        return "a private dissimilarity requires level w-event"
    if scheme.keys() & domains.RATES.keys():
        return "a private dissimilarity does not use a rate"
    if parameters["value"]["kind"] not in ("number", "counts"):
        return "a private dissimilarity can compare only numbers or counts"
    if parameters.get("collect") is not None:
        return "a private dissimilarity does not support collected counts"
    if decimal_of(parameters["epsilon"]) * 10**9 < 2 * parameters["protection"]["window"]:
        return "epsilon is too small for a private dissimilarity at every step of a window"
    return ""


def _units(parameters: Members) -> str:
    protection, value = parameters["protection"], parameters["value"]
    if protection.get("unit") is None:
        return _without_units(protection, value)
    if value.get("statistic") is None:
        return "protection.unit needs value.statistic"
    return _unit_grid(protection) or _beside_units(parameters) or _unit_statistic(value) or _unit_scheme(parameters)


def _without_units(protection: Members, value: Members) -> str:
    if protection.get("offset") is not None:
        return "protection.offset needs protection.unit"
    for name in domains.OF_UNITS:
        if name in value and value[name] is not None:
            return f"value.{name} needs protection.unit"
    return ""


def _unit_grid(protection: Members) -> str:
    step, unit = protection.get("step", 1), protection["unit"]
    if step % unit:
        return "protection.unit does not divide protection.step"
    if protection.get("open_steps") is None:
        return "protection.unit needs protection.open_steps"
    if (protection.get("offset") or 0) >= step:
        return "protection.offset is not below protection.step"
    if step // unit > domains.MOST_UNITS:
        return f"a step has more than {domains.MOST_UNITS} units"
    if protection["open_steps"] * step // unit > domains.MOST_OPEN_UNITS:
        return f"the open steps have more than {domains.MOST_OPEN_UNITS} units"
    return ""


def _beside_units(parameters: Members) -> str:
    protection, value = parameters["protection"], parameters["value"]
    if protection["level"] not in ("landmark", "event"):
        return f"level {protection['level']} does not support units"
    if value["kind"] not in ("number", "category"):
        return f"kind {value['kind']} does not support statistics of units"
    if parameters.get("collect") is not None:
        return "collected data cannot have units"
    if "absent" in protection:
        return "protection.absent has no effect with units"
    if parameters.get("correlation") is not None:
        return "a correlation does not support units"
    if value.get("sensitivity") is not None:
        return "value.sensitivity does not apply to units"
    if value["kind"] == "number" and max(map(abs, grid_of(value))) > domains.MOST_CELLS_OF_AN_ITEM:
        return "a unit may be more than 2^31 grid points from 0"
    return ""


def _unit_statistic(value: Members) -> str:
    statistic, kind = value["statistic"], value["kind"]
    if kind == "category":
        names = [str(each).lower() if isinstance(each, bool) else each for each in value["categories"]]
        if len(set(names)) < len(names):
            return "value.categories contain the same name twice: once as a flag and once as text"
        return "" if statistic == "histogram" else f"a {statistic} requires kind number, not category"
    due = {"share": {"from", "to"}, "histogram": {"edges"}}.get(statistic, set())
    said = {name for name in ("from", "to", "edges") if value.get(name) is not None}
    if said != due:
        return f"value.{min(said ^ due)} is missing, or does not apply to {statistic}"
    edges = [value["from"], value["to"]] if statistic == "share" else value.get("edges") or []
    cells = [floor(decimal_of(edge) / decimal_of(value["resolution"]) + decimal_of(0.5)) for edge in edges]
    if statistic == "histogram" and not edges:
        return "value.edges are none"
    if not all(map(lt, cells, cells[1:])):
        return "value.from and value.to, or value.edges, are not in ascending order on the grid"
    if value.get("by") is not None and statistic not in ("mean", "sum"):
        return f"value.by does not apply to {statistic}"
    if value.get("transitions") is not None and value.get("by") is None:
        return "value.transitions need value.by"
    return ""


def _unit_scheme(parameters: Members) -> str:
    scheme, value = parameters["scheme"]["name"], parameters["value"]
    if scheme not in ("uniform", "balanced", "adaptive"):
        return f"scheme {scheme!r} does not support units"
    if scheme == "adaptive" and value.get("by") is not None:
        return "a step with several means has no publishing rate"
    return ""
