"""What plots are drawn on, by matplotlib, which is an extra: an SVG element of a page, or a picture."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH: Final = 9.6
"""Inches; of a page, all of its width."""
HEIGHT: Final = 3.4
_STYLE: Final = {
    "text.parse_math": False,  # a series' id may hold dollar signs
    "svg.fonttype": "path",  # the same letters on every machine
    "svg.hashsalt": "landmark-stream",  # the same bytes in every run
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "font.size": 10,
}

Draw = Callable[["Axes"], None]
"""Draws a plot on its axes."""


class PlotError(Exception):
    """Nothing can be drawn; the message has the remedy."""


def prepare() -> None:
    """Raise `PlotError` without matplotlib, which takes a second to load: to be asked before a ledger is read."""
    if find_spec("matplotlib") is None:
        raise PlotError("plots need matplotlib: pip install matplotlib")


def svg(draw: Draw, *, height: float = HEIGHT) -> str:
    """Return one plot as an SVG element; raises `PlotError` without matplotlib."""
    with _figure(height) as figure:
        draw(figure.subplots())
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def picture(path: Path, draws: Sequence[tuple[str, Draw]]) -> None:
    """Write plots, with their titles, one under the other; the format follows from the name's ending.

    Raises:
        PlotError: matplotlib is missing, or it does not know the format.
        OSError: the file cannot be written.
    """
    with _figure(HEIGHT * len(draws)) as figure:
        for (title, draw), part in zip(draws, figure.subfigures(len(draws), squeeze=False).flat, strict=True):
            part.suptitle(title, x=0.01, ha="left")
            draw(part.subplots())
        try:
            figure.savefig(path, dpi=110)
        except ValueError as error:
            raise PlotError(f"{path}: {error}") from error


@contextmanager
def _figure(height: float) -> "Iterator[Figure]":
    prepare()
    from matplotlib import rc_context  # noqa: PLC0415 - an optional extra
    from matplotlib.figure import Figure  # noqa: PLC0415

    with rc_context(_STYLE):  # type: ignore[arg-type]
        yield Figure(figsize=(WIDTH, height), layout="constrained")
