"""The plots of a report: spends over time, budgets left, and the series that lost most, with axes in units."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from stream_app.audit.books.guarantee import SeriesLoss
from stream_app.audit.report.curve import Curve
from stream_app.audit.report.flow import Flow
from stream_app.pictures import (
    DAY_MS,
    INK,
    LANDMARK_COLOUR,
    NANO,
    REGULAR_COLOUR,
    Draw,
    label_of,
    legend_below,
    peaks,
    shade_landmarks,
    thinned,
    time_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAR: Final = 20
"""From this ratio of the largest spend to the smallest on, the axis is logarithmic: a power of ten surely shows."""
_ANY_COLOUR: Final = INK  # of a marker in a legend that stands for every series


def flow(spends: Flow) -> Draw:
    """Draw what all series spent together, by bins of time."""

    def draw(axes: "Axes") -> None:
        numbers = spends.numbers
        left = [number * spends.width_ms / DAY_MS for number in numbers]
        width = spends.width_ms / DAY_MS
        regular = [spends.regular.get(number, 0) / NANO for number in numbers]
        landmark = [spends.landmark.get(number, 0) / NANO for number in numbers]
        if any(regular):
            axes.bar(left, regular, width, align="edge", color=REGULAR_COLOUR, label="regular steps")
        if any(landmark):
            axes.bar(left, landmark, width, align="edge", bottom=regular, color=LANDMARK_COLOUR, label="landmarks")
        axes.set_ylabel(f"epsilon spent in {_duration(spends.width_ms)}")
        time_axis(axes)
        legend_below(axes)

    return draw


def shares_left(losses: Sequence[SeriesLoss]) -> Draw:
    """Draw how many series have what share of their present budget left."""

    def draw(axes: "Axes") -> None:
        shares = [100 * loss.share_left for loss in losses]
        axes.hist(shares, bins=[5 * edge for edge in range(21)], color=REGULAR_COLOUR, edgecolor="none", rwidth=0.96)
        axes.set_xlim(0, 100)
        axes.locator_params(axis="y", integer=True)
        axes.set_xlabel("budget left in the present period (%)")
        axes.set_ylabel("number of series")

    return draw


def shares_over_time(curves: Sequence[Curve]) -> Draw:
    """Draw the share of the budget left after each step, a line a series."""

    def draw(axes: "Axes") -> None:
        for curve in curves:
            places = thinned(len(curve.times_ms))
            left = [
                100 * max(0.0, 1 - curve.used_nano[at] / curve.budgets_nano[at]) if curve.budgets_nano[at] > 0 else 0.0
                for at in places
            ]
            axes.step(
                [curve.times_ms[at] / DAY_MS for at in places], left, where="post", lw=1.2, label=label_of(curve.series)
            )
        axes.set_ylim(-2, 102)
        axes.set_ylabel("budget left (%)")
        _shade(axes, curves)
        time_axis(axes)
        legend_below(axes)

    return draw


def spends_over_time(curves: Sequence[Curve]) -> Draw:
    """Draw the epsilon of each perturbed release, a colour a series; diamonds are landmarks."""

    def draw(axes: "Axes") -> None:
        seen = set()
        for nth, curve in enumerate(curves):
            label: str | None = label_of(curve.series)
            for landmark, marker, size in ((0, ".", 6), (1, "D", 4)):
                chosen = [
                    at
                    for at in range(len(curve.times_ms))
                    if curve.spends_nano[at] > 0 and curve.landmarks[at] == landmark
                ]
                places = [chosen[at] for at in peaks([curve.spends_nano[at] for at in chosen])]
                times = [curve.times_ms[at] / DAY_MS for at in places]
                spends = [curve.spends_nano[at] / NANO for at in places]
                if places:
                    axes.plot(times, spends, marker, ms=size, color=f"C{nth % 10}", label=label)
                    label = None
                    seen.add(landmark)
        if 1 in seen:
            axes.plot([], [], "D", ms=4, color=_ANY_COLOUR, label="landmark")
        spent = [spend for curve in curves for spend in curve.spends_nano if spend > 0]
        if spent and max(spent) > FAR * min(spent):
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter("")
        else:
            axes.set_ylim(bottom=0)
        axes.set_ylabel("epsilon of one release")
        _shade(axes, curves)
        time_axis(axes)
        legend_below(axes)

    return draw


def worst(losses: Sequence[SeriesLoss]) -> Draw:
    """Draw what series lost, worst first: in earlier periods, on landmarks, on one other step; and what is left."""

    def draw(axes: "Axes") -> None:
        rows = range(len(losses))
        begin = [0.0] * len(losses)
        for label, colour, parts in (
            ("earlier policy versions", "#6d5a8c", [loss.closed_nano for loss in losses]),
            ("landmarks", LANDMARK_COLOUR, [loss.landmark_nano for loss in losses]),
            ("worst other step", REGULAR_COLOUR, [loss.peak_nano for loss in losses]),
            ("left of the budget", "#e3e7eb", [loss.left_nano for loss in losses]),
        ):
            widths = [part / NANO for part in parts]
            if not any(widths):
                continue
            axes.barh(rows, widths, left=begin, color=colour, label=label)
            begin = [before + width for before, width in zip(begin, widths, strict=True)]
        axes.set_yticks(rows, [label_of(loss.series) for loss in losses])
        axes.margins(y=0.02)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("loss: epsilon over all policy versions")
        legend_below(axes)

    return draw


def _shade(axes: "Axes", curves: Sequence[Curve]) -> None:
    """Shade the landmarks that all series have; where theirs differ, nobody could tell whose a shade is."""
    spans = {tuple(sorted(set(curve.spans_ms))) for curve in curves}
    if len(spans) == 1:
        shade_landmarks(axes, spans.pop())


def _duration(width_ms: int) -> str:
    """Return the length of a bin in words."""
    for unit, length_ms in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1_000)):
        if width_ms >= length_ms:
            count = width_ms // length_ms
            return f"{count} {unit}s" if count > 1 else f"1 {unit}"
    return f"{width_ms} ms"
