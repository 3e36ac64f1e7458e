"""Sums and means over contributors' items, under discrete Laplace noise.

Sources: Dwork et al. 2006; Ghosh et al. 2009. An item is a number on the policy's grid, rounded and clamped to its
range before it is added, so that no item changes a sum by more than the range allows. Let lo..hi be the cells of the
range and c = (lo + hi) // 2. Neighbours differ in one item in a step:

* ``replace``: one item is replaced; the number of items is public. A sum of cells changes by at most hi - lo.
* ``add-remove``: a contributor takes part or does not. The sum of cells k changes by at most max(|lo|, |hi|), the sum
  of k - c by at most max(hi - c, c - lo), and the number of items by one.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any, ClassVar, Final

from stream_app.privacy.kinds.default import AnyKind, Count
from stream_app.privacy.kinds.number import Number
from stream_app.privacy.noise.law import mean_noise
from stream_app.privacy.noise.moments import Noise, noise_of
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import NANO, Raw, RawCells, ReleasedCells, exact

LARGEST_ITEM: Final = 2**31
"""Largest absolute size of an item, in cells: a 64-bit counter holds the sum of 2^31 such items."""


@dataclass(frozen=True, slots=True)
class OfItems(AnyKind):
    """Base of the statistics over contributors' items.

    ``item.sensitivity`` is D: neighbours' sums differ by at most D.
    """

    item: Number
    error_unit: ClassVar[str] = "in the value's unit, divided by the number of items"
    takes_substitute: ClassVar[bool] = False

    def keeps(self, former: object) -> bool:
        """Return whether all items that were neighbours under ``former`` still are."""
        # Any two items are neighbours whatever the range, or participation is hidden.
        return isinstance(former, OfItems)

    def quantise(self, raw: Raw) -> RawCells | None:
        """Return the cell of one raw item, or None if the item is not a finite number."""
        return self.item.quantise(raw)

    def released(self, found: Mapping[str, Any]) -> tuple[ReleasedCells, ReleasedCells]:
        """Return the noisy value and the estimate, which follows from it, from the JSON of a published release."""
        measurement = self.read(found["measurement"], found.get("count"))
        return measurement, self.clamp(measurement)

    @abstractmethod
    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return the estimate for a noisy value."""


@dataclass(frozen=True, slots=True)
class _PublicNumber(OfItems):
    """Base of the statistics over a public number of items, in which only the sum has noise."""

    @property
    def largest_change(self) -> float:
        """Return the largest distance between neighbours' sums, in the value's unit."""
        return self.item.largest_change

    def expected_error(self, spend_nano: int, intrusion_nano: int | None = None) -> float:
        """Return the mean absolute error of a noisy sum, in a step without an announced intrusion."""
        return mean_noise(self.item.sensitivity, spend_nano, intrusion_nano) / float(self.item.axis.cells_per_unit)

    def noises(
        self, spend_nano: int, count: Count = None, intrusion_nano: int | None = None, looks: int = 0
    ) -> dict[str, Noise]:
        """Return the law of the noise; its only part is "". ``count`` is the number of items in a mean."""
        total = self.item.axis.noise(noise_of(self.item.sensitivity, spend_nano, intrusion_nano, looks))
        return {"": total.times(1 / self._divisor(count))}

    def _divisor(self, _count: Count) -> int:
        """Return the number by which a sum over ``count`` items is divided."""
        return 1


@dataclass(frozen=True, slots=True)
class Sum(_PublicNumber):
    """The sum of a step's items; the cells hold this sum.

    In memory, ``centre`` is subtracted from each item, and `gathered` adds it back, but only if the number of items is
    public.
    """

    replace: bool
    centre: int = 0
    clamped: bool = False
    substitute: RawCells | None = None
    statistic: ClassVar[str] = "sum"
    error_unit: ClassVar[str] = "of the sum, in the value's unit"
    width: ClassVar[int] = 1

    def gathered(self, total: int, number: int) -> RawCells:
        """Return the cells of a step; ``total`` is the sum of its ``number`` items, each minus the centre."""
        return RawCells((total + number * self.centre,))

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the sum plus discrete Laplace noise of rate ``e / D``; the loss is at most ``spend_nano``."""
        # PRIVACY: each item was clamped before it was added, so the sums of neighbours differ by at most D, and noise
        # of rate e/D makes no output more than exp(e) times likelier under either sum.
        return self.item.perturb(stream, cells, spend_nano)

    def scale(self, spend_nano: int) -> float:
        """Return the noise scale ``D * resolution / e`` in the value's unit."""
        return self.item.scale(spend_nano)

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether the noise scale exceeds the distance between two noisy values."""
        return self.item.still(previous, current, spend_nano)

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return the estimate, which equals the noisy value because a sum has no declared range."""
        return cells

    def publish(self, cells: ReleasedCells) -> float:
        """Return the cells of a sum as a number."""
        return self.item.publish(cells)

    def read(self, published: object, _count: object = None) -> ReleasedCells:
        """Read a sum from a release and return its cells."""
        return self.item.read(published)

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        return identity_of(self)


@dataclass(frozen=True, slots=True)
class Mean(_PublicNumber):
    """The mean of a step's items, whose number n is public; the cells hold the items' sum and n.

    A step without items counts as having one item, c.
    """

    centre: int = 0
    clamped: bool = True
    substitute: RawCells | None = None
    replace: ClassVar[bool] = True
    statistic: ClassVar[str] = "mean"
    width: ClassVar[int] = 2

    def gathered(self, total: int, number: int) -> RawCells:
        """Return the cells of a step; ``total`` is the sum of its ``number`` items, each minus the centre."""
        return RawCells((total + (number * self.centre if number else middle(self.item)), number))

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the sum plus discrete Laplace noise of rate ``e / D``, and the number of items.

        The loss is at most ``spend_nano``.
        """
        # PRIVACY: same argument as for a sum. All neighbours have the same number of items, because they differ by
        # replacing one.
        total, number = cells
        return ReleasedCells((*self.item.perturb(stream, RawCells((total,)), spend_nano), number))

    def scale(self, spend_nano: int, count: Count = None) -> float:
        """Return the noise scale ``D * resolution / (e * n)`` in the value's unit, by default for one item."""
        return self.item.axis.width(self.item.sensitivity * NANO, spend_nano * self._divisor(count))

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether the noise scale exceeds the distance between two means, each over its own number of items."""
        return still_means(self.item.sensitivity, previous, current, spend_nano)

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return an estimate within the declared range unless ``clamp`` is false."""
        return clamped_mean(cells, self.item.axis.low, self.item.axis.high) if self.clamped else cells

    def publish(self, cells: ReleasedCells) -> float:
        """Return the mean, the sum divided by the number, rounded once to a double."""
        total, number = cells
        return self.item.axis.width(total, max(1, number))

    def read(self, published: object, count: object = None) -> ReleasedCells:
        """Return the cells of a mean over ``count`` items, read from a release."""
        if not isinstance(published, float | int) or type(count) is not int:
            found = f"{type(published).__name__} and {type(count).__name__}"
            raise TypeError(f"a mean's release must contain a number and a count, but found {found}")
        return ReleasedCells((nearest(self.item, float(published), max(1, count)), count))

    def count(self, cells: ReleasedCells) -> int:
        """Return the number of items."""
        return cells[1]

    def stated(self, spend_nano: int, count: Count) -> float:
        """Return the noise scale that a release over ``count`` items states."""
        return self.scale(spend_nano, count)

    def _divisor(self, count: Count) -> int:
        return count if isinstance(count, int) and count else 1

    @property
    def span(self) -> float:
        """Return the width of an item's range."""
        return self.item.span

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        return identity_of(self)


def middle(item: Number) -> int:
    """Return c, the cell in the middle of an item's range, rounded down."""
    return (item.axis.low + item.axis.high) // 2


def reach(item: Number) -> int:
    """Return the largest distance, in cells, of an item from the middle of its range."""
    return max(item.axis.high - middle(item), middle(item) - item.axis.low)


def nearest(item: Number, number: float, parts: int) -> int:
    """Return the whole number of cells that, divided by ``parts``, is closest to ``number``.

    The result is exact below 2^50.
    """
    return floor(exact(number) * item.axis.cells_per_unit * parts + Fraction(1, 2))


def still_means(sensitivity: int, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
    """Return whether the noise scale exceeds the distance between two means.

    Each mean is a total divided by its own number.
    """
    (old, before), (new, number) = previous, current
    before, number = max(1, before), max(1, number)
    return sensitivity * NANO * before > abs(new * before - old * number) * spend_nano


def clamped_mean(cells: ReleasedCells, low: int, high: int) -> ReleasedCells:
    """Return the total and the number, with their mean clamped to ``low .. high``; a number below 1 counts as 1."""
    total, number = cells
    return ReleasedCells((max(low * max(1, number), min(total, high * max(1, number))), number))


def identity_of(kind: Any) -> tuple[str, ...]:
    """Return every parameter of the mechanism that a statistic over items uses."""
    return (kind.statistic, "replace" if kind.replace else "add-remove", str(kind.centre), *kind.item.identity)
