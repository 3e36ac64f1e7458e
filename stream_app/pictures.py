"""What all plots share: the canvas (an SVG element or a picture file), axes of time, legends, and thinning of points.

matplotlib is an extra, and is loaded when something is drawn.
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

WIDTH: Final = 9.6  # inches; of a page, all of its width
HEIGHT: Final = 3.4
NANO: Final = 10**9
DAY_MS: Final = 86_400_000  # matplotlib counts time in days since 1970
LAST_MS: Final = 253_402_300_799_999  # the last millisecond of the year 9999: a calendar has no later one
NAME_LENGTH: Final = 28  # letters of a series' id in a label; of a longer one the first stand there
DRAWN_POINTS: Final = 3_000  # points drawn of a series; of more, every second, third, .. one.
DRAWN_PEAKS: Final = 1_000  # points drawn where peaks count, each the largest of its stretch
LONG_LABEL: Final = 23  # letters; of labels up to here, five stand in a row below a plot, of longer ones three
LANDMARK_COLOUR: Final = "#b2432f"
REGULAR_COLOUR: Final = "#3b6ea5"
OWN_COLOUR: Final = "#1f6f8b"
"""Of what a picture is about; what it is compared with is grey."""
OTHER_COLOURS: Final = ("#8d99a6", "#a9b2bb", "#77828e", "#b9a98f", "#9b8fa9", "#8fa99a")
"""Greys, told apart by their dashes, too."""
DASHES: Final[Sequence[Any]] = ("-", (0, (6, 2)), (0, (2, 2)), (0, (6, 2, 1, 2)), (0, (1, 1)), (0, (4, 4)))
TRUTH_COLOUR: Final = "#2b2f33"
INK: Final = "#1d2733"
"""Of letters and lines; in a page they take the colour of its text."""
SERIES_COLOURS: Final = (
    "#1f77b4", "#b3590a", "#25902a", "#c4302f", "#8a63b0", "#8f5a4f", "#b94f98", "#757c83", "#7f7f1c", "#128491",
)  # fmt: skip
"""One a series, in turn; each can be seen on a white page and on a dark one."""
SHADE: Final = 0.14  # opacity of the colour behind landmarks
_GROUNDS: Final = ("figure.facecolor", "savefig.facecolor", "axes.facecolor")
_STYLE: Final = {
    "text.parse_math": False,  # a series' id may hold dollar signs
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
    """Nothing can be drawn; the message has the remedy."""


def prepare() -> None:
    """Raise `PlotError` without matplotlib, which takes a second to load: to be asked before a ledger is read."""
    if find_spec("matplotlib") is None:
        raise PlotError("plots need matplotlib: pip install matplotlib")


def load() -> None:
    """Load matplotlib; on a full disk or a read-only home, its warnings about caches stay unseen.

    Raises `PlotError` without matplotlib, or if no folder can be written, not even a temporary one.
    """
    prepare()
    if "matplotlib.figure" in sys.modules:
        return
    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with _unseen():  # `fc-list`, which it runs to find fonts, has a cache and warnings of its own
            import_module("matplotlib.figure")
    except OSError as error:
        raise PlotError(f"matplotlib cannot find a folder that it can write to: {error}") from error
    finally:
        logger.setLevel(level)


@contextmanager
def _unseen() -> Iterator[None]:
    """Have nobody see what this process and those that it starts write to standard error, if that is open."""
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
    """Return one plot as an SVG element on the ground and in the letters' colour of its page.

    Raises `PlotError` without matplotlib.
    """
    with canvas(height, ground="none") as figure:
        draw(figure.subplots())
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    return text.replace(f"fill: {LANDMARK_COLOUR}; opacity: {SHADE}", f"fill: var(--shade); opacity: {SHADE}")


def picture(path: Path, draws: Sequence[tuple[str, Draw]]) -> None:
    """Write plots, with their titles, one under the other; the format follows from the name's ending.

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
    """Return a series' id for a label: short, on one line, in letters that every font has."""
    plain = ascii(series)[1:-1]
    return plain if len(plain) <= NAME_LENGTH else f"{plain[: NAME_LENGTH - 1]}…"


def time_axis(axes: "Axes") -> None:
    """Label the axis of times."""
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
    """Put the legend where nothing is drawn, in as many columns as fit."""
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        columns = 3 if max(map(len, labels)) > LONG_LABEL else 5
        # mypy takes the figure that axes are on, a part of one included, for one without legends.
        figure: Any = axes.figure
        figure.legend(handles, labels, loc="outside lower left", ncols=columns, frameon=False, fontsize=9)


def thinned(count: int) -> range:
    """Return the places of the points to draw of `count`: all, or evenly spaced ones."""
    return range(0, count, max(1, -(-count // DRAWN_POINTS)))


def peaks(values: Sequence[float]) -> list[int]:
    """Return the places of the values to draw so that no peak is lost: of each stretch the largest."""
    stretch = max(1, -(-len(values) // DRAWN_PEAKS))
    starts = range(0, len(values), stretch)
    return [max(range(start, min(start + stretch, len(values))), key=values.__getitem__) for start in starts]


def shade_landmarks(axes: "Axes", spans_ms: Iterable[tuple[int, int]]) -> None:
    """Shade landmarks, [start, end) in milliseconds, within the times of the axes; a legend names them once."""
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
    """Bring an empty figure, in inches, with what is drawn on it in the look of all pictures; raises `PlotError`.

    A picture has a ground of its own, so that it reads alike on dark pages.
    """
    load()
    from matplotlib import rc_context  # noqa: PLC0415 - an optional extra
    from matplotlib.figure import Figure  # noqa: PLC0415

    style: dict[Any, object] = {**_STYLE, **dict.fromkeys(_GROUNDS, ground)}
    with rc_context(style):
        yield Figure(figsize=(width, height), layout="constrained")
