"""The forms of a policy's `value`: the members of each kind, with their types and domains."""

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, field_validator

LARGEST_NUMBER = 1e100
"""The largest number allowed: beyond it, squares of the range and noise scale may exceed a double."""
SMALLEST_RESOLUTION = 1e-100
MOST_KEYS = 4096
MOST_CATEGORIES = 4096
MOST_PARTS = 64
"""The maximum number of parts in a vector; each then has a 64th of the budget."""
MOST_EDGES = 63
"""The maximum number of edges in a histogram: 64 bins."""
MOST_TRANSITIONS = 256
"""The maximum number of transitions of local time, stored in every policy entry.

Twenty years of a zone with four transitions a year need 80.
"""
LARGEST_LOCAL_OFFSET_MS = 24 * 3_600_000
"""No zone's UTC offset is this large."""

Double = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Text = Annotated[StrictStr, Field(min_length=1, max_length=200)]


class Form(BaseModel):
    """A form: an immutable object without unknown members."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RangeForm(Form):
    """The grid of a number or of a part of a vector."""

    lower: Annotated[Double, Field(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
    upper: Annotated[Double, Field(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
    resolution: Annotated[Double, Field(ge=SMALLEST_RESOLUTION, le=LARGEST_NUMBER)]


Transition = tuple[
    Annotated[StrictInt, Field(ge=0, le=2**53 - 1)],
    Annotated[StrictInt, Field(ge=-LARGEST_LOCAL_OFFSET_MS, le=LARGEST_LOCAL_OFFSET_MS)],
]
"""A time in ms, and the offset of local time from UTC in ms from that time on."""


class NumberForm(RangeForm):
    """Form of value kind number; the members from `statistic` on are for steps of units."""

    kind: Literal["number"]
    sensitivity: Annotated[Double, Field(gt=0)] | None = None
    clamp: StrictBool = True
    invalid: Double | Literal["reject"] = "reject"
    statistic: Literal["mean", "sum", "share", "histogram"] | None = None
    start: Annotated[Double | None, Field(alias="from")] = None
    to: Double | None = None
    edges: Annotated[tuple[Double, ...], Field(min_length=1, max_length=MOST_EDGES)] | None = None
    by: Literal["hour", "weekday", "hour-of-week"] | None = None
    transitions: Annotated[tuple[Transition, ...], Field(min_length=1, max_length=MOST_TRANSITIONS)] | None = None

    @field_validator("transitions")
    @classmethod
    def _ascending(cls, transitions: tuple[Transition, ...] | None) -> tuple[Transition, ...] | None:
        for number, ((before, _), (after, _)) in enumerate(pairwise(transitions or ()), 2):
            if before >= after:
                raise ValueError(f"times must be strictly ascending; number {number} is {after}, after {before}")
        return transitions


class CountsForm(Form):
    """Form of value kind counts."""

    kind: Literal["counts"]
    keys: Annotated[tuple[Text, ...], Field(min_length=1, max_length=MOST_KEYS)]
    sensitivity: Annotated[StrictInt, Field(ge=1, le=2**53 - 1)] = 1
    clamp: StrictBool = True
    invalid: dict[str, StrictInt] | Literal["reject"] = "reject"


class BoundsForm(Form):
    """A bounding box in degrees."""

    south: Annotated[Double, Field(ge=-85, le=85)]
    west: Annotated[Double, Field(ge=-180, le=180)]
    north: Annotated[Double, Field(ge=-85, le=85)]
    east: Annotated[Double, Field(ge=-180, le=180)]


class LocationForm(Form):
    """Form of value kind location."""

    kind: Literal["location"]
    # At least a millimetre: the filter squares it, and a square that underflows would cause a division by zero.
    radius: Annotated[Double, Field(ge=0.001, le=20_100_000)]
    # Below 0.1 m, the 7 decimals of a published degree could not identify the lattice point.
    resolution: Annotated[Double, Field(ge=0.1, le=20_100_000)]
    bounds: BoundsForm
    clamp: StrictBool = True
    invalid: dict[str, Double] | Literal["reject"] = "reject"


class CategoryForm(Form):
    """Form of value kind category."""

    kind: Literal["category"]
    categories: Annotated[tuple[StrictBool | Text, ...], Field(min_length=2, max_length=MOST_CATEGORIES)]
    clamp: StrictBool = True
    invalid: StrictBool | StrictStr = "reject"
    statistic: Literal["histogram"] | None = None


class ChoiceForm(Form):
    """Form of value kind choice."""

    kind: Literal["choice"]
    items: Annotated[tuple[Text, ...], Field(min_length=2, max_length=MOST_KEYS)]


class VectorForm(Form):
    """Form of value kind vector."""

    kind: Literal["vector"]
    parts: Annotated[dict[Text, RangeForm], Field(min_length=1, max_length=MOST_PARTS)]
    clamp: StrictBool = True
    invalid: dict[str, Double] | Literal["reject"] = "reject"


ValueForm = Annotated[
    NumberForm | CountsForm | LocationForm | CategoryForm | VectorForm | ChoiceForm, Field(discriminator="kind")
]
