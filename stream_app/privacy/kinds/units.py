"""Sums, means and shares over a step's units, under discrete Laplace noise.

Sources: Dwork et al. 2006; Ghosh et al. 2009.

Units are protected: all readings of a unit become one cell of the policy's range lo..hi, with D = hi - lo. The number n
of a step's units that have a reading is public. If ``a`` of a step's units differ between two histories, the histories'
totals differ by at most a*D, so noise of rate ``e/(w*D)`` loses at most ``e*a/w``. For any w consecutive units, ``a``
sums to at most w over all steps that contain such units, so these steps together lose at most the largest e.

The cells hold the total and n.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Self, TypeAlias

from stream_app.privacy.kinds.accuracy import UnitAccuracy
from stream_app.privacy.kinds.axis import saturated
from stream_app.privacy.kinds.category import Category
from stream_app.privacy.kinds.default import Count
from stream_app.privacy.kinds.number import Number
from stream_app.privacy.kinds.sums import clamped_mean, nearest, still_means
from stream_app.privacy.noise.mechanisms import discrete_laplace
from stream_app.privacy.noise.moments import Noise, noise_of
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import NANO, LevelState, Raw, RawCells, ReleasedCells, exact, is_number

UnitCell: TypeAlias = tuple[int, int]
"""A unit's start, in ms, and its cell."""


@dataclass(frozen=True, slots=True)
class OfUnits(UnitAccuracy):
    """Base of the statistics over units: ``item`` is the kind of a unit's value, and ``window`` is w, in units."""

    item: Number | Category
    window: int
    statistic: ClassVar[str]

    def with_window(self, window: int) -> Self:
        """Return the statistic that jointly protects ``window`` consecutive units."""
        return replace(self, window=window)

    def quantise(self, raw: Raw) -> RawCells | None:
        """Return the cell of one raw reading; if the reading is invalid, return the substitute or None."""
        return self.item.quantise(raw)

    @property
    def reading(self) -> tuple[object, ...]:
        """Return the parameters that affect how readings are interpreted: all but zone, substitute and clamp."""
        return (self.statistic, *self.item.reading)


@dataclass(frozen=True, slots=True)
class _Total(OfUnits):
    """A total over units; the cells hold the total and the number of units.

    The noise scale and the distance are those of the mean: the total divided by the number.
    """

    item: Number
    width: ClassVar[int] = 2

    @property
    def reach(self) -> int:
        """Return the most by which one unit can change the total: D, but at least 1."""
        return max(1, self.item.axis.high - self.item.axis.low)

    @property
    def sensitivity(self) -> int:
        """Return the most by which w units can change the totals: w*D."""
        return self.window * self.reach

    def tallied(self, units: Iterable[UnitCell]) -> RawCells | None:
        """Return the cells of a step's units, or None if there are no units."""
        cells = [cell for _, cell in units]
        return RawCells((sum(cells), len(cells))) if cells else None

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the total plus discrete Laplace noise of rate ``e / (w*D)``, and the number of units."""
        # PRIVACY: each unit was clamped to the range, so a units change the total by at most a*D, and the noise loses
        # at most e*a/w. All neighbours have the same number of units, because they differ in the readings, not in which
        # units have a reading.
        total, number = cells
        return ReleasedCells((saturated(total + discrete_laplace(stream, spend_nano, self.sensitivity * NANO)), number))

    def scale(self, spend_nano: int, number: int = 1) -> float:
        """Return the noise scale ``w * D * resolution / (e * n)`` in the value's unit."""
        return self.item.axis.width(self.sensitivity * NANO, spend_nano * number)

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether the noise scale exceeds the distance between two means, each over its own number of units."""
        return still_means(self.sensitivity, previous, current, spend_nano)

    def count(self, cells: ReleasedCells) -> int:
        """Return the number of units counted."""
        return cells[1]

    def of_a_cell(self, units: float) -> float:
        """Return the effect of one cell of noise on a release over ``units`` units."""
        return float(1 / self.item.axis.cells_per_unit) / units

    @property
    def largest_change(self) -> float:
        """Return the largest distance between neighbours' totals, in the value's unit."""
        return self.item.axis.double(self.sensitivity)

    def noises(self, spend_nano: int, count: Count = None, *_: object) -> dict[str, Noise]:
        """Return the noise of a release over ``count`` units, or over one unit for None; the only part is ""."""
        units = count if isinstance(count, int) else 1
        return {"": noise_of(self.sensitivity, spend_nano).times(self.of_a_cell(units))}

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        return ("units", self.statistic, str(self.window), *self.item.identity)


@dataclass(frozen=True, slots=True)
class UnitSum(_Total):
    """The sum over a step's units, which has no declared range."""

    statistic: ClassVar[str] = "sum"
    is_sum: ClassVar[bool] = True

    def of_a_cell(self, _units: float) -> float:
        """Return the effect of one cell of noise, whatever the number of units."""
        return float(1 / self.item.axis.cells_per_unit)

    def scale(self, spend_nano: int, _number: int = 1) -> float:
        """Return the noise scale ``w * D * resolution / e`` in the value's unit, whatever the number of units."""
        return self.item.axis.width(self.sensitivity * NANO, spend_nano)

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether the noise scale exceeds the distance between two noisy values."""
        return abs(current[0] - previous[0]) * spend_nano < self.sensitivity * NANO

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return the estimate, which equals the noisy value."""
        return cells

    def publish(self, cells: ReleasedCells) -> float:
        """Return the sum in the value's unit."""
        return self.item.publish(cells)

    def read(self, published: object, count: object = None) -> ReleasedCells:
        """Read a sum over ``count`` units from a release and return its cells."""
        return ReleasedCells((*self.item.read(published), number_of(count)))


@dataclass(frozen=True, slots=True)
class UnitMean(_Total):
    """The mean over a step's units; the estimate lies in the declared range unless ``clamp`` is false."""

    statistic: ClassVar[str] = "mean"

    def filtered(
        self, state: LevelState, cells: ReleasedCells, spend_nano: int, k: float
    ) -> tuple[LevelState, ReleasedCells]:
        """Return the filter's state and the estimate after a noisy value, as for a number.

        The estimate has the resolution of the noisy value, because both are totals over the same number of units.
        """
        number, scale = cells[1], self.scale(spend_nano, cells[1])
        new, chosen = self.item.level_after(state or self.item.level_begun, self.publish(cells), scale, k)
        return tuple(new), ReleasedCells((nearest(self.item, chosen, number), number))

    def drifted(self, state: LevelState, k: float) -> LevelState:
        """Return the filter's state ``k`` steps after the previous one, without a noisy value."""
        return self.item.drifted(state, k)

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return an estimate within the declared range unless ``clamp`` is false."""
        axis = self.item.axis
        return clamped_mean(cells, axis.low, axis.high) if self.item.clamped else cells

    def publish(self, cells: ReleasedCells) -> float:
        """Return the mean, rounded once to a double."""
        return self.item.axis.width(cells[0], cells[1])

    def read(self, published: object, count: object = None) -> ReleasedCells:
        """Read a mean over ``count`` units from a release and return its cells."""
        number = number_of(count)
        return ReleasedCells((nearest(self.item, real_of(published), number), number))


@dataclass(frozen=True, slots=True)
class Share(_Total):
    """The share of a step's units whose cell lies in ``[start, end)``; an estimate lies in 0..1."""

    start: int
    end: int
    statistic: ClassVar[str] = "share"
    error_unit: ClassVar[str] = "as a share of the units"

    @property
    def reach(self) -> int:
        """Return the most by which one unit can change the total: 1, because a unit is in the interval or not."""
        return 1

    def of_a_cell(self, units: float) -> float:
        """Return the effect of one cell of noise on a share of ``units`` units."""
        return 1 / units

    @property
    def largest_change(self) -> int:
        """Return the largest distance between neighbours' totals, in units."""
        return self.sensitivity

    def tallied(self, units: Iterable[UnitCell]) -> RawCells | None:
        """Return how many of a step's units are in the interval and how many units it has.

        The result is None if the step has no units.
        """
        inside = [(self.start <= cell) & (cell < self.end) for _, cell in units]
        return RawCells((sum(inside), len(inside))) if inside else None

    def scale(self, spend_nano: int, number: int = 1) -> float:
        """Return the noise scale ``w / (e * n)``."""
        return self.sensitivity * NANO / (spend_nano * number)

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return an estimate in 0..1 unless ``clamp`` is false."""
        return clamped_mean(cells, 0, 1) if self.item.clamped else cells

    def publish(self, cells: ReleasedCells) -> float:
        """Return the share, rounded once to a double."""
        return cells[0] / cells[1]

    def read(self, published: object, count: object = None) -> ReleasedCells:
        """Read a share of ``count`` units from a release and return its cells."""
        number = number_of(count)
        return ReleasedCells((round(exact(real_of(published)) * number), number))

    @property
    def reading(self) -> tuple[object, ...]:
        """Return the parameters that affect how readings are interpreted, including the interval."""
        return (self.statistic, *self.item.reading, self.start, self.end)

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        return ("units", self.statistic, str(self.window), str(self.start), str(self.end), *self.item.identity)


def number_of(count: object) -> int:
    """Return the number of units that a release counts; raise `TypeError` if it is not a number."""
    if type(count) is not int or count < 1:
        raise TypeError(f"a release of units must count at least one unit, but found {type(count).__name__}")
    return count


def real_of(published: object) -> float:
    """Return the number that a release publishes; raise `TypeError` if it is not a number."""
    if not is_number(published):
        raise TypeError(f"a release of units must contain a number, but found {type(published).__name__}")
    return float(published)
