"""Faults in what is made from contributors' items, each a replaced piece of the decision path."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from stream_app.privacy.collected.collect import gathered_of
from stream_app.privacy.kinds import Choice, HiddenMean, Kind, Sum
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import Raw, RawCells, ReleasedCells
from tests.verify.faults import unclamped_item, under
from tests.verify.tried import Plant


def gathering(change: Callable[[Kind], Kind]) -> Plant:
    """Plant another kind, and what its steps gather."""

    def changed(policy: Policy) -> Policy:
        assert policy.collect is not None
        kind = change(policy.kind)
        return replace(policy, kind=kind, collect=replace(policy.collect, gathers=gathered_of(kind)))

    return under(changed)


def as_if_replaced(kind: Kind) -> Kind:
    """Return a sum with the noise for one item that is replaced, although one may come or go."""
    assert isinstance(kind, Sum)
    axis = kind.item.axis
    return replace(kind, item=replace(kind.item, sensitivity=axis.high - axis.low))


@dataclass(frozen=True, slots=True)
class ClampedLate(Sum):
    """Adds what was sent, and clamps the sum to the range for that many items."""

    def quantise(self, raw: Raw) -> RawCells | None:
        """Return the cell of a number wherever it is."""
        return unclamped_item(self.item).quantise(raw)

    def gathered(self, total: int, number: int) -> RawCells:
        """Return the sum within the range of sums."""
        return RawCells((max(number * self.item.axis.low, min(total, number * self.item.axis.high)),))


def clamped_late(kind: Kind) -> Kind:
    """Return a sum that is clamped although its items are not."""
    assert isinstance(kind, Sum)
    return ClampedLate(kind.item, kind.replace)


@dataclass(frozen=True, slots=True)
class RawNumber(HiddenMean):
    """Divides the noisy sum by the true number of items."""

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return a noisy sum beside the raw number."""
        return ReleasedCells((HiddenMean.perturb(self, stream, cells, spend_nano)[0], cells[1]))


def raw_number(kind: Kind) -> Kind:
    """Return a mean from the raw count."""
    assert isinstance(kind, HiddenMean)
    return RawNumber(kind.item)


@dataclass(frozen=True, slots=True)
class Largest(Choice):
    """Names the most frequent item without any draw."""

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the first of the most frequent items."""
        del stream, spend_nano
        return ReleasedCells((cells.index(max(cells)),))


def largest(kind: Kind) -> Kind:
    """Return a choice by argmax."""
    assert isinstance(kind, Choice)
    return Largest(kind.items, kind.replace)


def unhalved(kind: Kind) -> Kind:
    """Return a choice with the weights for contributors who come or go, although items are replaced."""
    assert isinstance(kind, Choice)
    return replace(kind, replace=False)
