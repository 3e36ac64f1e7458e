"""Sums, means and shares over the units of a step, under discrete Laplace noise (Dwork et al. 2006; Ghosh et al. 2009).

A unit is what is protected: all that was read in it is one cell of the policy's range, lo..hi, D = hi - lo. How many
units of a step have a reading, n, is public. Histories that differ in a units of a step have totals at most a*D apart,
so noise of rate ``e/(w*D)`` loses at most ``e*a/w``. Any w units in a row have a's that add up to at most w, over all
steps that they meet: together they lose at most the largest e.

Cells hold the total and n.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from stream_app.privacy.kinds.axis import saturated
from stream_app.privacy.kinds.category import Category
from stream_app.privacy.kinds.number import Number
from stream_app.privacy.kinds.sums import clamped_mean, nearest, still_means
from stream_app.privacy.noise.mechanisms import discrete_laplace
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import NANO, Raw, RawCells, ReleasedCells, exact, is_number

UnitCell: TypeAlias = tuple[int, int]
"""When a unit starts, in ms, and the cell that it holds."""
Count: TypeAlias = int | dict[str, int]
"""How many units a release counts, in all or by bin."""


@dataclass(frozen=True, slots=True)
class OfUnits:
    """What statistics of units have in common: ``item`` is what a unit holds, ``window`` is w, in units."""

    item: Number | Category
    window: int

    def quantise(self, raw: Raw) -> RawCells | None:
        """Return the cell of one raw reading; the substitute, or None, when it is invalid."""
        return self.item.quantise(raw)


@dataclass(frozen=True, slots=True)
class _Total(OfUnits):
    """A total over units; cells hold it, and the number of units. Scale and distance are those of the mean of both."""

    item: Number
    statistic: ClassVar[str]
    width: ClassVar[int] = 2

    @property
    def reach(self) -> int:
        """Return how far one unit moves the total: D, at least 1."""
        return max(1, self.item.axis.high - self.item.axis.low)

    @property
    def sensitivity(self) -> int:
        """Return how far w units move totals: w*D."""
        return self.window * self.reach

    def tallied(self, units: Iterable[UnitCell]) -> RawCells | None:
        """Return the cells of a step's units that count, or None: there is none."""
        cells = [cell for _, cell in units]
        return RawCells((sum(cells), len(cells))) if cells else None

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the total plus discrete Laplace noise of rate ``e / (w*D)``, and the number of units."""
        # PRIVACY: each unit was brought to the range, so a units move the total by at most a*D, and the noise loses at
        # most e*a/w. The number of units is the same for all neighbours: these differ in what is read, not where.
        total, number = cells
        return ReleasedCells((saturated(total + discrete_laplace(stream, spend_nano, self.sensitivity * NANO)), number))

    def scale(self, spend_nano: int, number: int = 1) -> float:
        """Return the noise scale ``w * D * resolution / (e * n)`` in the value's unit."""
        return self.item.axis.width(self.sensitivity * NANO, spend_nano * number)

    def scales(self, spend_nano: int, cells: ReleasedCells) -> float:
        """Return the noise scale as it stands in a release."""
        return self.scale(spend_nano, cells[1])

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether the noise scale exceeds the distance of two measurements, each over its own number."""
        return still_means(self.sensitivity, previous, current, spend_nano)

    def count(self, cells: ReleasedCells) -> Count:
        """Return how many units were counted."""
        return cells[1]

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        return ("units", self.statistic, str(self.window), *self.item.identity)


@dataclass(frozen=True, slots=True)
class UnitSum(_Total):
    """The sum over a step's units, which has no declared range."""

    statistic: ClassVar[str] = "sum"

    def scale(self, spend_nano: int, _number: int = 1) -> float:
        """Return the noise scale ``w * D * resolution / e`` in the value's unit, whatever the number of units."""
        return self.item.axis.width(self.sensitivity * NANO, spend_nano)

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether the noise scale exceeds the distance of two measurements."""
        return abs(current[0] - previous[0]) * spend_nano < self.sensitivity * NANO

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return the estimate, which is the measurement."""
        return cells

    def publish(self, cells: ReleasedCells) -> float:
        """Return the number of a sum."""
        return self.item.publish(cells)

    def read(self, published: object, count: object = 1) -> ReleasedCells:
        """Return the cells of a sum from a release that counts so many units."""
        return ReleasedCells((*self.item.read(published), number_of(count)))


@dataclass(frozen=True, slots=True)
class UnitMean(_Total):
    """The mean over a step's units; the estimate lies in the declared range (unless ``clamp`` is false)."""

    statistic: ClassVar[str] = "mean"

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return an estimate within the declared range."""
        axis = self.item.axis
        return clamped_mean(cells, axis.low, axis.high) if self.item.clamped else cells

    def publish(self, cells: ReleasedCells) -> float:
        """Return the mean, rounded once to a double."""
        return self.item.axis.width(cells[0], cells[1])

    def read(self, published: object, count: object = 1) -> ReleasedCells:
        """Return the cells of a mean over so many units from a release."""
        number = number_of(count)
        return ReleasedCells((nearest(self.item, real_of(published), number), number))


@dataclass(frozen=True, slots=True)
class Share(_Total):
    """The share of a step's units that hold a cell in ``[start, end)``; an estimate lies in 0..1."""

    start: int
    end: int
    statistic: ClassVar[str] = "share"

    @property
    def reach(self) -> int:
        """Return how far one unit moves the total: it is among the units in the interval, or not."""
        return 1

    def tallied(self, units: Iterable[UnitCell]) -> RawCells | None:
        """Return how many of a step's units lie in the interval, and how many count; None: there is none."""
        inside = [(self.start <= cell) & (cell < self.end) for _, cell in units]
        return RawCells((sum(inside), len(inside))) if inside else None

    def scale(self, spend_nano: int, number: int = 1) -> float:
        """Return the noise scale ``w / (e * n)``."""
        return self.sensitivity * NANO / (spend_nano * number)

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return an estimate in 0..1 (unless ``clamp`` is false)."""
        return clamped_mean(cells, 0, 1) if self.item.clamped else cells

    def publish(self, cells: ReleasedCells) -> float:
        """Return the share, rounded once to a double."""
        return cells[0] / cells[1]

    def read(self, published: object, count: object = 1) -> ReleasedCells:
        """Return the cells of a share of so many units from a release."""
        number = number_of(count)
        return ReleasedCells((round(exact(real_of(published)) * number), number))

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        return ("units", self.statistic, str(self.window), str(self.start), str(self.end), *self.item.identity)


def number_of(count: object) -> int:
    """Return the number of units that a release counts; raises `TypeError` where it is none."""
    if type(count) is not int or count < 1:
        raise TypeError(f"a release of units must count at least one unit, but found {type(count).__name__}")
    return count


def real_of(published: object) -> float:
    """Return the number of a release; raises `TypeError` where it is none."""
    if not is_number(published):
        raise TypeError(f"a release of units must contain a number, but found {type(published).__name__}")
    return float(published)
