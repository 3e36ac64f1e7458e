"""The picture that opens the README: six weeks of one person, what was published of them, and where the budget went.

``python -m tests.evaluation.opening FILE.png`` draws it; a test draws it again and compares. It shows the true
values beside the releases: that may be done since they are a public sample, and with no data of anybody's own.
"""

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from stream_app.analysis.error import best_constant
from stream_app.analysis.means import Figure as Mean
from stream_app.analysis.means import MeasuredRelease, means
from stream_app.analysis.release import Release
from stream_app.analysis.windows import window
from stream_app.demo.data import glucose
from stream_app.evaluation.dataset import Reading
from stream_app.evaluation.trial import decided, key_of
from stream_app.pictures import (
    DAY_MS,
    LANDMARK_COLOUR,
    OWN_COLOUR,
    REGULAR_COLOUR,
    TRUTH_COLOUR,
    canvas,
    legend_below,
    shade_landmarks,
    time_axis,
)
from stream_app.privacy.fold import Stepped
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.published import Perturbed
from stream_app.privacy.values import NANO, Raw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SERIES: Final = "glucose-1"
DAYS: Final = 42
"""From the first reading's day on: the stretch is not chosen by what came of it."""
STAY_MS: Final = (
    int(datetime(2010, 4, 20, tzinfo=UTC).timestamp()) * 1000,
    int(datetime(2010, 4, 22, tzinfo=UTC).timestamp()) * 1000,
)
"""Two days in hospital, made up without a look at the readings."""
POLICY: Final[Mapping[str, Any]] = {
    "epsilon": 4.0,
    "protection": {"level": "landmark", "step": 300_000, "landmarks": [list(STAY_MS)]},
    "scheme": {"name": "balanced"},
    "value": {"kind": "number", "lower": 40, "upper": 400, "resolution": 1},
}
SEED: Final = 1
"""Of the noise key, which everybody can make: so everybody can draw the same picture."""


class Opening(NamedTuple):
    """What the picture shows; times in milliseconds, values in mg/dl, by the day's start."""

    truth: Mapping[int, float]
    means: Mapping[int, Mean]
    """Of the measurements at regular steps; a day of landmarks has none."""
    landmark_nano: int
    regular_nano: int
    budget_nano: int

    @property
    def held(self) -> int:
        """How many true means lie within their 95 % bands."""
        return sum(mean.low <= self.truth[day] <= mean.high for day, mean in self.means.items())

    @property
    def figures(self) -> str:
        """What the picture says, in words, which its file carries: a test compares them with what is decided today."""
        return (
            f"daily means off by {self.error:.2f} mg/dl, the best constant in hindsight by {self.constant_error:.2f}; "
            f"{self.held} of {len(self.means)} true means within their 95 % bands; nano-epsilon: landmarks "
            f"{self.landmark_nano}, dearest other step {self.regular_nano}, budget {self.budget_nano}"
        )

    @property
    def error(self) -> float:
        """How far the means are from the truth, on average."""
        return fsum(abs(mean.estimate - self.truth[day]) for day, mean in self.means.items()) / len(self.means)

    @property
    def constant_error(self) -> float:
        """The same of the best constant, which only hindsight knows: the median of these true daily means."""
        truths = [self.truth[day] for day in self.means]
        constant: Any = best_constant(policy().kind, truths)
        return fsum(abs(truth - constant) for truth in truths) / len(truths)


def policy() -> Policy:
    """Return the policy of the series."""
    return policy_of(dict(POLICY), 1)


def opening() -> Opening:
    """Return what the worker's own decisions make of the readings."""
    ruling, readings = policy(), _readings()
    by_day: dict[int, list[float]] = {}
    for timestamp_ms, value in readings:
        by_day.setdefault(timestamp_ms // DAY_MS * DAY_MS, []).append(_number(value))
    measured = []
    landmark_nano = regular_nano = 0
    for outcome in decided(key_of(SEED), ruling, SERIES, readings):
        if outcome.landmark:
            landmark_nano += outcome.spend_nano
        else:
            regular_nano = max(regular_nano, outcome.spend_nano)
            measured.append(MeasuredRelease(_release(ruling, outcome), ruling))
    found = means(measured, window(DAY_MS))
    truth = {day: fsum(values) / len(values) for day, values in by_day.items()}
    return Opening(
        truth, {day: parts[""] for day, parts in found.items()}, landmark_nano, regular_nano, ruling.epsilon_nano
    )


def _release(ruling: Policy, outcome: Stepped) -> Release:
    release, kind = outcome.release, ruling.kind
    assert isinstance(release, Perturbed), "balanced publishes every regular step"
    return Release(
        SERIES,
        release.timestamp_ms,
        outcome.decision,
        ruling.version,
        value=kind.publish(release.estimate),
        measurement=kind.publish(release.measurement),
        scale=kind.scale(release.spend_nano),
        epsilon_nano=release.spend_nano,
    )


def draw(path: Path, shown: Opening) -> None:
    """Write the picture; raises `PlotError` without matplotlib, OSError where the file cannot be written."""
    with canvas(4.3, 10.4) as figure:
        lay_out(figure, shown)
        figure.savefig(path, dpi=110, metadata={"Software": None, "Description": shown.figures})


def lay_out(figure: "Figure", shown: Opening) -> None:
    """Draw the course and, beside it, the battery on an empty figure."""
    course, battery = figure.subplots(1, 2, width_ratios=(6, 1))
    _course(course, shown)
    _battery(battery, shown)
    legend_below(course)


def _course(axes: "Axes", shown: Opening) -> None:
    noon = 0.5
    days = sorted(shown.truth)
    axes.plot([day / DAY_MS + noon for day in days], [shown.truth[day] for day in days], color=TRUTH_COLOUR, lw=1.4)
    axes.lines[-1].set_label("truth, a public sample: the mean of each day")
    for nth, run in enumerate(_runs(sorted(shown.means))):
        times = [day / DAY_MS + noon for day in run]
        found = [shown.means[day] for day in run]
        low, high = [mean.low for mean in found], [mean.high for mean in found]
        labels = (None, None) if nth else ("mean of each day's measurements, published", "its 95 % band")
        axes.plot(times, [mean.estimate for mean in found], "o-", color=OWN_COLOUR, ms=3.5, lw=1.2, label=labels[0])
        axes.fill_between(times, low, high, color=OWN_COLOUR, alpha=0.2, lw=0, label=labels[1])
    axes.set_xlim(days[0] / DAY_MS, days[-1] / DAY_MS + 1)
    axes.set_ylim(bottom=0)
    shade_landmarks(axes, [STAY_MS])
    axes.set_ylabel("blood sugar (mg/dl)")
    axes.set_title(
        f"Daily means are {shown.error:.0f} mg/dl off on average; the best constant, known only in hindsight, "
        f"{shown.constant_error:.0f}",
        fontsize=10,
        loc="left",
    )
    time_axis(axes)


def _battery(axes: "Axes", shown: Opening) -> None:
    """Draw the budget as a battery: what landmarks and the dearest other step took of it, and what is left."""
    budget = shown.budget_nano / NANO
    bottom = 0.0
    for nano, colour, words in (
        (shown.landmark_nano, LANDMARK_COLOUR, "landmarks\ntogether"),
        (shown.regular_nano, REGULAR_COLOUR, "any one\nother step"),
    ):
        height = nano / NANO
        axes.bar(0, height, 0.8, bottom=bottom, color=colour)
        axes.text(0, bottom + height / 2, f"{words}\n{height:.1f}", color="white", ha="center", va="center", fontsize=9)
        bottom += height
    axes.bar(0, budget, 0.9, color="none", edgecolor=TRUTH_COLOUR, lw=2)
    axes.bar(0, budget * 0.03, 0.3, bottom=budget, color=TRUTH_COLOUR)
    axes.set(xlim=(-0.6, 0.6), ylim=(0, budget * 1.05))
    axes.set_axis_off()
    axes.set_title(f"Budget: {bottom:.1f} of {budget:.1f}", fontsize=10)


def _runs(days: Sequence[int]) -> list[list[int]]:
    """Return days in runs without a gap: a line over a day without measurement would claim to know it."""
    runs: list[list[int]] = []
    for day in days:
        if not runs or day - runs[-1][-1] > DAY_MS:
            runs.append([])
        runs[-1].append(day)
    return runs


def _readings() -> list[Reading]:
    """Return the first reading of each step of the first days, as numbers."""
    step_ms = policy().step_ms
    by_step: dict[int, Reading] = {}
    end_ms: int | None = None
    for timestamp_ms, value in glucose():
        end_ms = timestamp_ms // DAY_MS * DAY_MS + DAYS * DAY_MS if end_ms is None else end_ms
        if timestamp_ms < end_ms:
            by_step.setdefault(timestamp_ms // step_ms, Reading(timestamp_ms, Raw(value)))
    return list(by_step.values())


def _number(value: object) -> float:
    assert isinstance(value, float), "glucose is a number"
    return value


if __name__ == "__main__":
    draw(Path(sys.argv[1]), opening())
