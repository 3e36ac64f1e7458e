"""The parts that all plots share: canvas (SVG element or file), time axes, legends, and thinning of points.

matplotlib is an optional extra, and is loaded when something is drawn.
"""

import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stream_app.files import whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH: Final = 9.6  # inches; the full width of a page
HEIGHT: Final = 3.4
NANO: Final = 10**9
DAY_MS: Final = 86_400_000  # matplotlib counts time in days since 1970
LAST_MS: Final = 253_402_300_799_999  # the last millisecond of the year 9999, the calendar's last
NAME_LENGTH: Final = 28  # letters of a series' id in a label; longer ids are cut
DRAWN_POINTS: Final = 3_000  # points drawn of a series; of more, every second, third, ... one
DRAWN_PEAKS: Final = 1_000  # points drawn if peaks count, each the largest of its stretch
LONG_LABEL: Final = 23  # letters; labels up to this length go in rows of five below a plot, longer ones three
LANDMARK_COLOUR: Final = "#b2432f"
REGULAR_COLOUR: Final = "#3b6ea5"
OWN_COLOUR: Final = "#1f6f8b"
"""The colour of a picture's subject; anything it is compared with is grey."""
OTHER_COLOURS: Final = ("#8d99a6", "#a9b2bb", "#77828e", "#b9a98f", "#9b8fa9", "#8fa99a")
"""Shades of grey, also distinguished by their dashes."""
DASHES: Final[Sequence[Any]] = ("-", (0, (6, 2)), (0, (2, 2)), (0, (6, 2, 1, 2)), (0, (1, 1)), (0, (4, 4)))
TRUTH_COLOUR: Final = "#2b2f33"
INK: Final = "#1d2733"
"""The colour of letters and lines; on a page, they take the page's text colour."""
SERIES_COLOURS: Final = (
    "#1f77b4", "#b3590a", "#25902a", "#c4302f", "#8a63b0", "#8f5a4f", "#b94f98", "#757c83", "#7f7f1c", "#128491",
)  # fmt: skip
"""Colours of series, in turn; each is visible on white and on dark pages."""
SHADE: Final = 0.14  # opacity of the colour behind landmarks
_GROUNDS: Final = ("figure.facecolor", "savefig.facecolor", "axes.facecolor")
_STYLE: Final = {
    "text.parse_math": False,  # series ids may hold dollar signs
    "svg.fonttype": "path",  # the same letters on every machine
    "svg.hashsalt": "landmark-stream",  # the same bytes in every run
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.prop_cycle": f"cycler('color', {list(SERIES_COLOURS)})",
    "grid.alpha": 0.25,
    "font.size": 10,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
}

Draw = Callable[["Axes"], None]  # draws a plot on its axes


class PlotError(Exception):
    """Raised if nothing can be drawn; the message includes the remedy."""


def prepare() -> None:
    """Raise `PlotError` if matplotlib is missing.

    Loading matplotlib takes a second; call this before reading a ledger.
    """
    if find_spec("matplotlib") is None:
        raise PlotError("plots need matplotlib: pip install matplotlib")


def load() -> None:
    """Load matplotlib, hiding its cache warnings on a full disk or a read-only home.

    Raises `PlotError` if matplotlib is missing, or if no folder is writable, not even a temporary one.
    """
    prepare()
    if "matplotlib.figure" in sys.modules:
        return
    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with _unseen():  # it runs `fc-list` to find fonts, which has its own cache and warnings
            import_module("matplotlib.figure")
    except OSError as error:
        raise PlotError(f"matplotlib cannot find a folder that it can write to: {error}") from error
    finally:
        logger.setLevel(level)


@contextmanager
def _unseen() -> Iterator[None]:
    """Hide what this process and its children write to standard error, if that is open."""
    try:
        errors = os.dup(2)
    except OSError:
        yield
        return
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(errors, 2)
        os.close(errors)


def svg(draw: Draw, *, height: float = HEIGHT) -> str:
    """Return one plot as an SVG element that uses the background and text colour of its page.

    Raises `PlotError` if matplotlib is missing.
    """
    with canvas(height, ground="none") as figure:
        draw(figure.subplots())
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    return text.replace(f"fill: {LANDMARK_COLOUR}; opacity: {SHADE}", f"fill: var(--shade); opacity: {SHADE}")


def picture(path: Path, draws: Sequence[tuple[str, Draw]]) -> None:
    """Write plots with their titles, one below the other; the file name's ending sets the format.

    Raises:
        PlotError: matplotlib is missing, or it does not know the format.
        OSError: the file cannot be written.
    """
    with canvas(HEIGHT * len(draws)) as figure:
        for (title, draw), part in zip(draws, figure.subfigures(len(draws), squeeze=False).flat, strict=True):
            part.suptitle(title, x=0.01, ha="left")
            draw(part.subplots())
        known = figure.canvas.get_supported_filetypes()
        if path.suffix.removeprefix(".").lower() not in known:
            raise PlotError(f"{path}: unknown extension for a picture; use one of {', '.join(sorted(known))}")
        with whole(path) as beside:
            figure.savefig(beside, dpi=110)


def label_of(series: str) -> str:
    """Return a series' id as a label that is short, on one line, and in letters that every font has."""
    plain = ascii(series)[1:-1]
    return plain if len(plain) <= NAME_LENGTH else f"{plain[: NAME_LENGTH - 1]}…"


def time_axis(axes: "Axes") -> None:
    """Label the time axis."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter  # noqa: PLC0415 - an optional extra

    locator: Any = AutoDateLocator()  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    formats = ["%Y", "%b", "%d %b", "%H:%M", "%H:%M", "%S.%f"]
    formatter: Any = ConciseDateFormatter(  # type: ignore[no-untyped-call]
        locator,
        formats=formats,
        zero_formats=["%Y", "%b", "%d %b", "%d %b", "%H:%M", "%H:%M"],
        offset_formats=["", "%Y", "%Y", "%d %b %Y", "%d %b %Y", "%d %b %Y %H:%M"],
    )
    axes.xaxis.set_major_formatter(formatter)
    first, last = axes.get_xlim()
    axes.set_xlim(first, min(last, LAST_MS / DAY_MS))  # a calendar has no year 10000
    axes.set_xlabel("event time (UTC)")


def legend_below(axes: "Axes") -> None:
    """Put the legend below the plot, in as many columns as fit."""
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        columns = 3 if max(map(len, labels)) > LONG_LABEL else 5
        # mypy assumes that the figure of the axes, even a subfigure, has no legends.
        figure: Any = axes.figure
        figure.legend(handles, labels, loc="outside lower left", ncols=columns, frameon=False, fontsize=9)


def thinned(count: int) -> range:
    """Return the indexes of the points to draw out of `count` points: all, or evenly spaced ones."""
    return range(0, count, max(1, -(-count // DRAWN_POINTS)))


def peaks(values: Sequence[float]) -> list[int]:
    """Return the indexes of the values to draw so that no peak is lost: the largest value of each stretch."""
    stretch = max(1, -(-len(values) // DRAWN_PEAKS))
    starts = range(0, len(values), stretch)
    return [max(range(start, min(start + stretch, len(values))), key=values.__getitem__) for start in starts]


def shade_landmarks(axes: "Axes", spans_ms: Iterable[tuple[int, int]]) -> None:
    """Shade landmarks, [start, end) in milliseconds, within the time range of the axes, with one legend entry."""
    first, last = axes.get_xlim()
    label: str | None = "landmarks"
    for start_ms, end_ms in spans_ms:
        start, end = max(first, start_ms / DAY_MS), min(last, end_ms / DAY_MS)
        if start < end:
            axes.axvspan(start, end, color=LANDMARK_COLOUR, alpha=SHADE, lw=0, zorder=0, label=label)
            label = None
    axes.set_xlim(first, last)


@contextmanager
def canvas(height: float, width: float = WIDTH, ground: str = "white") -> "Iterator[Figure]":
    """Yield an empty figure in the style of all pictures, with its size in inches. Raises `PlotError`.

    A picture has its own background, so that it also reads well on dark pages.
    """
    load()
    from matplotlib import rc_context  # noqa: PLC0415 - an optional extra
    from matplotlib.figure import Figure  # noqa: PLC0415

    style: dict[Any, object] = {**_STYLE, **dict.fromkeys(_GROUNDS, ground)}
    with rc_context(style):
        yield Figure(figsize=(width, height), layout="constrained")
