"""Value kinds: what a value may be, how it maps to a grid, and the mechanism that perturbs it.

A kind maps a raw value to cells (`quantise`), perturbs cells (`perturb`), and maps cells to and from a release
(`publish`, `read`). `AnyKind` declares what every kind answers; `ItemKind` declares what the kind of a single reading
or contribution answers, which is the ``item`` of a statistic.
"""

from typing import TypeAlias

from stream_app.privacy.kinds.bins import ByBins, Histogram
from stream_app.privacy.kinds.category import Category, Choice
from stream_app.privacy.kinds.counts import Counts
from stream_app.privacy.kinds.default import Published
from stream_app.privacy.kinds.hidden import HiddenMean
from stream_app.privacy.kinds.localtime import LocalTime
from stream_app.privacy.kinds.location import Location
from stream_app.privacy.kinds.number import Number
from stream_app.privacy.kinds.sums import Mean, Sum
from stream_app.privacy.kinds.units import Share, UnitMean, UnitSum
from stream_app.privacy.kinds.vector import Vector

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
    "Vector",
]
