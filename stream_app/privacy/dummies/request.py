"""The checked request of a policy's `dummies`, and the parameters with the drawn landmarks.

Only `Dummies` holds the true landmarks. The parameters do not depend on which landmarks these were or how they were
written: the drawn landmarks come after the level as merged intervals in ascending order, whether or not the record
contained any.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Literal

from stream_app.privacy.landmarks import Grid, LandmarkSet, aligned
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS, DrawnForm, PaddingForm, ProtectionForm
from stream_app.privacy.values import exact

Method = Literal["optimal", "heuristic", "partitioned"]
MethodName = Literal["optimal", "heuristic", "partitioned", "padding"]
Utility = Literal["proximity", "count"]

MOST_STEPS = {"optimal": 16, "heuristic": 16_384, "partitioned": 16_384, "padding": 65_536}
"""The maximum number of steps in a range, by method.

Optimal has 2^16 sets; the others take a few seconds. A range of n steps yields at most n/2 intervals, rounded up, so no
row or entry becomes too large for a topic. The limit applies to the range, which is public, and not to what is
enumerated, so a refusal reveals nothing about the landmarks.
"""


@dataclass(frozen=True, slots=True)
class DrawRequest:
    """Requests one of many options, drawn by the exponential mechanism at a cost of ``charge_nano`` nano-epsilon."""

    method: Method
    utility: Utility
    charge_nano: int
    first: int  # steps [first, end) by index
    end: int
    landmarks: LandmarkSet = field(repr=False)


@dataclass(frozen=True, slots=True)
class PaddingRequest:
    """Requests a coin for each step, with the public probability ``numerator / denominator``.

    It charges no epsilon: its loss, ln(denominator / numerator) for each landmark, is one-sided and not measured in
    epsilon.
    """

    numerator: int
    denominator: int
    first: int  # steps [first, end) by index
    end: int
    landmarks: LandmarkSet = field(repr=False)
    method: Literal["padding"] = "padding"
    charge_nano: Literal[0] = 0


Dummies = DrawRequest | PaddingRequest


def dummies_of(
    form: DrawnForm | PaddingForm, protection: ProtectionForm, epsilon_nano: int
) -> Dummies | tuple[tuple[str, str], ...]:
    """Return the form's request under its policy's protection, or every fault as a member and a reason.

    A fault reveals nothing about the landmarks except that some lie outside the range.
    """
    grid = Grid(protection.unit or protection.step, protection.offset or 0)
    first, end = grid.index_of(form.start), grid.ceiling_of(form.end)
    landmarks = aligned(protection.landmarks, *grid)
    faults = []
    if protection.level != "landmark":
        faults.append(("dummies", f"level {protection.level} has no landmarks to hide; remove dummies"))
    if protection.spare:
        message = (
            "with dummies, no landmark can be added later, because it would be recognised as a real landmark; remove "
            "spare"
        )
        faults.append(("protection.spare", message))
    if form.start >= form.end:
        message = f"a range [start, end) needs start < end, but found {form.start} and {form.end}"
        faults.append(("dummies.end", message))
    # PRIVACY: the message does not say where landmarks lie. That some lie outside cannot be hidden, because they would
    # stand alone there.
    elif landmarks.count_before(first) or landmarks.count_from(end):
        message = (
            "some landmarks are outside dummies.start .. dummies.end, where dummies cannot hide them; widen the range"
        )
        faults.append(("protection.landmarks", message))
    too_long = steps_fault(form.method, end - first)
    if too_long:
        faults.append(("dummies.method", too_long))
    if faults:
        return tuple(faults)
    if isinstance(form, DrawnForm):
        charge_nano = ceil(epsilon_nano * exact(form.fraction))
        return DrawRequest(form.method, form.utility, charge_nano, first, end, landmarks)
    chance = exact(form.probability)
    return PaddingRequest(chance.numerator, chance.denominator, first, end, landmarks)


def steps_fault(method: MethodName, steps: int) -> str:
    """Return a sentence on why a method cannot handle a range of this many steps, or "" if it can."""
    if steps <= MOST_STEPS[method]:
        return ""
    able = [f"{name} (at most {most})" for name, most in MOST_STEPS.items() if steps <= most]
    remedy = f"choose {' or '.join(able)}" if able else "choose a shorter range or longer steps"
    return f"{method} accepts a range of at most {MOST_STEPS[method]} steps, but found {steps}; {remedy}"


def undrawn(parameters: Mapping[str, object]) -> Mapping[str, object]:
    """Return checked parameters, without landmarks if dummies are to be drawn, and otherwise unchanged.

    If `dummies` is null, it is omitted: it has no meaning, and the ledger has no such member.
    """
    if "dummies" not in parameters:
        return parameters
    if parameters["dummies"] is None:
        return {name: part for name, part in parameters.items() if name != "dummies"}
    # PRIVACY: until dummies are drawn, only the request holds the true landmarks, so no other part can write them out.
    return _with(parameters, [])


def drawn(parameters: Mapping[str, object], landmarks: LandmarkSet, grid: Grid) -> Mapping[str, object]:
    """Return the parameters with the drawn landmarks and without `dummies`."""
    spans = [[start, min(end, LAST_TIMESTAMP_MS)] for start, end in map(grid.span_of, landmarks.intervals)]
    return {name: part for name, part in _with(parameters, spans).items() if name != "dummies"}


def _with(parameters: Mapping[str, object], spans: list[list[int]]) -> dict[str, object]:
    protection = parameters["protection"]
    assert isinstance(protection, Mapping), "the form has been checked"
    rest = {name: part for name, part in protection.items() if name not in {"level", "landmarks"}}
    return {**parameters, "protection": {"level": protection["level"], "landmarks": spans, **rest}}
