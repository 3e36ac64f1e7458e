"""The member `collect` of a policy: counts are collected from contributors' items, one a step."""

from collections.abc import Iterator
from dataclasses import dataclass

from stream_app.privacy.parameters import (
    MOST_OPEN_CELLS,
    CollectForm,
    CountsForm,
    KellarisForm,
    ParametersForm,
)

SENSITIVITY = {"replace": 2, "add-remove": 1}
"""L1 distance of the counts of neighbours: one item moves from one cell to another, or stands in one of them."""


@dataclass(frozen=True, slots=True)
class Collect:
    """How counts are collected; ``open_steps`` steps take items at the same time."""

    replace: bool  # neighbours change one member's item; else a member takes part or does not
    open_steps: int
    intrusion_nano: int | None  # what a look at the memory may tell of an item; None: counters in memory are bare


def collect_of(form: CollectForm | None) -> Collect | None:
    """Return what a policy collects, or None: it takes observations."""
    return None if form is None else Collect(form.neighbours == "replace", form.open_steps, form.intrusion_nano)


def collect_faults(form: ParametersForm) -> Iterator[tuple[str, str]]:
    """Yield the members that do not go with `collect`, and why."""
    collect, value, scheme = form.collect, form.value, form.scheme
    if collect is None:
        return
    if not isinstance(value, CountsForm):
        yield "collect", f"members' items become counts, found kind {value.kind}; use kind counts"
    elif "sensitivity" in value.model_fields_set and value.sensitivity != SENSITIVITY[collect.neighbours]:
        found, implied = value.sensitivity, SENSITIVITY[collect.neighbours]
        yield "value.sensitivity", f"neighbours {collect.neighbours} imply {implied}, found {found}; leave it out"
    if isinstance(value, CountsForm) and (cells := collect.open_steps * len(value.keys)) > MOST_OPEN_CELLS:
        message = f"open steps times keys are at most {MOST_OPEN_CELLS}, found {cells}; leave fewer open, or merge keys"
        yield "collect.open_steps", message
    if value.invalid != "reject":
        yield "value.invalid", 'an item is one of the keys or none; use "reject"'
    if collect.intrusion_nano is not None and collect.neighbours == "add-remove":
        message = "the members' digests in memory would show who takes part; use neighbours replace, or leave it out"
        yield "collect.intrusion_nano", message
    if isinstance(scheme, KellarisForm) and scheme.dissimilarity == "private":
        message = "private would read the counters of steps that are not published; use released"
        yield "scheme.dissimilarity", message
