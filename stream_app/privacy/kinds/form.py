"""The parts shared by the forms of all kinds: their base class, the grid of a range, and faults."""

from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StrictStr

from stream_app.privacy.kinds.axis import LARGEST_CELL, Axis
from stream_app.privacy.values import exact

LARGEST_NUMBER: Final = 1e100
"""The largest number allowed; above it, squares of the range and noise scale may overflow a double."""
SMALLEST_RESOLUTION: Final = 1e-100
MOST_KEYS: Final = 4096

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


class KindFault(NamedTuple):
    """A member of `value` that does not fit the others."""

    member: str
    message: str


def twice(member: str) -> KindFault:
    """Return the fault of a list that contains the same entry twice."""
    return KindFault(member, "an entry is listed twice; list each entry once")


def grid_of(form: RangeForm) -> Axis | KindFault:
    """Return the grid of a form's range, or its fault."""
    axis = number_axis(exact(form.lower), exact(form.upper), exact(form.resolution))
    cells = axis.high - axis.low
    if cells < 1:
        return KindFault(
            "resolution",
            "the range lower .. upper must contain at least two grid points; widen the range, or use a "
            "finer resolution",
        )
    if max(cells, abs(axis.low), abs(axis.high)) > LARGEST_CELL:
        return KindFault("resolution", "the grid has more than 2^50 points; use a coarser resolution")
    return axis


@lru_cache(maxsize=1024)
def number_axis(lower: Fraction, upper: Fraction, resolution: Fraction) -> Axis:
    """Return the axis of the grid points within ``lower .. upper``, shared by all policies with this grid."""
    return Axis(1 / resolution, -((-lower) // resolution), upper // resolution)
