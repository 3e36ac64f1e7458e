"""The plots of the experiments: one picture each, drawn with matplotlib, an optional extra."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import cycle
from math import ceil
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from experiments.dataset import SHARE_WRONG
from experiments.experiment import BESIDE, Row
from experiments.setting import CONSTANT, NOTHING
from experiments.units import YESTERDAY
from stream_app.files import whole
from stream_app.pictures import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_WIDTH: Final = 4.4
SINGLE_WIDTH: Final = 1.5 * PANEL_WIDTH
PANEL_HEIGHT: Final = 3.4
LEGEND_HEIGHT: Final = 0.8
HEADING_HEIGHT: Final = 0.3
LETTERS: Final = 10  # letters of a title per inch
MOST_COLUMNS: Final = 3
SPAN_OF_LOG: Final = 10.0  # ratio of the largest to the smallest height above which the axis is logarithmic
LOOKS: Final[Sequence[tuple[str, str, str]]] = (
    ("#4c72b0", "o", "-"),
    ("#c44e52", "s", "-"),
    ("#8c8c8c", "^", "--"),
    ("#dd8452", "D", "-"),
    ("#1f6f8b", "v", "-"),
    ("#55a868", "P", "-"),
    ("#8172b3", "X", "-"),
)
"""Colour, marker and line style of each curve; curves remain distinguishable without colours."""

UNRELEASED: Final = {
    NOTHING: ("no release: guessed", ":"),
    CONSTANT: ("constant baseline", "-."),
    YESTERDAY: ("true value of the previous span", ":"),
}
"""Label and line style of each baseline."""
SHARE: Final = ("share", "landmarks (% of steps)")
CROWDED: Final = 5  # too close to 0 for its own tick
WINDOW: Final = ("window", "window (steps)")
FRACTION: Final = ("fraction", "share of the budget spent on drawing dummies")
"""The horizontal axis of a plot: the member of a row, and its label."""

HEADINGS: Final[Mapping[str, str]] = {
    "share": "Mean error by share of landmarks",
    "compare": "Error of {first} divided by the error of {second}, by share of landmarks",
    "window": "Mean error at level w-event, by window length in steps",
    "beside": f"Mean error with a window of {BESIDE} steps, by share of landmarks",
    "dummies": "Mean error with dummy landmarks, by share of true landmarks",
    "dummies-budget": "Mean error by the share of the budget spent on drawing dummies, {share} % landmarks",
    "correlation": "Landmark temporal loss (an estimate): {data}, epsilon {epsilon:g}",
    "time": "Processor time per decision",
    "statistics": "Mean error of statistics: protected units, compared with averages of single releases",
}
"""The heading of each picture, as a template for row members."""

Groups = Mapping[str, Sequence[Row]]
Panel = Callable[["Axes", Sequence[Row]], None]


def draw(folder: Path, experiments: Mapping[str, Sequence[Row]]) -> list[Path]:
    """Write one PNG per experiment into ``folder`` and return the paths; raises `OSError`."""
    drawers: Mapping[str, Callable[[Sequence[Row]], tuple[Groups, Panel]]] = {
        "share": _errors,
        "compare": _ratios,
        "window": partial(_errors, over=WINDOW),
        "beside": _errors,
        "dummies": partial(_errors, of="{data}, epsilon {epsilon:g}, {method}", curve="dummies: {dummies}"),
        "dummies-budget": partial(_errors, curve="{method}, {dummies} dummies", over=FRACTION),
        "correlation": _losses,
        "time": _times,
        "statistics": _statistics,
    }
    paths = []
    for name, rows in experiments.items():
        if not rows:
            continue
        paths.append(folder / f"{name}.png")
        _picture(paths[-1], HEADINGS[name].format_map(rows[-1]), *drawers[name](rows))
    return paths


def _errors(
    rows: Sequence[Row],
    *,
    of: str = "{data}, epsilon {epsilon:g}",
    curve: str = "{method}",
    over: tuple[str, str] = SHARE,
) -> tuple[Groups, Panel]:
    """Return one panel per title ``of``, with the baselines and one line per ``curve``, plotted over ``over``."""

    def panel(axes: "Axes", found: Sequence[Row]) -> None:
        for row in unreleased:
            if (row["data"], row["epsilon"]) == (found[0]["data"], found[0]["epsilon"]):
                label, style = UNRELEASED[row["method"]]
                axes.axhline(row["error"], color="black", ls=style, lw=1.2, label=label)
        _curves(axes, _grouped([row for row in found if row[over[0]] is not None], curve.format_map), "error", over)
        axes.set_ylabel(f"mean error ({found[0]['unit']})")

    unreleased = [row for row in rows if row["method"] in UNRELEASED]
    return _grouped([row for row in rows if row not in unreleased], of.format_map), panel


def _ratios(rows: Sequence[Row]) -> tuple[Groups, Panel]:
    def panel(axes: "Axes", found: Sequence[Row]) -> None:
        axes.axhline(1, color="black", ls=":", lw=1.2, label="equal errors")
        lines = _grouped([row for row in found if row["ratio"] is not None], "{first}, epsilon {epsilon:g}".format_map)
        for each, (colour, *_) in zip(lines.values(), cycle(LOOKS), strict=False):
            constants = [row["constant_error"] / row["second_error"] for row in each]
            label = f"constant baseline, epsilon {each[0]['epsilon']:g}"
            axes.plot([row["share"] for row in each], constants, color=colour, ls="-.", lw=1.2, label=label)
        _curves(axes, lines, "ratio")
        axes.set_ylabel(f"error / error of {found[0]['second']}")

    return _grouped(rows, lambda row: row["data"]), panel


def _losses(rows: Sequence[Row]) -> tuple[Groups, Panel]:
    def panel(axes: "Axes", found: Sequence[Row]) -> None:
        axes.axhline(found[0]["epsilon"], color="black", ls=":", lw=1.2, label="epsilon: without correlation")
        _curves(axes, _grouped(found, lambda row: f"{row['distribution']} landmarks"), "estimate")
        axes.set_ylabel("landmark temporal loss (estimate)")
        _logarithmic(axes, min(row["estimate"] for row in rows))
        axes.set_ylim(top=1.5 * max(row["estimate"] for row in rows))  # one scale for all panels

    return _grouped(rows, lambda row: f"{row['method']}, {row['correlation']} ({row['strength']:.2g})"), panel


def _times(rows: Sequence[Row]) -> tuple[Groups, Panel]:
    def panel(axes: "Axes", found: Sequence[Row]) -> None:
        methods = list(dict.fromkeys(row["method"] for row in found))
        lines = _grouped(found, lambda row: row["data"])
        thickness = 0.8 / len(lines)
        for nth, ((name, each), (colour, *_)) in enumerate(zip(lines.items(), cycle(LOOKS), strict=False)):
            places = [methods.index(row["method"]) + (nth - (len(lines) - 1) / 2) * thickness for row in each]
            axes.barh(places, [row["microseconds"] for row in each], thickness * 0.9, label=name, color=colour)
        axes.set_yticks(range(len(methods)), methods)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("processor time per decision (microseconds)")

    return {"": rows}, panel


def _statistics(rows: Sequence[Row]) -> tuple[Groups, Panel]:
    """Return one panel per data set and span, with one line per method over epsilon."""

    def panel(axes: "Axes", found: Sequence[Row]) -> None:
        for row in found:
            if row["epsilon"] is None:
                label, style = UNRELEASED[row["method"]]
                axes.axhline(row["error"], color="black", ls=style, lw=1.2, label=label)
        axes.set_xscale("log")
        released = [row for row in found if row["epsilon"] is not None]
        longer = {name: nth for nth, name in enumerate(dict.fromkeys(row["method"] for row in released))}
        lines = _grouped(released, lambda row: _NAMES.get(longer[row["method"]], str(row["method"])))
        _curves(axes, lines, "error", ("epsilon", "epsilon"))
        epsilons = sorted({row["epsilon"] for row in released})
        axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axes.minorticks_off()
        axes.set_ylabel(f"mean error ({found[0]['unit']})")

    return _grouped(rows, "{data}, {span}".format_map), panel


_NAMES: Final = {0: "uniform, averaged", 1: "balanced, averaged", 2: "unit: one reading", 3: "unit: the next longer"}
"""Names of lines that are the same in all panels, for a single legend; the units depend on the data."""


def _curves(axes: "Axes", lines: Groups, member: str, over: tuple[str, str] = SHARE) -> None:
    """Draw each line with its confidence interval, by default over the share of landmarks."""
    abscissa, label = over
    for (name, rows), (colour, marker, style) in zip(lines.items(), cycle(LOOKS), strict=False):
        places = [row[abscissa] for row in rows]
        look: dict[str, Any] = {"color": colour, "marker": marker, "ls": style, "ms": 4.5, "lw": 1.4}
        axes.plot(places, [row[member] for row in rows], label=name, **look)
        low, high = ([row[member] if row[end] is None else row[end] for row in rows] for end in ("low", "high"))
        axes.fill_between(places, low, high, color=colour, alpha=0.18, lw=0)
    axes.set_xlabel(label)
    axes.set_xticks(sorted({row[abscissa] for rows in lines.values() for row in rows} - {CROWDED}))
    part = any(row.get("unit") == SHARE_WRONG and member == "error" for rows in lines.values() for row in rows)
    heights = [float(height) for line in axes.lines for height in np.asarray(line.get_ydata())]
    if heights and 0 < min(heights) * SPAN_OF_LOG < max(heights) and not part:
        _logarithmic(axes, min(heights))
    else:
        axes.set_ylim(bottom=0)


def _logarithmic(axes: "Axes", least: float) -> None:
    """Set a logarithmic vertical axis with plain numbers; an interval that reaches 0 does not stretch it."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415 - an optional extra

    axes.set_yscale("log")
    axes.set_ylim(bottom=least / 2)
    axes.yaxis.set_major_locator(LogLocator(10, subs=(1.0, 3.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda height, _: f"{height:,.10g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _picture(path: Path, heading: str, panels: Groups, panel: Panel) -> None:
    """Write the panels in rows, with a heading above and one legend below."""
    columns = min(MOST_COLUMNS, len(panels))
    lines = ceil(len(panels) / columns)
    width = SINGLE_WIDTH if columns == 1 else PANEL_WIDTH
    with canvas(PANEL_HEIGHT * lines + LEGEND_HEIGHT + HEADING_HEIGHT, width * columns) as figure:
        figure.suptitle(fill(heading, round(LETTERS * width * columns)), fontweight="bold")
        labels: dict[str, Any] = {}
        places = figure.subplots(lines, columns, squeeze=False).flat
        for (title, rows), axes in zip(panels.items(), places, strict=False):
            panel(axes, rows)
            axes.set_title(fill(title, round(LETTERS * width)))
            handles, names = axes.get_legend_handles_labels()
            labels |= dict(zip(names, handles, strict=True))
        for axes in places:
            axes.set_visible(False)
        _legend(figure, labels)
        with whole(path) as beside:
            figure.savefig(beside, dpi=110)


def _legend(figure: "Figure", labels: Mapping[str, Any]) -> None:
    """Put the legend below in as many columns as fit; a wider legend would be cut off on both sides."""
    for columns in (4, 3, 2, 1):
        place: Any = "outside lower center"
        legend = figure.legend(labels.values(), labels.keys(), loc=place, ncols=columns, frameon=False)
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def _grouped(rows: Sequence[Row], key: Callable[[Row], str]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups
