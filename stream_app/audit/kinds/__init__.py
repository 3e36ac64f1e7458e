"""The value kinds of policies, each in one class: members, values, neighbours, noise scale and releases."""

from collections.abc import Mapping
from typing import Final

from stream_app.audit.form.domains import ANY, fault_in
from stream_app.audit.form.exact import shown
from stream_app.audit.form.grid import Members
from stream_app.audit.kinds.category import Category, Choice
from stream_app.audit.kinds.counts import Counts
from stream_app.audit.kinds.kind import ValueKind
from stream_app.audit.kinds.location import Location
from stream_app.audit.kinds.number import Number
from stream_app.audit.kinds.vector import Vector

KINDS: Final[Mapping[str, type[ValueKind]]] = {
    "number": Number,
    "counts": Counts,
    "location": Location,
    "category": Category,
    "choice": Choice,
    "vector": Vector,
}
"""The kinds by the names in policies."""


def value_fault(value: Members) -> str:
    """Return a sentence that says why `value` is not a valid declaration, or "" if it is valid."""
    name = value.get("kind")
    if not isinstance(name, str) or name not in KINDS:
        return f"value.kind {shown(name)} is not known"
    kind = KINDS[name](value, {})
    fault = fault_in("value", value, {"kind": ANY, **kind.members}) or kind.fault()
    if fault or "invalid" not in value or kind.takes_substitute(value["invalid"]):
        return fault
    return f'value.invalid is neither "reject" nor a {name} of this policy'


def kind_of(parameters: Members) -> ValueKind:
    """Return the kind of a policy's `value`, which was checked."""
    value = parameters["value"]
    return KINDS[value["kind"]](value, parameters.get("collect") or {})
