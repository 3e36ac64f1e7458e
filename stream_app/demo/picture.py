"""The demo's picture: what was published under two schemes, and how the budget went. No input unless asked for."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import matplotlib as mpl

from stream_app.demo.data import DemoSeries

mpl.use("Agg")

from matplotlib import pyplot as plt

INK = {"adaptive": "#c44e52", "balanced": "#1f6f8b", "input": "#999999"}


def draw(
    path: Path,
    series: Sequence[DemoSeries],
    releases: Mapping[str, Sequence[Mapping[str, Any]]],
    entries: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    with_input: bool,
) -> None:
    """Write a PNG of glucose over time, the ride on a map, and the budget used."""
    figure, (top, middle, bottom) = plt.subplots(3, 1, figsize=(11, 13), layout="constrained", height_ratios=(3, 4, 2))
    for one in series:
        scheme = one.policy["scheme"]["name"]
        shown = [release for release in releases[one.name] if "value" in release]
        # What publishes rarely scatters widely: points below, the steadier scheme on top of them.
        look: dict[str, Any] = {"color": INK[scheme], "label": f"{scheme}, published"}
        look |= {"zorder": 2, "alpha": 0.35} if scheme == "adaptive" else {"zorder": 4}
        if one.unit == "m":
            east = [release["value"]["longitude"] for release in shown]
            north = [release["value"]["latitude"] for release in shown]
            middle.plot(east, north, ".", markersize=2, **look)
        else:
            times = [_moment(release["timestamp"]) for release in shown]
            values = [release["value"] for release in shown]
            top.plot(times, values, *((".",) if scheme == "adaptive" else ()), markersize=1, linewidth=2, **look)
        _budget(bottom, one, entries[one.name], INK[scheme])
    if with_input:
        glucose, ride = series[0], series[2]
        times = [_moment(timestamp) for timestamp, _ in glucose.readings]
        values = [value for _, value in glucose.readings]
        top.plot(times, values, linewidth=0.3, color=INK["input"], zorder=3, label="input")
        track = [value for _, value in ride.readings if isinstance(value, dict)]
        east, north = [place["longitude"] for place in track], [place["latitude"] for place in track]
        middle.plot(east, north, linewidth=0.8, color="black", zorder=5, label="input")
    top.set(title="Glucose under landmark privacy, epsilon 1", ylabel="glucose (mg/dl)")
    middle.set(title="A ride under landmark privacy, epsilon 10", xlabel="longitude (°)", ylabel="latitude (°)")
    middle.set_aspect("equal", adjustable="datalim")
    bottom.set(
        title="Budget used by landmarks and any one other step",
        xlabel="share of the series decided",
        ylabel="share of epsilon",
    )
    bottom.set_ylim(0, 1.05)
    for axes in (top, middle, bottom):
        axes.legend(loc="center right" if axes is bottom else "upper right", markerscale=4, framealpha=0.95)
        axes.grid(alpha=0.2)
    figure.savefig(path, dpi=110)
    plt.close(figure)


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


def _moment(timestamp_ms: int) -> datetime:
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC)
