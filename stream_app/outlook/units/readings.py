"""What data add to a plan: true statistics, the constant baseline, and how long values are remembered.

PRIVACY: raw values are read here, under no guarantee. The results are only for people who have the values anyway:
commands that show them say so, and no policy takes anything from them automatically.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_app.privacy.collected.within import Aggregate
from stream_app.privacy.kinds import Category, Histogram, Number, UnitStatistic
from stream_app.privacy.values import Raw, ReleasedCells

FORGOTTEN: Final = 0.5  # the autocorrelation below which values count as forgotten
FEWEST_PAIRS: Final = 20  # fewest pairs of readings at a lag to use its autocorrelation
HALF: Final = 2  # a step with under half of the fullest one's units is not compared: data began or ended in it


class Truth(NamedTuple):
    """The true statistics of one series over equal spans."""

    units: tuple[int, ...]  # how many units each one covers
    constant_error: float  # mean absolute error of the best constant, in the unit of `unit_error`


@dataclass(frozen=True, slots=True)
class SeriesReadings:
    """The valid readings of one series, in time order; cells are those of the policy's kind."""

    item: Number | Category = field(repr=False)  # the kind that a unit holds
    aggregate: Aggregate
    offset_ms: int
    times_ms: NDArray[np.int64] = field(repr=False)
    cells: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(
        cls, kind: UnitStatistic, aggregate: Aggregate, offset_ms: int, readings: Iterable[tuple[int, Raw]]
    ) -> "SeriesReadings":
        """Return the readings of a series, excluding invalid ones and those before the offset."""
        found: dict[int, int] = {}
        for at_ms, value in readings:
            cells = kind.quantise(value)
            if cells is not None and at_ms >= offset_ms:
                found.setdefault(at_ms, cells[0])
        times = sorted(found)
        cells_of = np.array([found[at_ms] for at_ms in times], np.int64)
        return cls(kind.item, aggregate, offset_ms, np.array(times, np.int64), cells_of)

    def units(self, unit_ms: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the start of each unit with a reading, and the unit's cell."""
        if not len(self.times_ms):
            return self.times_ms, self.cells
        index = (self.times_ms - self.offset_ms) // unit_ms
        begins = np.flatnonzero(np.concatenate(([True], index[1:] != index[:-1])))
        ends = np.append(begins[1:], len(index))
        match self.aggregate:
            case "last":
                held = self.cells[ends - 1]
            case "max":
                held = np.maximum.reduceat(self.cells, begins)
            case "sum":
                held = np.add.reduceat(self.cells, begins)
            case "mean":  # floor(sum / count + 1/2)
                held = (2 * np.add.reduceat(self.cells, begins) + (ends - begins)) // (2 * (ends - begins))
        held = held.clip(self.item.axis.low, self.item.axis.high) if isinstance(self.item, Number) else held
        return self.offset_ms + index[begins] * unit_ms, held

    def truths(self, kind: UnitStatistic, unit_ms: int, span_ms: int) -> list[Truth]:
        """Return the true statistics over spans, as one `Truth`; empty if fewer than two spans have enough units."""
        starts, held = self.units(unit_ms)
        if not len(starts):
            return []
        step = (starts - self.offset_ms) // span_ms
        begins = np.flatnonzero(np.concatenate(([True], step[1:] != step[:-1])))
        ends = np.append(begins[1:], len(step))
        enough = HALF * (ends - begins) >= (ends - begins).max()
        values, counts = [], []
        for begin, end in zip(begins[enough], ends[enough], strict=True):
            tallied = kind.tallied(zip(map(int, starts[begin:end]), map(int, held[begin:end]), strict=True))
            assert tallied is not None, "a step that has units"
            values.append(_shares(kind, kind.publish(ReleasedCells(tallied)), int(end - begin)))
            counts.append(int(end - begin))
        if len(values) < HALF:
            return []
        return [Truth(tuple(counts), _constant_error(values))]


def _shares(kind: UnitStatistic, published: object, units: int) -> dict[str, float]:
    """Return a true statistic's numbers by part; the numbers of a histogram are shares of its units."""
    if isinstance(published, dict):
        parts = published
    elif isinstance(published, list):
        parts = {str(nth): part for nth, part in enumerate(published)}
    else:
        parts = {"": published}
    return {name: part / units if isinstance(kind, Histogram) else float(part) for name, part in parts.items()}


def _constant_error(values: Sequence[dict[str, float]]) -> float:
    """Return the mean absolute error of each part's best constant, over all spans and the parts that each span has."""
    errors = []
    for name in dict.fromkeys(name for parts in values for name in parts):
        known = [parts[name] for parts in values if name in parts]
        best = median(known)
        errors += [abs(value - best) for value in known]
    return sum(errors) / len(errors)


class Memory(NamedTuple):
    """How long values are remembered: the first lag at which the autocorrelation is below `FORGOTTEN`."""

    lag_ms: int
    certain: bool
    """Whether the autocorrelation falls below `FORGOTTEN`; if not, ``lag_ms`` is the whole reach of the data."""


def memory_of(series: Sequence[SeriesReadings]) -> Memory | None:
    """Return how long the values of some series are remembered; None if there are too few readings.

    Lags are multiples of the usual distance between two readings. Each series is centred on its own mean. For
    categories, the measure is the share of equal values beyond chance (Cohen's kappa).
    """
    gaps = [np.diff(one.times_ms) for one in series if len(one.times_ms) > 1]
    if not gaps:
        return None
    gap_ms = max(1, int(np.median(np.concatenate(gaps))))
    found = [_products(one, gap_ms) for one in series if len(one.times_ms) >= FEWEST_PAIRS]
    if not found:
        return None
    products, pairs = (_added(several) for several in zip(*found, strict=True))
    known = np.flatnonzero(pairs >= FEWEST_PAIRS)
    if not len(known) or products[0] <= 0:
        return None
    kept = products[known] / pairs[known] / (products[0] / pairs[0])
    below = known[kept < FORGOTTEN]
    return Memory(int(below[0] if len(below) else known[-1]) * gap_ms, certain=len(below) > 0)


def _added(several: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    whole = np.zeros(max(map(len, several)))
    for each in several:
        whole[: len(each)] += each
    return whole


def _products(one: SeriesReadings, gap_ms: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum of products of deviations and the number of pairs, for each lag up to half of the course."""
    place = (one.times_ms - one.times_ms[0] + gap_ms // 2) // gap_ms
    length = int(place[-1]) + 1
    there = np.zeros(length)
    there[place] = 1
    period = 1 << (2 * length - 1).bit_length()
    several = _indicators(one) if isinstance(one.item, Category) else [one.cells.astype(np.float64)]
    products = np.zeros(length)
    for values in several:
        course = np.zeros(length)
        course[place] = values - values.mean()
        products += _correlated(course, period)[:length]
    pairs = np.round(_correlated(there, period)[:length])
    return products[: length // 2 + 1], pairs[: length // 2 + 1]


def _indicators(one: SeriesReadings) -> list[NDArray[np.float64]]:
    """Return a course for each category that occurs, with 1 where the value is that category."""
    return [(one.cells == cell).astype(np.float64) for cell in np.unique(one.cells)]


def _correlated(course: NDArray[np.float64], period: int) -> NDArray[np.float64]:
    """Return the sum of ``course[i] * course[i + lag]`` over all positions, for each lag."""
    found: NDArray[np.float64] = np.fft.irfft(np.abs(np.fft.rfft(course, period)) ** 2, period)
    return found
