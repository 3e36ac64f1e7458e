"""The members `unit`, `offset` and `value.statistic` of a policy: each unit's readings are protected.

A step holds many units, and a release is a statistic of them. The level's window counts units.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from stream_app.privacy.collected.within import Aggregate
from stream_app.privacy.kinds import (
    ByBins,
    Category,
    Histogram,
    Kind,
    LocalTime,
    Number,
    Share,
    UnitMean,
    UnitStatistic,
    UnitSum,
)
from stream_app.privacy.kinds.axis import Axis
from stream_app.privacy.kinds.bins import named
from stream_app.privacy.kinds.category import CategoryForm
from stream_app.privacy.kinds.number import NumberForm
from stream_app.privacy.kinds.sums import LARGEST_ITEM
from stream_app.privacy.landmarks import Grid
from stream_app.privacy.parameters import (
    AdaptiveForm,
    BudgetAbsorptionForm,
    BudgetDistributionForm,
    ParametersForm,
    ProtectionForm,
    SkipForm,
)

MOST_OPEN_UNITS: Final = 65_536
"""The maximum number of units in all open steps of a series; each unit takes 16 bytes."""
MOST_STEP_UNITS: Final = 10_000
"""The maximum number of units in a step; it is limited because one record completes a step."""
OF_STATISTIC: Final = {"share": ("from", "to"), "histogram": ("edges",), "mean": ("by",), "sum": ("by",)}
"""The members of `value` that only numeric statistics have, by statistic."""
NEEDED: Final = {"share": ("from", "to"), "histogram": ("edges",)}
_OWN: Final = ("from", "to", "edges", "by")


@dataclass(frozen=True, slots=True)
class Units:
    """How steps are divided into units, and what a unit stores.

    ``open_steps`` steps accept readings at the same time. Any w consecutive units, where w is ``window``, are jointly
    protected. Steps and units start at ``offset_ms`` and at multiples of their length after it.
    """

    unit_ms: int
    offset_ms: int
    per_step: int
    window: int
    aggregate: Aggregate
    open_steps: int

    @property
    def grid(self) -> Grid:
        """Return the grid of units; step i holds the units from index ``i * per_step`` on."""
        return Grid(self.unit_ms, self.offset_ms)

    @property
    def span_ms(self) -> int:
        """Return the length of a window, in ms."""
        return self.window * self.unit_ms

    def of_step(self, index: int) -> range:
        """Return the indices of a step's units."""
        return range(index * self.per_step, (index + 1) * self.per_step)

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter that affects the contents of a step's units."""
        return ("unit", str(self.unit_ms), str(self.offset_ms), self.aggregate, str(self.open_steps))


def units_of(form: ProtectionForm) -> Units | None:
    """Return how a valid policy's steps are divided into units, or None if whole steps are protected."""
    if form.unit is None:
        return None
    aggregate = form.within or "last"
    per_step = form.step // form.unit
    return Units(form.unit, form.offset or 0, per_step, form.window or 1, aggregate, form.open_steps or 1)


def unit_kind(kind: Kind, form: ParametersForm) -> Kind:
    """Return the kind of a valid policy's `value` if its steps hold units."""
    value, window = form.value, form.protection.window or 1
    if isinstance(value, CategoryForm) and isinstance(kind, Category) and value.statistic is not None:
        return Histogram(kind, window)
    if not isinstance(value, NumberForm) or not isinstance(kind, Number):
        return kind
    match value.statistic:
        case None:
            return kind
        case "share":
            return Share(kind, window, *(kind.axis.nearest(end or 0.0) for end in (value.start, value.to)))
        case "histogram":
            return Histogram(kind, window, _cells(kind.axis, value.edges))
        case "sum":
            return _by(UnitSum(kind, window), value)
        case "mean":
            return _by(UnitMean(kind, window), value)


def _by(kind: UnitSum | UnitMean, value: NumberForm) -> UnitStatistic:
    return kind if value.by is None else ByBins(kind, LocalTime(value.by, value.transitions or ()))


def _cells(axis: Axis, edges: tuple[float, ...] | None) -> tuple[int, ...]:
    return tuple([axis.nearest(edge) for edge in edges or ()])


def unit_faults(form: ParametersForm, kind: Kind | None) -> Iterator[tuple[str, str]]:
    """Yield each member that does not form valid steps of units, with the reason.

    ``kind`` is the kind of value that a unit stores, or None if it has faults.
    """
    protection, value = form.protection, form.value
    statistic = value.statistic if isinstance(value, NumberForm | CategoryForm) else None
    if protection.unit is None:
        if protection.offset is not None:
            yield "protection.offset", "only for steps with units; add protection.unit, or remove it"
        if statistic is not None:
            message = f"{statistic} covers the units of a step; add their length in protection.unit, or remove it"
            yield "value.statistic", message
        if isinstance(value, NumberForm):
            yield from _unwanted(
                value, ("only for a statistic; add value.statistic and protection.unit, or remove it"), ()
            )
        return
    yield from _grid_faults(protection, protection.unit)
    yield from _others(form)
    if not isinstance(value, NumberForm | CategoryForm):
        yield (
            "protection.unit",
            (f"statistics of units need numbers or categories, not kind {value.kind}; remove it"),
        )
    elif statistic is None:
        known = "histogram" if isinstance(value, CategoryForm) else "mean, sum, share or histogram"
        yield "value.statistic", f"a step of units is released as a statistic; use {known}"
    if isinstance(value, NumberForm):
        yield from _number_faults(value, kind)
    elif isinstance(kind, Category) and len(set(named(kind))) < len(kind.categories):
        message = 'true and "true" (or false and "false") share a name in a histogram; rename one of them'
        yield "value.categories", message


def _grid_faults(protection: ProtectionForm, unit_ms: int) -> Iterator[tuple[str, str]]:
    step_ms, open_steps = protection.step, protection.open_steps
    if protection.level not in {"landmark", "event"}:
        message = f"level {protection.level} protects whole steps; use level landmark or event, or remove it"
        yield "protection.unit", message
    if step_ms % unit_ms:
        message = (
            f"a step must contain whole units, but found a step of {step_ms} ms and a unit of {unit_ms} ms; use "
            "a divisor of the step"
        )
        yield "protection.unit", message
    elif (per_step := step_ms // unit_ms) > MOST_STEP_UNITS:
        message = (
            f"a step may contain at most {MOST_STEP_UNITS} units, not {per_step}; use longer units or shorter steps"
        )
        yield "protection.unit", message
    elif open_steps is not None and open_steps * per_step > MOST_OPEN_UNITS:
        message = (
            f"open steps may contain at most {MOST_OPEN_UNITS} units, not {open_steps * per_step}; allow fewer open "
            "steps, or use longer units"
        )
        yield "protection.open_steps", message
    if open_steps is None:
        yield "protection.open_steps", "unit needs the number of steps that accept readings at the same time"
    if protection.offset is not None and protection.offset >= step_ms:
        message = f"steps are {step_ms} ms long; use an offset below that, not {protection.offset}"
        yield "protection.offset", message
    if "absent" in protection.model_fields_set:
        yield "protection.absent", "the units that have a reading are public, through `count`; remove it"


def _others(form: ParametersForm) -> Iterator[tuple[str, str]]:
    value, scheme = form.value, form.scheme
    if form.collect is not None:
        yield "collect", "statistics of units use the readings of one series, not contributions; remove one of the two"
    if form.correlation is not None:
        yield "correlation", "temporal loss is computed for steps, not for units; remove it"
    if isinstance(value, NumberForm) and value.sensitivity is not None:
        yield "value.sensitivity", "any two values of a unit are neighbours anyway; omit this member"
    if isinstance(scheme, SkipForm | BudgetDistributionForm | BudgetAbsorptionForm):
        message = (
            f"landmark units cost nothing, so {scheme.name} has nothing to distribute; use uniform, balanced or "
            "adaptive"
        )
        yield "scheme.name", message
    by = isinstance(value, NumberForm) and value.by is not None
    if isinstance(scheme, AdaptiveForm) and by:
        yield "scheme.name", "adaptive compares two measurements, whose bins differ by local time; use uniform"


def _number_faults(value: NumberForm, kind: Kind | None) -> Iterator[tuple[str, str]]:
    if value.statistic is not None:
        allowed = OF_STATISTIC[value.statistic]
        yield from _unwanted(value, f"a {value.statistic} has no such member; remove it", allowed)
        for member in NEEDED.get(value.statistic, ()):
            if _given(value, member) is None:
                yield f"value.{member}", f"a {value.statistic} needs it; use a number in the unit of the values"
    if not isinstance(kind, Number):
        return
    axis = kind.axis
    largest = max(abs(axis.low), abs(axis.high))
    if largest > LARGEST_ITEM:
        message = f"a unit must lie within 2^31 cells of 0, but found {largest}; use a coarser resolution"
        yield "value.resolution", message
    if value.start is not None and value.to is not None and axis.nearest(value.start) >= axis.nearest(value.to):
        message = (
            f"[from, to) is empty after both are rounded to resolution {value.resolution}; use a larger value for to"
        )
        yield "value.to", message
    edges = _cells(axis, value.edges)
    for number, (before, after) in enumerate(pairwise(edges), 2):
        if before >= after:
            message = f"edges must ascend after rounding to resolution {value.resolution}; number {number} does not"
            yield "value.edges", message


def _unwanted(value: NumberForm, message: str, allowed: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for member in _OWN:
        if member not in allowed and _given(value, member) is not None:
            yield f"value.{member}", message
    if value.transitions is not None and value.by is None:
        yield "value.transitions", "only for a mean or a sum by local time; add value.by, or remove it"


def _given(value: NumberForm, member: str) -> object:
    return getattr(value, "start" if member == "from" else member)
