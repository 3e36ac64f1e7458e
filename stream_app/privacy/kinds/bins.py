"""Statistics of a step's units by bin: histograms of unit values, and sums or means by local time.

Every unit is in one bin. In a histogram, a unit that differs between neighbours moves to another bin. If ``a`` units
differ, the bins therefore change by at most 2*a in L1, and noise of rate ``e/(2*w)`` in each bin loses at most
``e*a/w``. The bin of local time depends on the unit's start, which is public. If ``a`` units differ, their change of
``a*D`` is divided among the bins, and noise of rate ``e/(w*D)`` in each bin loses at most ``e*a/w`` over all bins.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from stream_app.privacy.kinds.accuracy import UnitAccuracy
from stream_app.privacy.kinds.category import Category
from stream_app.privacy.kinds.counts import LARGEST_COUNT
from stream_app.privacy.kinds.default import Count
from stream_app.privacy.kinds.localtime import LocalTime
from stream_app.privacy.kinds.number import Number
from stream_app.privacy.kinds.units import OfUnits, UnitCell, UnitMean, UnitSum, number_of
from stream_app.privacy.noise.mechanisms import discrete_laplace
from stream_app.privacy.noise.moments import Noise, noise_of
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import NANO, Raw, RawCells, ReleasedCells


@dataclass(frozen=True, slots=True)
class Histogram(OfUnits):
    """The number of a step's units in each bin; cells hold these numbers, followed by the total.

    For numbers, ``edges`` (in cells) separate the bins: below the first edge, ``[a, b)`` between two edges, and from
    the last edge on. For categories, the bins are the categories in their order.
    """

    edges: tuple[int, ...] = ()
    statistic: ClassVar[str] = "histogram"
    error_unit: ClassVar[str] = "of a bin, as a share of the units"

    @property
    def bins(self) -> int:
        """Return the number of bins."""
        return len(self.item.categories) if isinstance(self.item, Category) else len(self.edges) + 1

    @property
    def sensitivity(self) -> int:
        """Return the largest L1 change that w units can make to the bins: each leaves one bin and enters another."""
        return 2 * self.window

    @property
    def largest_change(self) -> int:
        """Return the largest L1 distance between neighbours, in units."""
        return self.sensitivity

    def of_a_cell(self, units: float) -> float:
        """Return the effect of one cell of noise on a bin as a share of ``units`` units."""
        return 1 / units

    def noises(self, spend_nano: int, *_: object) -> dict[str, Noise]:
        """Return the law of the noise by bin: by name for categories, "0", "1".. between edges."""
        return dict.fromkeys(self.names or map(str, range(self.bins)), noise_of(self.sensitivity, spend_nano))

    def tallied(self, units: Iterable[UnitCell]) -> RawCells | None:
        """Return the number of a step's counted units in each bin, and their total, or None if there are none."""
        found = [0] * self.bins
        for _, cell in units:
            found[cell if isinstance(self.item, Category) else bisect_right(self.edges, cell)] += 1
        number = sum(found)
        return RawCells((*found, number)) if number else None

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return each bin plus discrete Laplace noise of rate ``e / (2*w)``, followed by the number of units."""
        # PRIVACY: if a units hold other values, the bins change by 2*a in L1, so the noise loses at most e*a/w. The
        # number of units is the same for all neighbours.
        *bins, number = cells
        noisy = [cell + discrete_laplace(stream, spend_nano, self.sensitivity * NANO) for cell in bins]
        return ReleasedCells((*(max(-LARGEST_COUNT, min(cell, LARGEST_COUNT)) for cell in noisy), number))

    def scale(self, spend_nano: int, _number: int = 1) -> float:
        """Return the noise scale of a bin, ``2 * w / e``."""
        return self.sensitivity * NANO / spend_nano

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether ``bins * 2 * w / e`` exceeds the L1 distance between two measurements."""
        pairs = zip(list(current)[:-1], list(previous)[:-1], strict=True)
        change = sum(abs(new - old) for new, old in pairs)
        return self.bins * self.sensitivity * NANO > change * spend_nano

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return an estimate without negative numbers (unless ``clamp`` is false)."""
        return ReleasedCells(tuple(max(0, cell) for cell in list(cells))) if self.item.clamped else cells

    def publish(self, cells: ReleasedCells) -> list[int] | dict[str, int]:
        """Return the numbers in the order of the bins, or by name for categories."""
        bins = list(cells)[:-1]
        names = self.names
        return dict(zip(names, bins, strict=True)) if names else bins

    def read(self, published: object, count: object = None) -> ReleasedCells:
        """Read a histogram over ``count`` units from a release and return its cells."""
        names = self.names
        if names and isinstance(published, Mapping):
            published = [published[name] for name in names]
        if not isinstance(published, list) or len(published) != self.bins:
            raise TypeError(f"a histogram release must contain {self.bins} bins, but found {type(published).__name__}")
        return ReleasedCells((*map(int, published), number_of(count)))

    def count(self, cells: ReleasedCells) -> int:
        """Return the number of units counted."""
        return cells[-1]

    @property
    def reading(self) -> tuple[object, ...]:
        """Return the parameters that affect how readings are interpreted, including the edges."""
        return (self.statistic, *self.item.reading, self.edges)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the categories' names in a release; numbers have no such names."""
        return named(self.item) if isinstance(self.item, Category) else ()

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        return ("units", self.statistic, str(self.window), " ".join(map(str, self.edges)), *self.item.identity)

    @property
    def width(self) -> int:
        """Return the number of cells in a value."""
        return self.bins + 1


@dataclass(frozen=True, slots=True)
class ByBins(UnitAccuracy):
    """A sum or a mean for each bin of local time; cells alternate between a bin's total and unit count.

    Bins without a unit have no noise and do not appear in the release.
    """

    of: UnitSum | UnitMean
    local: LocalTime
    error_unit: ClassVar[str] = "of a bin, in the value's unit"

    def with_window(self, window: int) -> Self:
        """Return the statistic that jointly protects ``window`` consecutive units."""
        return replace(self, of=self.of.with_window(window))

    @property
    def is_sum(self) -> bool:  # type: ignore[override]
        """Return whether this is a sum, whose accuracy more units do not improve."""
        return self.of.is_sum

    @property
    def largest_change(self) -> float:
        """Return the largest L1 distance between neighbours' totals, in the value's unit."""
        return self.of.largest_change

    def of_a_cell(self, units: float) -> float:
        """Return the effect of one cell of noise on a bin, if ``units`` units are divided equally among the bins."""
        return self.of.of_a_cell(units / len(self.local.names))

    def noises(self, spend_nano: int, count: Count = None, *_: object) -> dict[str, Noise]:
        """Return the law of the noise by bin; ``count`` gives the number of units in each bin that has any."""
        count = count if isinstance(count, Mapping) else {}
        return {name: noise for name in sorted(count) for noise in self.of.noises(spend_nano, count[name]).values()}

    def accepts(self, count: Count) -> bool:
        """Return whether a release may have this count: a number of units by bin; None stands for no bins."""
        return not isinstance(count, int)

    @property
    def reading(self) -> tuple[object, ...]:
        """Return the parameters that affect how readings are interpreted, including the division by local time."""
        return (self.local.by, *self.of.reading)

    def quantise(self, raw: Raw) -> RawCells | None:
        """Return the cell of one raw reading; for an invalid reading, return the substitute or None."""
        return self.of.quantise(raw)

    def tallied(self, units: Iterable[UnitCell]) -> RawCells | None:
        """Return the total and the number of counted units in each bin, or None if there are no such units."""
        found = [0] * self.width
        for start_ms, cell in units:
            at = 2 * self.local.bin_of(start_ms)
            found[at] += cell
            found[at + 1] += 1
        return RawCells(tuple(found)) if any(found[1::2]) else None

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return each bin's total, plus discrete Laplace noise of rate ``e / (w*D)`` if the bin has a unit."""
        # PRIVACY: a unit's start, which is public, determines its bin. So a units that differ change the totals by a*D
        # in L1 together, and the noise loses at most e*a/w. The numbers of units are the same for all neighbours.
        noisy: list[int] = []
        for total, number in _pairs(list(cells)):
            noisy += self.of.perturb(stream, RawCells((total, number)), spend_nano) if number else (0, 0)
        return ReleasedCells(tuple(noisy))

    def scale(self, spend_nano: int, number: int = 1) -> float:
        """Return the noise scale of a bin with ``number`` units, in the value's unit."""
        return self.of.scale(spend_nano, number)

    def still(self, _previous: ReleasedCells, _current: ReleasedCells, _spend_nano: int) -> bool:
        """Raise an error: no scheme with a sampling rate supports bins."""
        raise AssertionError("a statistic by local time has no sampling rate")

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return the estimates; means are clamped to the declared range (unless ``clamp`` is false)."""
        clamped: list[int] = []
        for total, number in _pairs(list(cells)):
            clamped += self.of.clamp(ReleasedCells((total, number))) if number else (0, 0)
        return ReleasedCells(tuple(clamped))

    def publish(self, cells: ReleasedCells) -> dict[str, float]:
        """Return the number for each bin, omitting bins without units."""
        return {name: self.of.publish(part) for name, part in self._parts(cells)}

    def read(self, published: object, count: object = None) -> ReleasedCells:
        """Return the cells from a release; ``count`` is the number of units in each of the release's bins."""
        if not isinstance(published, Mapping) or not isinstance(count, Mapping) or set(published) != set(count):
            raise TypeError(
                "a release by local time must contain an object of numbers and an object of counts, with the same bins"
            )
        cells: list[int] = []
        for name in self.local.names:
            cells += self.of.read(published[name], count[name]) if name in count else (0, 0)
        return ReleasedCells(tuple(cells))

    def count(self, cells: ReleasedCells) -> dict[str, int]:
        """Return the number of units counted, by bin."""
        return {name: part[1] for name, part in self._parts(cells)}

    def _parts(self, cells: ReleasedCells) -> list[tuple[str, ReleasedCells]]:
        pairs = zip(self.local.names, _pairs(list(cells)), strict=True)
        return [(name, ReleasedCells(pair)) for name, pair in pairs if pair[1]]

    @property
    def item(self) -> Number:
        """Return the kind of a unit's value."""
        return self.of.item

    @property
    def sensitivity(self) -> int:
        """Return the largest L1 change that w units can make to the totals: w*D."""
        return self.of.sensitivity

    @property
    def statistic(self) -> str:
        """Return the statistic's name."""
        return self.of.statistic

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        return (self.local.by, repr(self.local.transitions), *self.of.identity)

    @property
    def width(self) -> int:
        """Return the number of cells in a value."""
        return 2 * len(self.local.names)


def named(kind: Category) -> tuple[str, ...]:
    """Return the categories as member names in a JSON object."""
    return tuple([str(name).lower() if isinstance(name, bool) else name for name in kind.categories])


def _pairs(cells: list[int]) -> list[tuple[int, int]]:
    return list(zip(cells[::2], cells[1::2], strict=True))
