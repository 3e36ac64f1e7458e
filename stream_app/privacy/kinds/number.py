"""Bounded numbers under the discrete Laplace mechanism (Ghosh et al., STOC 2009)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, isfinite
from statistics import median
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StrictBool, StrictInt, field_validator

from stream_app.privacy.amounts import Flag, Real, cheapest, finite, least, most, root, where
from stream_app.privacy.kinds.axis import Axis, saturated
from stream_app.privacy.kinds.default import AnyKind, ItemKind, Model
from stream_app.privacy.kinds.form import Double, KindFault, RangeForm, grid_of
from stream_app.privacy.noise.law import mean_noise
from stream_app.privacy.noise.mechanisms import discrete_laplace
from stream_app.privacy.noise.moments import Noise, noise_of
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import NANO, LevelState, Raw, RawCells, ReleasedCells, exact, is_number, number_of

NUMBER_POWERS = (3, 2, 1, 0)
"""Powers of 1/64 that distinguish the filter's models: they set how fast the level may move."""
NUMBER_WIDTH = 3 * len(NUMBER_POWERS)

MOST_EDGES = 63
"""The maximum number of edges in a histogram: 64 bins."""
MOST_TRANSITIONS = 256
"""The maximum number of transitions of local time, all of which are stored in every policy entry.

A zone with four transitions a year needs 80 for twenty years.
"""
LARGEST_LOCAL_OFFSET_MS = 24 * 3_600_000
"""A bound that no zone's UTC offset reaches."""

Transition = tuple[
    Annotated[StrictInt, Field(ge=0, le=2**53 - 1)],
    Annotated[StrictInt, Field(ge=-LARGEST_LOCAL_OFFSET_MS, le=LARGEST_LOCAL_OFFSET_MS)],
]
"""A time in ms, and the offset of local time relative to UTC from that time on, in ms."""


class NumberForm(RangeForm):
    """The form of the value kind number; the members from `statistic` on are for steps of units."""

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

    def declared(self) -> "Number | KindFault":
        """Return the kind, or the fault of its grid."""
        axis = grid_of(self)
        if isinstance(axis, KindFault):
            return axis
        cells = axis.high - axis.low
        wanted = cells if self.sensitivity is None else ceil(exact(self.sensitivity) / exact(self.resolution))
        return Number(axis, min(cells, wanted), float(self.lower), float(self.upper), self.clamp)


@dataclass(frozen=True, slots=True)
class Number(ItemKind):
    """Numbers on a grid of ``resolution`` within ``lower .. upper``; ``sensitivity`` is D, in cells.

    If D is less than the whole range, only values at most D cells apart are neighbours, so the guarantee is narrower.
    """

    axis: Axis
    sensitivity: int
    lower: float
    upper: float
    clamped: bool = True
    substitute: RawCells | None = None
    width: ClassVar[int] = 1
    error_unit: ClassVar[str] = "in the value's unit"
    excess: ClassVar[str] = "{scale}, which exceeds the range of {span}"

    def quantise(self, raw: Raw) -> RawCells | None:
        """Return the cell of a finite raw number, clamped to the range; for any other value, the substitute or None."""
        number = float(number_of(raw))
        # PRIVACY: the branch reveals only that a value is refused, as its reject does; refused values get a cell, too,
        # so that all values take as long.
        cell = RawCells((self.cell(number),))
        return cell if self.accepts_raw(number) else None

    def accepts_raw(self, number: Real) -> Flag:
        """Return whether a raw value is finite or has a substitute; non-numbers are given as NaN."""
        return finite(number) | (self.substitute is not None)

    def cell(self, number: Any) -> Any:
        """Return the cell of an accepted raw value, clamped to the range; non-numbers are given as NaN."""
        # PRIVACY: a value that is not a number goes through the operations of one, so the time does not reveal what a
        # substitute hides.
        valid = finite(number)
        cell = self.axis.within(where(valid, number, self.upper))
        return cell if self.substitute is None else where(valid, cell, self.substitute[0])

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the cell plus discrete Laplace noise of rate ``e / D``; the loss is at most ``spend_nano``."""
        # PRIVACY: the raw cell leaves only with noise of rate e/D per cell. Any two cells are at most D apart, or they
        # are not neighbours, if a sensitivity was given. So no output is more than exp(e) times likelier under one than
        # under the other.
        return ReleasedCells((saturated(cells[0] + discrete_laplace(stream, spend_nano, self.sensitivity * NANO)),))

    def scale(self, spend_nano: int) -> float:
        """Return the noise scale ``D * resolution / e`` in the value's unit."""
        return self.axis.width(self.sensitivity * NANO, spend_nano)

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether the noise scale exceeds the distance between two measurements."""
        # Tests distance * spend < D * 10^9, in integers that fit into columns; spends are above 0.
        return abs(current[0] - previous[0]) <= (self.sensitivity * NANO - 1) // spend_nano

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return an estimate within the declared range (unless ``clamp`` is false)."""
        return ReleasedCells((self.axis.clamp(cells[0]),)) if self.clamped else cells

    def publish(self, cells: ReleasedCells) -> float:
        """Return the number that a cell represents."""
        return self.axis.double(cells[0])

    def read(self, published: object, _count: object = None) -> ReleasedCells:
        """Return the cell of the number in a release."""
        if not isinstance(published, float | int):
            raise TypeError(f"a number release must contain a number, but found {type(published).__name__}")
        return ReleasedCells((self.axis.nearest(float(published)),))

    # The filter's state: m, p, c for each model.

    def filtered(
        self, state: LevelState, cells: ReleasedCells, spend_nano: int, k: float
    ) -> tuple[LevelState, ReleasedCells]:
        """Return the filter's state and the estimate after a noisy value, ``k`` steps after the previous state."""
        noisy, scale = self.axis.double(cells[0]), self.scale(spend_nano)
        new, chosen = self.level_after(state or self.level_begun, noisy, scale, k)
        cell = self.axis.within(chosen) if self.clamped else self.axis.nearest(chosen)
        return tuple(new), ReleasedCells((cell,))

    def drifted(self, state: LevelState, k: float) -> LevelState:
        """Return the filter's state ``k`` steps after the previous one, without a noisy value."""
        return tuple(self.level_drifted(state, k))

    @property
    def level_begun(self) -> LevelState:
        """Return the filter's state before the first noisy value."""
        return ((self.lower + self.upper) / 2, self._widest, 0.0) * len(NUMBER_POWERS)

    def level_after(self, state: Sequence[Real], z: Real, b: Real, k: Real) -> tuple[list[Real], Real]:
        """Return the filter's state after noisy value ``z``, and the estimate as a number.

        ``b`` is the noise scale. ``k`` is the number of steps since the previous state.
        """
        widest, r = self._widest, 2 * b * b
        new: list[Real] = []
        for n, drift in enumerate(self._drifts):
            m, p, c = state[3 * n : 3 * n + 3]
            p = least(p + drift * k, widest)
            d = z - m
            v = p + 1.25 * b * root(p)
            far = b * abs(d)
            gain = p / most(v, far)
            p = p - p * gain * (far <= v)  # an outlier, beyond v, says nothing about the level's precision
            m = m + gain * d
            h = 1 - gain
            c = c + (h * h * d * d / r + 2 * gain - 1)
            new += (m, p, c)
        return new, cheapest(new[2::3], new[::3])

    def level_drifted(self, state: Sequence[Real], k: Real) -> list[Real]:
        """Return the filter's state after ``k`` steps without a noisy value."""
        moved = [least(state[3 * n + 1] + drift * k, self._widest) for n, drift in enumerate(self._drifts)]
        return [moved[n // 3] if n % 3 == 1 else part for n, part in enumerate(state)]

    @property
    def _widest(self) -> float:
        """The variance of a level of which only the range is known; no state has a larger one."""
        w = self.upper - self.lower
        return w * w / 12

    @property
    def _drifts(self) -> tuple[float, ...]:
        w = self.upper - self.lower
        return tuple([w * w / 16 / 64**j for j in NUMBER_POWERS])

    @property
    def models(self) -> dict[str, Model]:
        """Return the smoothing model; its only part is ""."""
        return {"": Model(self._drifts, (self.lower, self.upper))}

    @property
    def reading(self) -> tuple[object, ...]:
        """Return the parameters that affect how readings are interpreted: all but substitute and clamp."""
        return (self.axis, self.lower, self.upper)

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        axis = self.axis
        return ("number", str(axis.cells_per_unit), str(axis.low), str(axis.high), str(self.sensitivity))

    @property
    def largest_change(self) -> float:
        """Return the largest distance between neighbours, in the value's unit."""
        return self.axis.double(self.sensitivity)

    @property
    def guess(self) -> float:
        """Return the value to assume for suppressed steps: the middle of the range, known from the policy alone."""
        return (self.axis.double(self.axis.low) + self.axis.double(self.axis.high)) / 2

    def best_constant(self, raws: Sequence[Any]) -> float:
        """Return the median of ``raws``, the number with the smallest mean error, known only in hindsight."""
        return median(map(float, raws))

    def error(self, raw: Any, published: Any) -> float:
        """Return the absolute difference between a raw value and a published one."""
        return abs(float(raw) - float(published))

    def expected_error(self, spend_nano: int, *_: object) -> float:
        """Return the mean absolute error of a noisy value, in the value's unit."""
        return mean_noise(self.sensitivity, spend_nano) / float(self.axis.cells_per_unit)

    def noises(self, spend_nano: int, *_: object) -> dict[str, Noise]:
        """Return the law of the noise; its only part is ""."""
        return {"": self.axis.noise(noise_of(self.sensitivity, spend_nano))}

    @property
    def takes_substitute(self) -> bool:
        """Return whether any two values are neighbours, so that a substitute can hide an invalid one."""
        return self.sensitivity >= self.axis.high - self.axis.low

    def keeps(self, former: object) -> bool:
        """Return whether all values that were neighbours under ``former`` still are."""
        if not isinstance(former, Number) or self.takes_substitute:
            return isinstance(former, Number)
        same = (self.lower, self.upper, self.axis) == (former.lower, former.upper, former.axis)
        return same and self.sensitivity >= former.sensitivity

    @property
    def span(self) -> float:
        """Return the width of the range."""
        return self.axis.double(self.axis.high) - self.axis.double(self.axis.low)

    @property
    def beyond(self) -> tuple[float, float]:
        """Return a number below the range, and one above it."""
        width = self.upper - self.lower
        return self.lower - width, self.upper + width

    @property
    def extremes(self) -> tuple[float, float]:
        """Return two raw neighbours as far apart as the guarantee covers, beyond the range if it covers all of it."""
        low = self.axis.low
        return (
            self.beyond if self.takes_substitute else (self.axis.double(low), self.axis.double(low + self.sensitivity))
        )

    distances = AnyKind.distances

    @property
    def adjacent(self) -> tuple[float, float]:
        """Return two raw values whose cells are adjacent."""
        return self.axis.double(self.axis.low), self.axis.double(self.axis.low + 1)

    def is_outside(self, value: object) -> bool:
        """Return whether a raw value is clamped to the range."""
        # PRIVACY: this branches on a raw value. Only whoever holds the input may ask (`replaying/ranges.py`).
        return is_number(value) and isfinite(value) and not self.lower <= value <= self.upper
