"""What goes on of a policy's parameters where other topics begin anew."""

from collections.abc import Mapping
from typing import Any

from stream_app.privacy.kinds.kind_form import substitute_fault
from stream_app.privacy.landmarks import aligned
from stream_app.privacy.policy import PolicyError, stored_policy_of


def bounds_to_come(parameters: Mapping[str, Any], decided_ms: int) -> list[int]:
    """Return the bounds of renewals behind the start of the last decided step: the others were asked."""
    return [bound for bound in parameters.get("renew") or [] if bound > decided_ms]


def renewed(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Tell whether a version says what its renewal would: all the same but for landmarks and bounds that passed."""
    old, new = before.get("renew") or [], after.get("renew") or []
    return len(new) < len(old) and new == old[len(old) - len(new) :] and _lasting(before) == _lasting(after)


def _lasting(parameters: Mapping[str, Any]) -> dict[str, Any]:
    protection = {name: part for name, part in parameters["protection"].items() if name != "landmarks"}
    return {name: part for name, part in parameters.items() if name != "renew"} | {"protection": protection}


def united(spans: list[Any], step_ms: int, begin_ms: int) -> list[Any]:
    """Return landmarks from ``begin_ms`` on, each step once, in as few bytes as a record can have them."""
    read = [tuple(span) if isinstance(span, list) else span for span in spans]  # compiled code takes no list for a pair
    found = [
        (max(first * step_ms, begin_ms), end * step_ms)
        for first, end in aligned(read, step_ms).intervals
        if end * step_ms > begin_ms
    ]
    return [start if stop == start + step_ms else [start, stop] for start, stop in found]


def adoptable(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters without a substitute that hides nothing, under which no policy is adopted any more."""
    value = parameters["value"]
    if "invalid" in value:
        try:
            refused = substitute_fault(stored_policy_of(parameters, 1).kind)
        except PolicyError:
            return dict(parameters)  # the worker that is to adopt them says what is wrong
        if refused:
            return {**parameters, "value": {name: part for name, part in value.items() if name != "invalid"}}
    return dict(parameters)
