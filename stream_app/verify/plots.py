"""The picture of verdicts: what is declared, what is told at least, and what the control tells."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from stream_app.pictures import LANDMARK_COLOUR, REGULAR_COLOUR, Draw, legend_below
from stream_app.verify.verdict import PairResult, Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS = 8
"""Of one plot."""
_BAR = 0.38

Row = tuple[str, PairResult]
"""A label and what its bars show."""


def plots_of(verdicts: Sequence[tuple[str, Verdict]]) -> Iterator[tuple[str, Draw]]:
    """Yield plots with their titles: all pairs of a single policy, or of each policy the pair that tells most."""
    rows: list[Row]
    if len(verdicts) == 1:
        ((title, verdict),) = verdicts
        rows = [(result.pair, result) for result in verdict.results]
    else:
        title = "The pair of each policy that tells most"
        rows = [
            (label, max(verdict.results, key=lambda result: result.measured.shown))
            for label, verdict in verdicts
            if verdict.results
        ]
    for start in range(0, len(rows), MOST_ROWS):
        yield title if not start else "", _bounds_of(rows[start : start + MOST_ROWS])


def _bounds_of(rows: Sequence[Row]) -> Draw:
    """Draw two bars a row, across which lies a line at what is declared."""

    def draw(axes: "Axes") -> None:
        shown = [result.measured.shown for _, result in rows]
        controls = [result.control.shown for _, result in rows]
        upper, lower = ([place + shift for place in range(len(rows))] for shift in (-_BAR / 2, _BAR / 2))
        axes.barh(upper, shown, _BAR, color=REGULAR_COLOUR, label="told at least")
        axes.barh(lower, controls, _BAR, color=LANDMARK_COLOUR, label="by the control")
        for place, (_, result) in enumerate(rows):
            label = None if place else "declared"
            axes.plot([result.declared] * 2, [place - 0.45, place + 0.45], color="black", lw=2, label=label)
        axes.set_yticks(range(len(rows)), [label for label, _ in rows])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel("epsilon, lower bounds at confidence 95 %")
        legend_below(axes)

    return draw
