"""Faults in unit statistics, each a replaced piece of the decision path."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stream_app.deciding.units import taking
from stream_app.privacy.guard import Guard
from stream_app.privacy.kinds import ByBins, Histogram, Kind, UnitMean, UnitStatistic
from stream_app.privacy.kinds.units import UnitCell
from stream_app.privacy.landmarks import NO_LANDMARKS, LandmarkSet
from stream_app.privacy.noise.mechanisms import discrete_laplace
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.policy import Policy
from stream_app.privacy.units import steps
from stream_app.privacy.units.readings import OpenUnit
from stream_app.privacy.values import NANO, RawCells, ReleasedCells
from tests.verify.faults import of_kind, patched


def _without_window(kind: Kind) -> Kind:
    assert isinstance(kind, UnitStatistic)
    return replace(kind, of=replace(kind.of, window=1)) if isinstance(kind, ByBins) else replace(kind, window=1)


@dataclass(frozen=True, slots=True)
class OneBin(Histogram):
    """Has the noise for a unit that comes or goes, although one moves to another bin."""

    @property
    def sensitivity(self) -> int:
        """Return half of the change that w units cause."""
        return self.window


def _one_bin(kind: Kind) -> Kind:
    assert isinstance(kind, Histogram)
    return OneBin(kind.item, kind.window, kind.edges)


@dataclass(frozen=True, slots=True)
class DividedTwice(UnitMean):
    """Draws the noise of a mean, and divides it by the number of units a second time."""

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the total with noise whose scale is too small by a factor of the number of units."""
        total, number = cells
        noise = discrete_laplace(stream, spend_nano * number, self.sensitivity * NANO)
        return ReleasedCells((total + noise, number))


def _divided_twice(kind: Kind) -> Kind:
    assert isinstance(kind, UnitMean)
    return DividedTwice(kind.item, kind.window)


def _with_landmarks(policy: Policy, _landmarks: LandmarkSet, index: int, units: Sequence[OpenUnit]) -> RawCells | None:
    return _TALLIED(policy, NO_LANDMARKS, index, units)


def _last_twice(*parts: Any) -> Iterator[UnitCell]:
    cells = list(_COUNTED(*parts))
    yield from (*cells, *cells[-1:])


def _charged_once(guard: Guard, window: int, units: int) -> Guard | None:
    return _CHARGED(guard, window, min(units, 1))


_TALLIED, _COUNTED, _CHARGED = steps.tallied, steps._counted, Guard.charge_units  # noqa: SLF001 (what faults replace)

noise_without_window = of_kind(_without_window)
one_for_two_bins = of_kind(_one_bin)
noise_divided_twice = of_kind(_divided_twice)
landmarks_counted = patched(taking, tallied=_with_landmarks)
unit_counted_twice = patched(steps, _counted=_last_twice)
late_units_charged_once = patched(Guard, charge_units=_charged_once)
late_units_uncharged = patched(Guard, charge_units=lambda guard, *_: guard)
