"""The member `collect` of a policy: what is made of contributors' items, one a step."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from stream_app.privacy.collected.items import Gathered, gathered_of
from stream_app.privacy.kinds import Choice, Counts, HiddenMean, Kind, Mean, Number, Statistic, Sum
from stream_app.privacy.kinds.axis import LARGEST_CELL
from stream_app.privacy.kinds.sums import LARGEST_ITEM, middle, reach
from stream_app.privacy.parameters import (
    MOST_OPEN_CELLS,
    ChoiceForm,
    CollectForm,
    CountsForm,
    KellarisForm,
    NumberForm,
    ParametersForm,
    SamplingForm,
)
from stream_app.privacy.values import NANO

SENSITIVITY = {"replace": 2, "add-remove": 1}
"""L1 distance of the counts of neighbours: one item moves from one cell to another, or stands in one of them."""
WIDEST_START: Final = LARGEST_CELL
"""Scale of start noise, in cells: whatever is drawn of it fits into a counter of 64 bits, and so do sums of some."""


@dataclass(frozen=True, slots=True)
class Collect:
    """How items are collected; ``open_steps`` steps take them at the same time."""

    replace: bool  # neighbours change one member's item; else a member takes part or does not
    open_steps: int
    intrusion_nano: int | None  # what a look at the memory may tell of an item; None: counters in memory are bare
    gathers: Gathered = field(compare=False, repr=False)  # follows from the kind


def collect_of(form: CollectForm | None, kind: Kind) -> Collect | None:
    """Return how a policy collects into its kind, or None: it takes observations."""
    if form is None:
        return None
    return Collect(form.neighbours == "replace", form.open_steps, form.intrusion_nano, gathered_of(kind))


def collected_kind(kind: Kind, form: CollectForm) -> Kind:
    """Return what a policy's `value` is when it is collected: its sensitivity follows from the neighbours."""
    if isinstance(kind, Counts):
        return replace(kind, sensitivity=SENSITIVITY[form.neighbours])
    if isinstance(kind, Choice):
        return replace(kind, replace=form.neighbours == "replace")
    if isinstance(kind, Number) and form.statistic is not None:
        return _statistic(kind, form)
    return kind


def _statistic(item: Number, form: CollectForm) -> Statistic:
    low, high = item.axis.low, item.axis.high
    replaced, hidden = form.neighbours == "replace", form.intrusion_nano is not None
    if not replaced and form.statistic == "mean":
        return HiddenMean(replace(item, sensitivity=reach(item)), item.clamped)
    if not replaced:
        return Sum(replace(item, sensitivity=max(abs(low), abs(high))), replace=False)
    # Before a look and after it an item counts k - c: one that is moved past it changes both parts by reach at most.
    sensitivity = 2 * reach(item) if hidden else high - low
    item, centre = replace(item, sensitivity=sensitivity), middle(item) if hidden else 0
    return Sum(item, replace=True, centre=centre) if form.statistic == "sum" else Mean(item, centre, item.clamped)


def collect_faults(form: ParametersForm, kind: Kind | None) -> Iterator[tuple[str, str]]:
    """Yield the members that do not go with `collect`, and why; ``kind`` is what `value` came to, None: to nothing."""
    collect, scheme = form.collect, form.scheme
    if collect is None:
        if isinstance(form.value, ChoiceForm):
            yield "collect", "a choice is made among contributors' items; say how they are collected"
        return
    yield from _value_faults(form, collect, kind)
    if collect.intrusion_nano is not None and collect.neighbours == "add-remove":
        message = "the members' digests in memory would show who takes part; use neighbours replace, or leave it out"
        yield "collect.intrusion_nano", message
    if isinstance(scheme, KellarisForm) and scheme.dissimilarity == "private":
        message = "private would read the counters of steps that are not published; use released"
        yield "scheme.dissimilarity", message


def _value_faults(form: ParametersForm, collect: CollectForm, kind: Kind | None) -> Iterator[tuple[str, str]]:
    value = form.value
    names: tuple[str, ...] = ()
    match value:
        case NumberForm() if collect.statistic is not None:
            if value.sensitivity is not None:
                yield "value.sensitivity", f"neighbours {collect.neighbours} and the range imply it; leave it out"
            yield from _statistic_faults(form, collect, kind)
        case ChoiceForm():
            names = value.items
            yield from _choice_faults(form, collect)
        case CountsForm():
            names, implied = value.keys, SENSITIVITY[collect.neighbours]
            if "sensitivity" in value.model_fields_set and value.sensitivity != implied:
                message = f"neighbours {collect.neighbours} imply {implied}, found {value.sensitivity}; leave it out"
                yield "value.sensitivity", message
        case _:
            message = f"found kind {value.kind}; use kind counts or choice, or kind number with collect.statistic"
            yield "collect", f"members' items become counts, a choice, a sum or a mean, {message}"
    if collect.statistic is not None and not isinstance(value, NumberForm):
        yield "collect.statistic", f"sums and means are of kind number, {value.kind} has none; leave it out"
    if (cells := collect.open_steps * len(names)) > MOST_OPEN_CELLS:
        message = f"open steps times keys are at most {MOST_OPEN_CELLS}, found {cells}; leave fewer open, or merge keys"
        yield "collect.open_steps", message
    if not isinstance(value, ChoiceForm) and value.invalid != "reject":
        yield "value.invalid", 'an item is valid or none; use "reject"'


def _choice_faults(form: ParametersForm, collect: CollectForm) -> Iterator[tuple[str, str]]:
    if form.filter == "level":
        yield "filter", "a choice is published as drawn; use none"
    if collect.intrusion_nano is not None:
        yield (
            "collect.intrusion_nano",
            "the counters of a choice are bare, its draw has no noise of theirs; leave it out",
        )


def _statistic_faults(form: ParametersForm, collect: CollectForm, kind: Kind | None) -> Iterator[tuple[str, str]]:
    if form.filter == "level":
        yield "filter", f"a {collect.statistic} over contributors is published as measured; use none"
    if collect.statistic == "mean" and collect.neighbours == "add-remove" and isinstance(form.scheme, SamplingForm):
        message = (
            f"{form.scheme.name} compares measurements, and this mean's are sum and number; use uniform or balanced"
        )
        yield "scheme.name", message
    if not isinstance(kind, Number):
        return
    largest = max(abs(kind.axis.low), abs(kind.axis.high))
    if largest > LARGEST_ITEM:
        message = f"an item has at most 2^31 steps of resolution either way, found {largest}; use a coarser resolution"
        yield "value.resolution", message
    elif collect.intrusion_nano is not None and 2 * reach(kind) * NANO > WIDEST_START * collect.intrusion_nano:
        message = "the noise in the counter would have a scale beyond 2^50 steps of resolution; raise it"
        yield "collect.intrusion_nano", f"{message}, or use a coarser resolution"
