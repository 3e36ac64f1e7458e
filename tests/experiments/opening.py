"""The opening picture of the README: half a year of one person as weekly means and as a typical day.

``python -m tests.experiments.opening FILE.png`` draws it; a test redraws it and compares. It shows the true values
beside the releases, which is acceptable only because they are a public sample. Never do this with anybody's own data.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import fsum, log
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from experiments.dataset import Reading
from experiments.decisions import begun, decided, key_of
from stream_app.demo.data import DAY_MS, FIRST_MONDAY_MS, GLUCOSE, HOUR_MS, MINUTE_MS, STAY_MS, DemoSeries, demo_series
from stream_app.demo.summary import CONFIDENCE, Week, best_constant_of, error_of, true_units, weeks_of
from stream_app.pictures import (
    LANDMARK_COLOUR,
    OTHER_COLOURS,
    OWN_COLOUR,
    SHADE,
    TRUTH_COLOUR,
    canvas,
    legend_below,
    time_axis,
)
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.units.readings import EMPTY
from stream_app.privacy.units.steps import decide_units
from stream_app.privacy.values import Raw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SEED: Final = 1
"""The seed of the noise key, which anybody can derive, so that anybody can draw the same picture."""
UNITS: Final[Mapping[str, int]] = {"5 minutes": 5 * MINUTE_MS, "an hour": HOUR_MS, "a day": DAY_MS}
"""What each release may protect; the picture shows an hour."""
HALF_YEAR_MS: Final = 30 * 7 * DAY_MS
"""One step that holds the whole sample, from the Monday before its first reading."""


class Hour(NamedTuple):
    """An hour of the typical day, in mg/dl."""

    truth: float
    estimate: float
    half: float  # half of the 95 % interval


class Opening(NamedTuple):
    """The contents of the picture, in mg/dl."""

    weeks: tuple[Week, ...]
    """The weeks, with a unit of an hour."""
    errors: Mapping[str, float]
    """The mean error that the noise of the weeks has according to its law, by unit."""
    hours: tuple[Hour, ...]

    @property
    def error(self) -> float:
        """The mean error of the published weekly means."""
        return error_of((week.truth, week.estimate) for week in self.weeks)

    @property
    def averaged_error(self) -> float:
        """The mean error of averages of single releases, over the same weeks."""
        return error_of((week.truth, week.averaged) for week in self.weeks)

    @property
    def constant_error(self) -> float:
        """The mean error of the best constant for these weeks, which only hindsight knows."""
        constant = best_constant_of(self.weeks)
        return error_of((week.truth, constant) for week in self.weeks)

    @property
    def held(self) -> int:
        """How many true means lie within their 95 % intervals."""
        return sum(abs(week.truth - week.estimate) <= week.half for week in self.weeks)

    @property
    def hour_error(self) -> float:
        """The mean error of the typical day."""
        return error_of((hour.truth, hour.estimate) for hour in self.hours)

    @property
    def hour_constant_error(self) -> float:
        """The mean error of the best constant for the hours of the typical day."""
        constant = median(hour.truth for hour in self.hours)
        return error_of((hour.truth, constant) for hour in self.hours)

    @property
    def figures(self) -> str:
        """The picture's content in words, stored in its file: a test compares it with what the code computes today."""
        units = ", ".join(f"{name} {error:.2f}" for name, error in self.errors.items())
        return (
            f"weekly means: error {self.error:.2f} mg/dl, averages of single releases {self.averaged_error:.2f}, best "
            f"constant {self.constant_error:.2f}; {self.held} of {len(self.weeks)} within 95 %; by unit: {units}; "
            f"typical day: error {self.hour_error:.2f}, best constant {self.hour_constant_error:.2f}"
        )


def opening() -> Opening:
    """Return what the worker's own decisions make of the readings."""
    weekly, single = demo_series()[:2]
    released = {name: _released(_of_unit(weekly, unit_ms), weekly) for name, unit_ms in UNITS.items()}
    weeks = weeks_of(weekly, released["an hour"], _measured(single))
    shown = {week.start_ms for week in weeks}
    errors = {
        name: _mean([one["scale"] for one in found if one["timestamp"] in shown]) for name, found in released.items()
    }
    (day,) = _released(_usual_day(weekly), weekly)
    hours = tuple(
        Hour(truth, day["value"][hour], -log(1 - CONFIDENCE) * day["scale"][hour])
        for hour, truth in _true_hours(weekly).items()
    )
    return Opening(weeks, errors, hours)


def _of_unit(weekly: DemoSeries, unit_ms: int) -> Policy:
    return policy_of({**weekly.policy, "protection": {**weekly.policy["protection"], "unit": unit_ms}}, 1)


def _usual_day(weekly: DemoSeries) -> Policy:
    """Return the policy of one mean for each hour of the day, over the whole sample."""
    first_ms = weekly.readings[0][0]
    monday_ms = first_ms - (first_ms - FIRST_MONDAY_MS) % (7 * DAY_MS)
    protection = {**weekly.policy["protection"], "step": HALF_YEAR_MS, "offset": monday_ms % HALF_YEAR_MS}
    value = {**GLUCOSE, "statistic": "mean", "by": "hour"}
    return policy_of({**weekly.policy, "protection": protection, "value": value}, 1)


def _released(ruling: Policy, weekly: DemoSeries) -> list[dict[str, Any]]:
    """Return what the worker's decision releases for each step, with the members of release records."""
    units, keys = ruling.units, key_of(SEED)
    assert units is not None, "each policy here has units"
    _, state = begun(keys, ruling, weekly.name)
    found = []
    for index, readings in _by_step(ruling, weekly.readings):
        held = [EMPTY] * units.per_step
        for timestamp_ms, value in readings:
            at, since_ms = divmod(timestamp_ms - ruling.start_of(index), units.unit_ms)
            cells = ruling.kind.quantise(Raw(value))
            assert cells is not None, "the sample is valid"
            held[at] = held[at].joined(units, since_ms, cells[0])
        outcome = decide_units(keys, ruling, state, weekly.name, index, held)
        assert outcome is not None, "a step with readings outside of landmarks"
        state, latest = outcome.state, outcome.state.latest
        assert outcome.decision == "perturbed", "all of epsilon is spent on each step"
        kind: Any = ruling.kind
        count = kind.count(latest.measurement)
        found.append(
            {
                "timestamp": latest.source_ms,
                "decision": "perturbed",
                "value": kind.publish(latest.estimate),
                "scale": kind.stated(outcome.spend_nano, count),
                "count": count,
            }
        )
    return found


def _by_step(ruling: Policy, readings: Sequence[tuple[int, Any]]) -> Iterator[tuple[int, list[tuple[int, Any]]]]:
    """Yield the readings of each step; of two readings with the same time the second is refused."""
    first: dict[int, Any] = {}
    for timestamp_ms, value in readings:
        first.setdefault(timestamp_ms, value)
    for index, group in groupby(first.items(), lambda reading: ruling.index_of(reading[0])):
        yield index, list(group)


def _measured(single: DemoSeries) -> list[dict[str, Any]]:
    """Return the measurements of single releases at regular steps."""
    ruling = single.ruling
    first: dict[int, Reading] = {}
    for timestamp_ms, value in single.readings:
        first.setdefault(ruling.index_of(timestamp_ms), Reading(timestamp_ms, Raw(value)))
    kind: Any = ruling.kind
    return [
        {
            "timestamp": outcome.state.latest.source_ms,
            "measurement": kind.publish(outcome.state.latest.measurement),
        }
        for outcome in decided(key_of(SEED), ruling, single.name, list(first.values()))
        if outcome.decision == "perturbed"
    ]


def _true_hours(weekly: DemoSeries) -> dict[str, float]:
    """Return the true mean of each hour of the day, without landmarks, in the order of the day."""
    found: dict[int, list[float]] = {hour: [] for hour in range(24)}
    for start_ms, value in true_units(weekly).items():
        found[start_ms // HOUR_MS % 24].append(value)
    return {str(hour): _mean(values) for hour, values in found.items()}


def draw(path: Path, shown: Opening) -> None:
    """Write the picture; raises `PlotError` without matplotlib, OSError if the file cannot be written."""
    with canvas(4.6, 11) as figure:
        lay_out(figure, shown)
        figure.savefig(path, dpi=110, metadata={"Software": None, "Description": shown.figures})


def lay_out(figure: "Figure", shown: Opening) -> None:
    """Draw the weeks on an empty figure, with the typical day beside them."""
    weeks, day = figure.subplots(1, 2, width_ratios=(7, 3))
    _weeks(weeks, shown)
    _day(day, shown)
    legend_below(weeks)


def _weeks(axes: "Axes", shown: Opening) -> None:
    middles = [week.start_ms / DAY_MS + 3.5 for week in shown.weeks]
    averaged = [week.averaged for week in shown.weeks]
    axes.plot(middles, averaged, "x", color=OTHER_COLOURS[0], ms=5, label="means of single noisy readings")
    _constant(axes, best_constant_of(shown.weeks))
    for nth, run in enumerate(_runs(shown.weeks)):
        times, label = [week.start_ms / DAY_MS + 3.5 for week in run], None if nth else "truth, a public sample"
        axes.plot(times, [week.truth for week in run], color=TRUTH_COLOUR, lw=1.4, label=label)
    _published(axes, middles, shown.weeks)
    look: Mapping[str, Any] = {"color": LANDMARK_COLOUR, "alpha": 2 * SHADE, "lw": 0, "zorder": 0}
    axes.axvspan(*(bound / DAY_MS for bound in STAY_MS), **look, label="landmarks: days in hospital, left out")
    axes.set_ylabel("blood sugar (mg/dl)")
    axes.set_title(
        f"Weekly means: error {shown.error:.1f} mg/dl (best constant {shown.constant_error:.0f},\n"
        f"means of single noisy readings {shown.averaged_error:.0f})",
        fontsize=10,
        loc="left",
    )
    time_axis(axes)


def _day(axes: "Axes", shown: Opening) -> None:
    hours = [hour + 0.5 for hour in range(24)]
    _constant(axes, median(hour.truth for hour in shown.hours))
    axes.plot(hours, [hour.truth for hour in shown.hours], color=TRUTH_COLOUR, lw=1.4)
    _published(axes, hours, shown.hours)
    axes.set(xlim=(0, 24), xticks=range(0, 25, 6), xlabel="hour of the day")
    axes.set_title(
        f"The typical day of the half year:\nerror {shown.hour_error:.1f} mg/dl "
        f"(best constant {shown.hour_constant_error:.0f})",
        fontsize=10,
        loc="left",
    )


def _published(axes: "Axes", places: Sequence[float], shown: Sequence[Week] | Sequence[Hour]) -> None:
    estimates, halves = [one.estimate for one in shown], [one.half for one in shown]
    look: Mapping[str, Any] = {"fmt": "o", "color": OWN_COLOUR, "ms": 4, "capsize": 2, "lw": 1.1, "zorder": 4}
    axes.errorbar(places, estimates, halves, **look, label="published, with 95 % interval")


def _constant(axes: "Axes", constant: float) -> None:
    axes.axhline(constant, color=TRUTH_COLOUR, ls=":", lw=1.1, label="best constant, known only in hindsight")


def _runs(weeks: Sequence[Week]) -> list[list[Week]]:
    """Return the weeks in runs without a gap: a line across a missing week would claim to know its value."""
    runs: list[list[Week]] = []
    for week in weeks:
        if not runs or week.start_ms - runs[-1][-1].start_ms > 7 * DAY_MS:
            runs.append([])
        runs[-1].append(week)
    return runs


def _mean(numbers: Sequence[float]) -> float:
    return fsum(numbers) / len(numbers)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), opening())
