"""The demo's picture: what was published under two schemes, and how the budget went. No input unless asked for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

from stream_app.demo.data import DemoSeries
from stream_app.pictures import DAY_MS, LANDMARK_COLOUR, OTHER_COLOURS, OWN_COLOUR, SHADE, TRUTH_COLOUR, time_axis

mpl.use("Agg")

from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = {"adaptive": OTHER_COLOURS[0], "balanced": OWN_COLOUR, "input": TRUTH_COLOUR}
"""The scheme that is this project's own is highlighted, the other one grey."""


def draw(
    path: Path,
    series: Sequence[DemoSeries],
    releases: Mapping[str, Sequence[Mapping[str, Any]]],
    entries: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    with_input: bool,
) -> None:
    """Write a PNG of glucose over time, the ride on a map, and the budget used."""
    figure = laid_out(series, releases, entries, with_input=with_input)
    figure.savefig(path, dpi=110, facecolor="white")
    plt.close(figure)


def laid_out(
    series: Sequence[DemoSeries],
    releases: Mapping[str, Sequence[Mapping[str, Any]]],
    entries: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    with_input: bool,
) -> "Figure":
    """Return the picture as a figure of three plots, each with its legend below it."""
    figure, (top, middle, bottom) = plt.subplots(3, 1, figsize=(11, 15), layout="constrained", height_ratios=(3, 4, 2))
    for one in series:
        scheme = one.policy["scheme"]["name"]
        shown = [release for release in releases[one.name] if "value" in release]
        # What publishes rarely scatters widely: points below, the steadier scheme on top of them.
        look: dict[str, Any] = {"color": INK[scheme], "label": f"{scheme}, published"}
        look |= {"zorder": 2, "alpha": 0.5} if scheme == "adaptive" else {"zorder": 4}
        if one.unit == "m":
            east = [release["value"]["longitude"] for release in shown]
            north = [release["value"]["latitude"] for release in shown]
            middle.plot(east, north, ".", markersize=2, **look)
        else:
            times = [release["timestamp"] / DAY_MS for release in shown]
            values = [release["value"] for release in shown]
            top.plot(times, values, *((".",) if scheme == "adaptive" else ()), markersize=1, linewidth=2, **look)
        _budget(bottom, one, entries[one.name], INK[scheme])
    glucose = next(one for one in series if one.unit != "m")
    if with_input:
        ride = next(one for one in series if one.unit == "m")
        times = [timestamp_ms / DAY_MS for timestamp_ms, _ in glucose.readings]
        top.plot(times, [value for _, value in glucose.readings], lw=0.3, color=INK["input"], zorder=3, label="input")
        track = [value for _, value in ride.readings if isinstance(value, dict)]
        east, north = [place["longitude"] for place in track], [place["latitude"] for place in track]
        middle.plot(east, north, linewidth=0.8, color=INK["input"], zorder=5, label="input")
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
    top.set_title("Glucose under landmark privacy, epsilon 1")
    top.set_ylabel("glucose (mg/dl)")
    middle.set(title="A ride under landmark privacy, epsilon 10", xlabel="longitude (°)", ylabel="latitude (°)")
    middle.set_aspect("equal", adjustable="datalim")
    bottom.set(
        title="Budget used by landmarks and any one other step",
        xlabel="share of the series decided",
        ylabel="share of epsilon",
    )
    bottom.set_ylim(0, 1.05)
    for axes in (top, middle, bottom):
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.16), ncols=5, markerscale=4, frameon=False)
        axes.grid(alpha=0.2)
    return figure


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
