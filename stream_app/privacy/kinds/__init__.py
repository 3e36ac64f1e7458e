"""Value kinds: what a value may be, how it lies on a grid, and the mechanism that perturbs it.

A kind offers ``quantise`` (raw value to cells, None when invalid), ``perturb`` (cells to measurement), ``scale`` (of
the noise, for the release), ``still`` (did the noise scale exceed the change?), ``nearest`` and ``clamp`` (estimates),
``publish`` and ``read`` (cells to and from the value in a release) and ``identity`` (every parameter, for the noise).
"""

from typing import TypeAlias

from stream_app.privacy.kinds.category import Category
from stream_app.privacy.kinds.choice import Choice
from stream_app.privacy.kinds.counts import Counts
from stream_app.privacy.kinds.location import Location
from stream_app.privacy.kinds.number import Number
from stream_app.privacy.kinds.sums import HiddenMean, Mean, Statistic, Sum
from stream_app.privacy.kinds.vector import Vector

Kind: TypeAlias = Number | Counts | Location | Category | Vector | Statistic | Choice
"""The closed union of value kinds."""

Published: TypeAlias = float | int | bool | str | dict[str, float] | dict[str, int]
"""A value as it stands in a release."""

__all__ = [
    "Category",
    "Choice",
    "Counts",
    "HiddenMean",
    "Kind",
    "Location",
    "Mean",
    "Number",
    "Published",
    "Statistic",
    "Sum",
    "Vector",
]
