"""Value kinds: what a value may be, how it maps to a grid, and the mechanism that perturbs it.

A kind maps a raw value to cells (`quantise`), perturbs cells (`perturb`), and maps cells to and from a release
(`publish`, `read`). `AnyKind` declares the interface of all kinds. `ItemKind` declares the interface of the kind of a
single reading or contribution, which is the ``item`` of a statistic.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, TypeAlias

from pydantic import Field

from stream_app.privacy.kinds.bins import ByBins, Histogram
from stream_app.privacy.kinds.category import Category, CategoryForm, Choice, ChoiceForm
from stream_app.privacy.kinds.counts import Counts, CountsForm
from stream_app.privacy.kinds.default import Published
from stream_app.privacy.kinds.form import KindFault
from stream_app.privacy.kinds.hidden import HiddenMean
from stream_app.privacy.kinds.localtime import LocalTime
from stream_app.privacy.kinds.location import Location, LocationForm
from stream_app.privacy.kinds.number import Number, NumberForm
from stream_app.privacy.kinds.sums import Mean, Sum
from stream_app.privacy.kinds.units import Share, UnitMean, UnitSum
from stream_app.privacy.kinds.vector import Vector, VectorForm
from stream_app.privacy.values import Raw

Statistic: TypeAlias = Sum | Mean | HiddenMean
"""A statistic computed from contributors' numbers."""

Collected: TypeAlias = Counts | Choice | Statistic
"""The kinds to which contributors' items are collected."""

UnitStatistic: TypeAlias = UnitSum | UnitMean | Share | Histogram | ByBins
"""A statistic of a step's units.

`tallied` returns the cells of the counted units.
"""

Item: TypeAlias = Number | Counts | Location | Category | Vector | Choice
"""The kind of a single reading or contribution."""

OfStep: TypeAlias = Item | Statistic
"""The kind of a single value per step, or of what is collected in a step."""

Kind: TypeAlias = OfStep | UnitStatistic
"""The closed union of value kinds."""

Unfiltered: TypeAlias = Statistic | Choice | UnitSum | Share | Histogram | ByBins
"""The kinds that are published as measured, without a filter."""

__all__ = [
    "ByBins",
    "Category",
    "Choice",
    "Collected",
    "Counts",
    "HiddenMean",
    "Histogram",
    "Item",
    "Kind",
    "LocalTime",
    "Location",
    "Mean",
    "Number",
    "OfStep",
    "Published",
    "Share",
    "Statistic",
    "Sum",
    "Unfiltered",
    "UnitMean",
    "UnitStatistic",
    "UnitSum",
    "ValueForm",
    "Vector",
    "kind_of",
    "of_one",
    "substitute_fault",
    "takes_filter",
]

ValueForm: TypeAlias = Annotated[
    NumberForm | CountsForm | LocationForm | CategoryForm | VectorForm | ChoiceForm, Field(discriminator="kind")
]
"""The forms of a policy's `value`."""


def kind_of(form: ValueForm) -> OfStep | KindFault:
    """Return the kind of a policy's `value`, or its fault."""
    kind = form.declared()
    if isinstance(kind, KindFault) or isinstance(form, ChoiceForm) or form.invalid == "reject":
        return kind
    invalid = dict(form.invalid) if isinstance(form.invalid, Mapping) else form.invalid
    substitute = kind.quantise(Raw(invalid))
    if substitute is None:
        return KindFault(
            "invalid", f'the substitute is not a valid {form.kind} of this policy; use "reject" or a valid value'
        )
    return replace(kind, substitute=substitute)


def of_one(kind: Kind) -> OfStep:
    """Return the kind of the value in which neighbours differ: the value of a step or of a unit."""
    return kind.item if isinstance(kind, UnitStatistic) else kind


def takes_filter(kind: Kind) -> bool:
    """Return whether the filter `level` may follow measurements; other kinds are published as measured."""
    return not isinstance(kind, Unfiltered)


def substitute_fault(kind: Kind) -> KindFault | None:
    """Return why a policy with this kind's substitute may not be adopted, or None if it may.

    Older policies may have such a substitute.
    """
    kind = of_one(kind)
    if kind.substitute is None or kind.takes_substitute:
        return None
    message = (
        "a substitute does not hide validity if two values are not always neighbours (counts, location, number with a "
        'sensitivity below its range): releases would distinguish it from valid values; use "reject", which shows '
        "validity"
    )
    return KindFault("invalid", message)
