"""The demo's picture: weekly means, single releases, a ride, and the budget over time.

PRIVACY: the true weekly means are drawn because the sample is public. Single readings are drawn only on request.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from stream_app.demo.data import DemoSeries
from stream_app.demo.summary import SeriesSummary, Week, best_constant_of, constant_of
from stream_app.pictures import (
    DAY_MS,
    LANDMARK_COLOUR,
    OTHER_COLOURS,
    OWN_COLOUR,
    SHADE,
    TRUTH_COLOUR,
    canvas,
    time_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = {"adaptive": OTHER_COLOURS[0], "balanced": OWN_COLOUR, "uniform": LANDMARK_COLOUR, "input": TRUTH_COLOUR}
"""Colours: this project's own scheme is highlighted, and the other one is grey."""
BELOW = (-0.14, -0.2, -0.12, -0.26)
"""The top of each plot's legend, in units of the plot's height, which differs between plots."""
MIDDLE = 3.5  # days from the start of a week
Records = Mapping[str, Sequence[Mapping[str, Any]]]


def laid_out(
    series: Sequence[DemoSeries],
    releases: Records,
    entries: Records,
    summaries: Sequence[SeriesSummary],
    weeks: Sequence[Week],
    *,
    with_input: bool,
) -> "Figure":
    """Return a figure of weekly means, single releases of glucose, a map of the ride, and the budget used."""
    with canvas(19, 11) as figure:
        plots = figure.subplots(4, 1, height_ratios=(3.4, 2.4, 4, 2))
        first, second, middle, bottom = plots
        for one, summary in zip(series, summaries, strict=True):
            if one.weekly:
                draw_weeks(first, weeks, one.policy["protection"]["landmarks"], summary)
                first.set_title(f"Weekly means of glucose under landmark privacy, epsilon 1, {_dates(one)}")
            elif one.unit == "m":
                _ride(middle, one, releases[one.name], summary)
            else:
                _readings(second, one, releases[one.name], summary, with_input=with_input)
            _budget(bottom, one, entries[one.name], INK[one.policy["scheme"]["name"]])
        ride, summary = series[-1], summaries[-1]
        constant = f"constant baseline: {_off(summary.constant_error, ride)}"
        if with_input:
            track = [value for _, value in ride.readings if isinstance(value, dict)]
            east, north = [place["longitude"] for place in track], [place["latitude"] for place in track]
            middle.plot(east, north, linewidth=0.8, color=INK["input"], zorder=5, label="input")
            place = constant_of(ride)
            middle.plot([place["longitude"]], [place["latitude"]], "k+", ms=8, zorder=6, label=constant)
        else:
            _not_drawn(middle, constant)
        middle.set_title(f"A ride under landmark privacy, epsilon 10, {_dates(ride)}")
        middle.set(xlabel="longitude (°)", ylabel="latitude (°)")
        middle.set_aspect("equal", adjustable="datalim")
        bottom.set_title("Budget used by landmarks and any other single step")
        bottom.set(xlabel="share of the series processed", ylabel="share of epsilon")
        bottom.set_ylim(0, 1.05)
        for axes, below, columns in zip(plots, BELOW, (2, 2, 2, 4), strict=True):
            axes.legend(loc="upper left", bbox_to_anchor=(0, below), ncols=columns, markerscale=2, frameon=False)
            axes.grid(alpha=0.2)
        return figure


def draw_weeks(axes: "Axes", weeks: Sequence[Week], landmarks: Sequence[Sequence[int]], summary: SeriesSummary) -> None:
    """Draw true and published weekly means, averages of single releases, and the constant baseline."""
    times = [week.start_ms / DAY_MS + MIDDLE for week in weeks]
    averaged, constant = summary.averaged_error, best_constant_of(weeks)
    assert averaged is not None, "the summary of weekly means"
    axes.plot(
        times,
        [week.averaged for week in weeks],
        "x",
        color=OTHER_COLOURS[2],
        ms=6,
        label=f"averages of single releases: mean error {averaged:.1f} {summary.unit}",
    )
    axes.axhline(
        constant,
        color=TRUTH_COLOUR,
        ls=":",
        lw=1.2,
        label=f"constant baseline: mean error {summary.constant_error:.1f} {summary.unit}",
    )
    axes.plot(times, [week.truth for week in weeks], color=TRUTH_COLOUR, lw=1.4, label="true weekly means")
    axes.errorbar(
        times,
        [week.estimate for week in weeks],
        [week.half for week in weeks],
        fmt="o",
        color=OWN_COLOUR,
        ms=4.5,
        capsize=3,
        lw=1.2,
        zorder=4,
        label=f"published (unit: 1 h, 95 % intervals): mean error {summary.mean_error:.1f} {summary.unit}",
    )
    for start_ms, end_ms in landmarks:
        axes.axvspan(
            start_ms / DAY_MS, end_ms / DAY_MS, color=LANDMARK_COLOUR, alpha=3 * SHADE, lw=0, label="days left out"
        )
    axes.set_ylabel(f"glucose ({summary.unit})")
    time_axis(axes)


def _readings(
    axes: "Axes", one: DemoSeries, found: Sequence[Mapping[str, Any]], summary: SeriesSummary, *, with_input: bool
) -> None:
    """Draw single releases over time, with the input beneath them if requested."""
    shown = [release for release in found if "value" in release]
    times, values = [release["timestamp"] / DAY_MS for release in shown], [release["value"] for release in shown]
    axes.plot(times, values, linewidth=1.4, zorder=4, color=OWN_COLOUR, label=_published(one, summary))
    constant = f"constant baseline: {_off(summary.constant_error, one)}"
    if with_input:
        times = [timestamp_ms / DAY_MS for timestamp_ms, _ in one.readings]
        raw: list[Any] = [value for _, value in one.readings]
        axes.plot(times, raw, lw=0.3, color=INK["input"], zorder=3, label="input")
        axes.axhline(constant_of(one), color=TRUTH_COLOUR, ls="-.", lw=1.2, zorder=5, label=constant)
    else:
        _not_drawn(axes, constant)
    for end, label in (("lower", "range of the value"), ("upper", None)):
        axes.axhline(one.policy["value"][end], color=TRUTH_COLOUR, ls="--", lw=1, label=label)
    for start_ms, end_ms in one.policy["protection"]["landmarks"]:
        look: dict[str, Any] = {"color": LANDMARK_COLOUR, "alpha": 3 * SHADE, "lw": 0}
        axes.axvspan(start_ms / DAY_MS, end_ms / DAY_MS, **look, label="landmarks")
    time_axis(axes)
    axes.set_title("The same readings, released one by one, epsilon 1")
    axes.set_ylabel(f"glucose ({one.unit})")


def _ride(axes: "Axes", one: DemoSeries, found: Sequence[Mapping[str, Any]], summary: SeriesSummary) -> None:
    """Draw the published positions of the ride."""
    scheme = one.policy["scheme"]["name"]
    shown = [release for release in found if "value" in release]
    # A scheme that publishes rarely scatters widely, so its points are below those of the steadier scheme.
    look: dict[str, Any] = {"color": INK[scheme], "label": _published(one, summary)}
    look |= {"zorder": 2, "alpha": 0.5} if scheme == "adaptive" else {"zorder": 4}
    east = [release["value"]["longitude"] for release in shown]
    north = [release["value"]["latitude"] for release in shown]
    axes.plot(east, north, ".", markersize=2, **look)
    if scheme == "balanced":
        ((start_ms, end_ms),) = one.policy["protection"]["landmarks"]
        marked = [start_ms <= release["timestamp"] < end_ms for release in shown]
        places = ([at for at, held in zip(axis, marked, strict=True) if held] for axis in (east, north))
        axes.plot(*places, "x", ms=3, color=LANDMARK_COLOUR, zorder=4, label="balanced, at landmarks")


def _not_drawn(axes: "Axes", constant: str) -> None:
    # PRIVACY: the constant reveals something about the input, so only its error is shown, as in the demo's table.
    axes.plot([], [], " ", label=f"{constant} (not drawn)")


def _published(series: DemoSeries, summary: SeriesSummary) -> str:
    return f"{series.policy['scheme']['name']}, published: {_off(summary.mean_error, series)}"


def _off(error: float, series: DemoSeries) -> str:
    return f"mean error {error:,.1f} {series.unit}"


def _dates(series: DemoSeries) -> str:
    first, last = (datetime.fromtimestamp(series.readings[at][0] / 1000, UTC) for at in (0, -1))
    if first.date() == last.date():
        return f"{first:%d %b %Y, %H:%M} to {last:%H:%M} UTC"
    return f"{first:%d %b %Y} to {last:%d %b %Y}"


def _budget(axes: Any, series: DemoSeries, entries: Sequence[Mapping[str, Any]], ink: str) -> None:
    spent = [entry for entry in entries if entry["entry"] == "release"]
    shares = [(entry["landmark_spent_nano"] + entry["regular_peak_nano"]) / entry["budget_nano"] for entry in spent]
    style = "--" if series.unit == "m" else "-"
    decided = [number / len(shares) for number in range(len(shares))]
    axes.step(decided, shares, style, where="post", color=ink, label=series.name)
