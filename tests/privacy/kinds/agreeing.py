"""Kinds with chosen noise: the real mechanism draws exactly what leads from a value to a given measurement.

The bits of a draw are computed backwards: `perturb` of the real kind runs on them, so everything around it is real.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import repeat
from math import exp
from typing import assert_never

from stream_app.privacy.kinds import (
    ByBins,
    Category,
    Choice,
    Counts,
    HiddenMean,
    Histogram,
    Kind,
    Location,
    Mean,
    Number,
    Share,
    Sum,
    UnitMean,
    UnitSum,
    Vector,
)
from stream_app.privacy.noise.mechanisms import HALF_ROOT
from stream_app.privacy.noise.randomness import FAST_BITS, BitStream
from stream_app.privacy.values import RawCells, ReleasedCells
from tests.privacy.noise.bits import GivenBits

NANO = 10**9
Targets = Iterator[tuple[int, ...]]
Perturb = Callable[[BitStream, RawCells, int], ReleasedCells]


def bits_of(noise: int, rate: float) -> int:
    """Return a draw from which discrete Laplace makes this noise at this rate."""
    top = int(exp(-(abs(noise) + 0.5) * rate) * 2.0**FAST_BITS)
    assert top > 0, "noise too far out to be chosen"
    return top << 1 | (noise < 0)


def _none() -> Targets:
    return iter(())


def _led(perturb: Perturb, targets: Targets, cells: RawCells, nano: int, rates: Iterable[float]) -> ReleasedCells:
    """Return a mechanism's measurement from the exact noise, of these rates, that leads to the next target."""
    target = next(targets)
    noises = [to - cell for to, cell in zip(target, cells, strict=True)]
    measured = perturb(GivenBits(*map(bits_of, noises, rates)), cells, nano)
    assert measured == target
    return measured


@dataclass(frozen=True, slots=True)
class AgreeingNumber(Number):
    """A number whose next measurement is given."""

    targets: Targets = field(default_factory=_none, compare=False)

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Draw the noise that leads to the next target."""
        del stream
        rates = [spend_nano / (self.sensitivity * NANO)]
        return _led(partial(Number.perturb, self), self.targets, cells, spend_nano, rates)


@dataclass(frozen=True, slots=True)
class AgreeingCounts(Counts):
    """Counts whose next measurement is given."""

    targets: Targets = field(default_factory=_none, compare=False)

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Draw the noise that leads to the next target."""
        del stream
        rates = repeat(spend_nano / (self.sensitivity * NANO))
        return _led(partial(Counts.perturb, self), self.targets, cells, spend_nano, rates)


@dataclass(frozen=True, slots=True)
class AgreeingLocation(Location):
    """A location whose next measurement is given."""

    targets: Targets = field(default_factory=_none, compare=False)

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Draw the noise that leads to the next target."""
        del stream
        target = next(self.targets)
        rate = float(self.rate_per_nano * spend_nano * HALF_ROOT)
        accepted = 0  # the smallest draw: every proposal is taken
        bits = GivenBits(*(bits_of(to - cell, rate) for to, cell in zip(target, cells, strict=True)), accepted)
        measured = Location.perturb(self, bits, cells, spend_nano)
        assert measured == target
        return measured


@dataclass(frozen=True, slots=True)
class AgreeingCategory(Category):
    """A category whose next answer is given."""

    targets: Targets = field(default_factory=_none, compare=False)

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Answer the next target: the truth, or the other answer that it takes."""
        del stream
        target = next(self.targets)
        if target[0] == cells[0]:
            bits = GivenBits(0)
        else:
            bits = GivenBits((1 << FAST_BITS) - 1, target[0] - (target[0] > cells[0]))
        measured = Category.perturb(self, bits, cells, spend_nano)
        assert measured == target
        return measured


@dataclass(frozen=True, slots=True)
class AgreeingVector(Vector):
    """A vector whose next measurement is given."""

    targets: Targets = field(default_factory=_none, compare=False)

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Draw the noise that leads to the next target."""
        del stream
        rates = [spend_nano / (part.sensitivity * NANO) for part in self.parts]
        return _led(partial(Vector.perturb, self), self.targets, cells, spend_nano, rates)


@dataclass(frozen=True, slots=True)
class AgreeingHiddenMean(HiddenMean):
    """A mean of a hidden number of items, whose next measurement is given."""

    targets: Targets = field(default_factory=_none, compare=False)

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Draw the noises that lead to the next target."""
        del stream
        half_nano = spend_nano // 2
        rates = half_nano / (self.item.sensitivity * NANO), (spend_nano - half_nano) / NANO
        return _led(partial(HiddenMean.perturb, self), self.targets, cells, spend_nano, rates)


def agreeing(kind: Kind, targets: Targets) -> Kind:
    """Return the kind with its next measurements given."""
    parts = {part.name: getattr(kind, part.name) for part in fields(kind) if part.init}
    match kind:
        case Number():
            return AgreeingNumber(**parts, targets=targets)
        case Counts():
            return AgreeingCounts(**parts, targets=targets)
        case Location():
            return AgreeingLocation(**parts, targets=targets)
        case Category():
            return AgreeingCategory(**parts, targets=targets)
        case Vector():
            return AgreeingVector(**parts, targets=targets)
        case Sum() | Mean():
            item = agreeing(kind.item, ((target[0],) for target in targets))
            assert isinstance(item, Number)
            return replace(kind, item=item)
        case Choice():
            raise AssertionError("its draw has no noise to choose")
        case UnitSum() | UnitMean() | Share() | Histogram() | ByBins():
            raise AssertionError("its histories are enumerated in tests/privacy/units")
        case HiddenMean():
            return AgreeingHiddenMean(**parts, targets=targets)
        case _:
            assert_never(kind)
