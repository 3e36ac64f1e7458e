"""The member `collect` of a policy: how contributors' items become one value per step.

A `Tally` counts how often each of the declared names was sent; a `Total` adds numbers. The number of items equals the
number of contributors' digests.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

from stream_app.privacy.kinds import (
    Choice,
    Collected,
    Counts,
    HiddenMean,
    Kind,
    Mean,
    Number,
    Statistic,
    Sum,
)
from stream_app.privacy.kinds.axis import LARGEST_CELL
from stream_app.privacy.kinds.category import ChoiceForm
from stream_app.privacy.kinds.counts import LARGEST_COUNT, CountsForm
from stream_app.privacy.kinds.number import NumberForm
from stream_app.privacy.kinds.sums import LARGEST_ITEM, middle, reach
from stream_app.privacy.parameters import MOST_OPEN_CELLS, CollectForm, KellarisForm, ParametersForm, SamplingForm
from stream_app.privacy.values import NANO, Raw, RawCells

Addition = tuple[int, int]
"""A counter, and the number to add to it."""
_NUMBER_BYTES: Final = len(f'"":{-LARGEST_COUNT},')


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts items by name: each item is one of ``names`` and is counted once; the counters are the step's cells.

    ``sensitivity`` is the L1 distance between neighbours' counters, and ``published_bytes`` is the maximum size of
    measurement and value in a release.
    """

    names: tuple[str, ...]
    sensitivity: int
    published_bytes: int
    _additions: Mapping[object, Addition] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Number the counters."""
        object.__setattr__(self, "_additions", {name: (nth, 1) for nth, name in enumerate(self.names)})

    @property
    def counters(self) -> int:
        """Return the number of counters in an open step."""
        return len(self.names)

    def added(self, item: Raw) -> Addition | None:
        """Return what a raw item adds, or None if it is not a valid item."""
        # PRIVACY: this branch shows whether the item was one of the public names, and nothing else about it.
        return self._additions.get(item) if isinstance(item, str) else None

    def closed(self, counters: Sequence[int], number: int) -> RawCells:
        """Return the cells of a step; the ``number`` of its items adds no information."""
        del number
        return RawCells(tuple(counters))


@dataclass(frozen=True, slots=True)
class Total:
    """Sums items that are numbers: one counter adds up their cells, each minus the kind's centre."""

    kind: Statistic

    @property
    def counters(self) -> int:
        """Return the number of counters in an open step."""
        return 1

    @property
    def sensitivity(self) -> int:
        """Return the distance between neighbours' counters, in cells."""
        return self.kind.item.sensitivity

    @property
    def published_bytes(self) -> int:
        """Return the maximum size of measurement and value in a release, in bytes."""
        return 4 * _NUMBER_BYTES

    def added(self, item: Raw) -> Addition | None:
        """Return what a raw item adds, or None if it is not a finite number."""
        # PRIVACY: this branch shows whether the item was a number, and nothing else about it. The number is brought
        # into the range before it is added, so that no item moves the sum by more than the range allows.
        cells = self.kind.quantise(item)
        return None if cells is None else (0, cells[0] - self.kind.centre)

    def closed(self, counters: Sequence[int], number: int) -> RawCells:
        """Return the cells of a step with ``number`` items."""
        return self.kind.gathered(counters[0], number)


Gathered = Tally | Total
"""What a collected step accumulates, as a closed union."""


def gathered_of(kind: Kind) -> Gathered:
    """Return the accumulator for a collected kind; `collect` is refused for the other kinds."""
    assert isinstance(kind, Collected), "this kind cannot be collected"
    if isinstance(kind, Statistic):
        return Total(kind)
    match kind:
        case Counts(keys=keys):
            object_bytes = 1 + sum([_NUMBER_BYTES + escaped_bytes(key) for key in keys])
            return Tally(keys, kind.sensitivity, 2 * object_bytes)
        case Choice(items=items):
            return Tally(items, 2, 2 * max(map(escaped_bytes, items)))
        case _:
            assert_never(kind)


def escaped_bytes(text: str) -> int:
    """Return the maximum size of a text within JSON, in bytes and without its quotes."""
    return len(text.encode()) + sum([5 if letter < " " else letter in '"\\' for letter in text])


SENSITIVITY = {"replace": 2, "add-remove": 1}
"""L1 distance between neighbours' counts: one item moves to another cell, or is present or absent."""
WIDEST_START: Final = LARGEST_CELL
"""Scale of start noise, in cells: every draw fits into a 64-bit counter, and so does the sum of a few draws."""


@dataclass(frozen=True, slots=True)
class Collect:
    """How items are collected; ``open_steps`` steps accept items at the same time."""

    replace: bool  # neighbours change one contributor's item; else one is added or removed
    open_steps: int
    intrusion_nano: int | None  # what a look at memory may reveal about an item; None: memory has no noise
    gathers: Gathered = field(compare=False, repr=False)  # follows from the kind


def collect_of(form: CollectForm | None, kind: Kind) -> Collect | None:
    """Return how a policy collects values of its kind, or None if it accepts observations."""
    if form is None:
        return None
    return Collect(form.neighbours == "replace", form.open_steps, form.intrusion_nano, gathered_of(kind))


def collected_kind(kind: Kind, form: CollectForm) -> Kind:
    """Return the collected kind of a policy's `value`; its sensitivity depends on the neighbours."""
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
    # An item counts k - c before or after a look, so moving it past the look changes both parts by at most reach.
    sensitivity = 2 * reach(item) if hidden else high - low
    item, centre = replace(item, sensitivity=sensitivity), middle(item) if hidden else 0
    return Sum(item, replace=True, centre=centre) if form.statistic == "sum" else Mean(item, centre, item.clamped)


def collect_faults(form: ParametersForm, kind: Kind | None) -> Iterator[tuple[str, str]]:
    """Yield the members that are incompatible with `collect`, and why.

    ``kind`` is None if `value` has faults.
    """
    collect, scheme = form.collect, form.scheme
    if collect is None:
        if isinstance(form.value, ChoiceForm):
            yield "collect", "a choice is made among contributors' items; add `collect`"
        return
    yield from _value_faults(form, collect, kind)
    if collect.intrusion_nano is not None and collect.neighbours == "add-remove":
        message = "the contributors' digests in memory would show who takes part; use neighbours replace, or omit it"
        yield "collect.intrusion_nano", message
    if isinstance(scheme, KellarisForm) and scheme.dissimilarity == "private":
        message = "`private` would read the counters of steps that are not published; use `released`"
        yield "scheme.dissimilarity", message


def _value_faults(form: ParametersForm, collect: CollectForm, kind: Kind | None) -> Iterator[tuple[str, str]]:
    value = form.value
    names: tuple[str, ...] = ()
    match value:
        case NumberForm() if collect.statistic is not None:
            if value.sensitivity is not None:
                yield (
                    "value.sensitivity",
                    (f"neighbours {collect.neighbours} and the range determine the sensitivity; omit it"),
                )
            yield from _statistic_faults(form, collect, kind)
        case ChoiceForm():
            names = value.items
            yield from _choice_faults(collect)
        case CountsForm():
            names, implied = value.keys, SENSITIVITY[collect.neighbours]
            if "sensitivity" in value.model_fields_set and value.sensitivity != implied:
                message = f"neighbours {collect.neighbours} imply {implied}, not {value.sensitivity}; omit it"
                yield "value.sensitivity", message
        case _:
            message = f"found kind {value.kind}; use kind counts or choice, or kind number with collect.statistic"
            yield "collect", f"contributors' items become counts, a choice, a sum or a mean, but {message}"
    if collect.statistic is not None and not isinstance(value, NumberForm):
        yield "collect.statistic", f"sums and means need kind number, not {value.kind}; omit it"
    if (cells := collect.open_steps * len(names)) > MOST_OPEN_CELLS:
        message = (
            f"open steps times keys must be at most {MOST_OPEN_CELLS}, not {cells}; allow fewer open steps, or merge "
            "keys"
        )
        yield "collect.open_steps", message
    if not isinstance(value, ChoiceForm) and value.invalid != "reject":
        yield "value.invalid", 'items cannot be substituted; use "reject"'


def _choice_faults(collect: CollectForm) -> Iterator[tuple[str, str]]:
    if collect.intrusion_nano is not None:
        yield (
            "collect.intrusion_nano",
            "a choice has no noise in its counters; omit it",
        )


def _statistic_faults(form: ParametersForm, collect: CollectForm, kind: Kind | None) -> Iterator[tuple[str, str]]:
    if collect.statistic == "mean" and collect.neighbours == "add-remove" and isinstance(form.scheme, SamplingForm):
        message = (
            f"{form.scheme.name} compares measurements, but the measurement of this mean is a sum and a number of "
            "items; use uniform or balanced"
        )
        yield "scheme.name", message
    if not isinstance(kind, Number):
        return
    largest = max(abs(kind.axis.low), abs(kind.axis.high))
    if largest > LARGEST_ITEM:
        message = f"an item must lie within 2^31 cells of 0, but found {largest}; use a coarser resolution"
        yield "value.resolution", message
    elif collect.intrusion_nano is not None and 2 * reach(kind) * NANO > WIDEST_START * collect.intrusion_nano:
        message = "the noise in the counter would have a scale above 2^50 times the resolution; use a larger resolution"
        yield "collect.intrusion_nano", f"{message}, or use a coarser resolution"
