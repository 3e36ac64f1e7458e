"""The demo's picture: what was published under two schemes, and how the budget went. No input unless asked for."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

from stream_app.demo.data import DemoSeries
from stream_app.demo.summary import SeriesSummary, constant_of
from stream_app.pictures import DAY_MS, LANDMARK_COLOUR, OTHER_COLOURS, OWN_COLOUR, SHADE, TRUTH_COLOUR, time_axis

mpl.use("Agg")

from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = {"adaptive": OTHER_COLOURS[0], "balanced": OWN_COLOUR, "input": TRUTH_COLOUR}
"""The scheme that is this project's own is highlighted, the other one grey."""
BELOW = (-0.16, -0.12, -0.26)
"""Where the legend of each plot begins, in heights of the plot: they are of different heights."""


def draw(
    path: Path,
    series: Sequence[DemoSeries],
    releases: Mapping[str, Sequence[Mapping[str, Any]]],
    entries: Mapping[str, Sequence[Mapping[str, Any]]],
    summaries: Sequence[SeriesSummary],
    *,
    with_input: bool,
) -> None:
    """Write a PNG of glucose over time, the ride on a map, and the budget used."""
    figure = laid_out(series, releases, entries, summaries, with_input=with_input)
    figure.savefig(path, dpi=110, facecolor="white")
    plt.close(figure)


def laid_out(
    series: Sequence[DemoSeries],
    releases: Mapping[str, Sequence[Mapping[str, Any]]],
    entries: Mapping[str, Sequence[Mapping[str, Any]]],
    summaries: Sequence[SeriesSummary],
    *,
    with_input: bool,
) -> "Figure":
    """Return the picture as a figure of three plots, each with its legend below it."""
    figure, (top, middle, bottom) = plt.subplots(3, 1, figsize=(11, 15), layout="constrained", height_ratios=(3, 4, 2))
    for one, summary in zip(series, summaries, strict=True):
        scheme = one.policy["scheme"]["name"]
        shown = [release for release in releases[one.name] if "value" in release]
        # What publishes rarely scatters widely: points below, the steadier scheme on top of them.
        look: dict[str, Any] = {"color": INK[scheme], "label": f"{scheme}, published: {_off(summary.mean_error, one)}"}
        look |= {"zorder": 2, "alpha": 0.5} if scheme == "adaptive" else {"zorder": 4}
        if one.unit == "m":
            east = [release["value"]["longitude"] for release in shown]
            north = [release["value"]["latitude"] for release in shown]
            middle.plot(east, north, ".", markersize=2, **look)
            if scheme == "balanced":
                ((start_ms, end_ms),) = one.policy["protection"]["landmarks"]
                marked = [start_ms <= release["timestamp"] < end_ms for release in shown]
                places = ([at for at, held in zip(axis, marked, strict=True) if held] for axis in (east, north))
                middle.plot(*places, "x", ms=3, color=LANDMARK_COLOUR, zorder=4, label="balanced, at landmarks")
        else:
            times = [release["timestamp"] / DAY_MS for release in shown]
            values = [release["value"] for release in shown]
            top.plot(times, values, *((".",) if scheme == "adaptive" else ()), markersize=1, linewidth=2, **look)
        _budget(bottom, one, entries[one.name], INK[scheme])
    glucose, ride = (next(one for one in series if (one.unit == "m") == there) for there in (False, True))
    constants = {
        one.unit: f"best constant in hindsight: {_off(summary.constant_error, one)}"
        for one, summary in zip(series, summaries, strict=True)
    }
    if with_input:
        times = [timestamp_ms / DAY_MS for timestamp_ms, _ in glucose.readings]
        top.plot(times, [value for _, value in glucose.readings], lw=0.3, color=INK["input"], zorder=3, label="input")
        track = [value for _, value in ride.readings if isinstance(value, dict)]
        east, north = [place["longitude"] for place in track], [place["latitude"] for place in track]
        middle.plot(east, north, linewidth=0.8, color=INK["input"], zorder=5, label="input")
        top.axhline(constant_of(glucose), color=TRUTH_COLOUR, ls="-.", lw=1.2, zorder=5, label=constants[glucose.unit])
        place = constant_of(ride)
        where = ([place["longitude"]], [place["latitude"]])
        middle.plot(*where, "k+", ms=8, zorder=6, label=constants[ride.unit])
    else:
        # PRIVACY: the constant tells of the input, so only its error stands there, as in the demo's table.
        for axes, one in ((top, glucose), (middle, ride)):
            axes.plot([], [], " ", label=f"{constants[one.unit]} (not drawn)")
    for bound, label in (
        (glucose.policy["value"]["lower"], "range of the value"),
        (glucose.policy["value"]["upper"], None),
    ):
        top.axhline(bound, color=TRUTH_COLOUR, ls="--", lw=1, label=label)
    for start_ms, end_ms in glucose.policy["protection"]["landmarks"]:
        # An hour of half a year is narrower than a pixel: the edge keeps it in sight.
        top.axvspan(
            start_ms / DAY_MS, end_ms / DAY_MS, color=LANDMARK_COLOUR, alpha=4 * SHADE, lw=1.5, label="landmarks"
        )
    time_axis(top)
    top.set_title(f"Glucose under landmark privacy, epsilon 1, {_dates(glucose)}")
    top.set_ylabel("glucose (mg/dl)")
    middle.set_title(f"A ride under landmark privacy, epsilon 10, {_dates(ride)}")
    middle.set(xlabel="longitude (°)", ylabel="latitude (°)")
    middle.set_aspect("equal", adjustable="datalim")
    bottom.set(
        title="Budget used by landmarks and any one other step",
        xlabel="share of the series decided",
        ylabel="share of epsilon",
    )
    bottom.set_ylim(0, 1.05)
    for axes, below, columns in zip((top, middle, bottom), BELOW, (2, 2, 4), strict=True):
        axes.legend(loc="upper left", bbox_to_anchor=(0, below), ncols=columns, markerscale=2, frameon=False)
        axes.grid(alpha=0.2)
    return figure


def _off(error: float, series: DemoSeries) -> str:
    return f"{error:,.1f} {series.unit} off"


def _dates(series: DemoSeries) -> str:
    """Return from when to when there are readings; within one day, the hours."""
    first, last = (datetime.fromtimestamp(series.readings[at][0] / 1000, UTC) for at in (0, -1))
    if first.date() == last.date():
        return f"{first:%d %b %Y, %H:%M} to {last:%H:%M} UTC"
    return f"{first:%d %b %Y} to {last:%d %b %Y}"


def _budget(axes: Any, series: DemoSeries, entries: Sequence[Mapping[str, Any]], ink: str) -> None:
    """Draw the share of epsilon used after each entry."""
    spent = [entry for entry in entries if entry["entry"] == "release"]
    shares = [(entry["landmark_spent_nano"] + entry["regular_peak_nano"]) / entry["budget_nano"] for entry in spent]
    style = "--" if series.unit == "m" else "-"
    axes.step(
        [number / len(shares) for number in range(len(shares))],
        shares,
        style,
        where="post",
        color=ink,
        label=series.name,
    )
