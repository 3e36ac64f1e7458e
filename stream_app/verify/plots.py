"""The picture of a verdict: what is declared, what is told at least, and what the control tells."""

from typing import TYPE_CHECKING

from stream_app.audit.canvas import Draw
from stream_app.audit.plots import LANDMARK_COLOUR, REGULAR_COLOUR, legend_below
from stream_app.verify.verdict import Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BAR = 0.38


def bounds_of(verdict: Verdict) -> Draw:
    """Draw a pair of bars for each pair of neighbours, across which lies a line at what is declared."""

    def draw(axes: "Axes") -> None:
        findings = verdict.findings
        places = range(len(findings))
        shown = [finding.measured.shown for finding in findings]
        controls = [finding.control.shown for finding in findings]
        axes.barh([place - _BAR / 2 for place in places], shown, _BAR, color=REGULAR_COLOUR, label="told at least")
        axes.barh([place + _BAR / 2 for place in places], controls, _BAR, color=LANDMARK_COLOUR, label="by the control")
        for place, finding in enumerate(findings):
            label = None if place else "declared"
            axes.plot([finding.declared] * 2, [place - 0.45, place + 0.45], color="black", lw=2, label=label)
        axes.set_yticks(places, [finding.pair for finding in findings])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel("epsilon, lower bounds at confidence 95 %")
        legend_below(axes)

    return draw
