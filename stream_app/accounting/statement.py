"""Results that go beyond the audit: text, members of the JSON report, and sections of the page."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from stream_app import pictures
from stream_app.accounting.composed import Composition
from stream_app.accounting.laws import LAWS
from stream_app.accounting.temporal import CorrelatedLoss, LeftOut, SpentSteps
from stream_app.audit.report.page import Section, table
from stream_app.words.amount import quoted

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Statement(NamedTuple):
    """Compositions and losses under correlation, each listed in the order in which they were requested."""

    correlated_losses: Sequence[CorrelatedLoss]
    composed: Sequence[Composition]
    left_out: Sequence[LeftOut]

    def document(self) -> dict[str, Any]:
        """Return the members to add to the `--json` report."""
        return {
            "temporal": [correlated.document() for correlated in self.correlated_losses],
            "composition": [composed.document() for composed in self.composed],
            "left_out": [one._asdict() for one in self.left_out],
        }

    def lines(self) -> list[str]:
        """Return the lines of text that follow the report."""
        lines = []
        for correlated in self.correlated_losses:
            lines += _loss_lines(correlated)
        for name, cases in groupby(self.composed, key=lambda composed: composed.name):
            law = LAWS[name]
            kind = "a bound" if law.kind == "bound" else "an estimate, not a bound,"
            lines.append(f"{name}: {law.theorem}; {kind} if {law.domain}")
            lines += [_composed(composed) for composed in cases]
        return lines + [f"{quoted(one.series)} is left out: {one.reason}" for one in self.left_out]


def moment(time_ms: int) -> str:
    """Return a time in UTC as text."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _loss_lines(correlated: CorrelatedLoss) -> list[str]:
    steps, loss, worst = correlated.steps, correlated.loss, correlated.worst
    at = moment(steps.times_ms[worst])
    parts = f"{loss.backward[worst]:.6g} backward, {loss.forward[worst]:.6g} forward, {steps.epsilons[worst]:.6g} spent"
    return [
        f"temporal loss of {quoted(steps.series)} under {quoted(correlated.source)}, {len(steps.times_ms)} steps",
        f"  worst step {at}: {loss.total[worst]:.6g} in total ({parts})",
        f"  landmarks and one step: {max(correlated.landmark):.6g}, an estimate, not a bound",
        f"  all steps: {steps.sum:.6g}, for any correlation within the series",
    ]


def _composed(composed: Composition) -> str:
    of = "all series" if composed.series is None else quoted(composed.series)
    if composed.largest is not None:
        kind = "person" if composed.name == "parallel-members" else "series"
        of = f"the {kind} with the largest loss, {quoted(composed.largest)}"
    return f"  {of}: {composed.epsilon:.9g}" + (f" ({composed.asked})" if composed.asked else "")


DRAWN: Final = 4  # series with their own plots; all others appear only in the table


def sections_of(statement: Statement) -> list[Section]:
    """Return the requested sections; raises `PlotError` if matplotlib is missing."""
    sections = []
    if statement.correlated_losses:
        sections.append(_losses_section(statement))
    for correlated in statement.correlated_losses[:DRAWN]:
        series = pictures.label_of(correlated.steps.series)
        sections += [
            Section(
                f"Temporal loss of {series}",
                "What all releases together reveal about the value at each step to an adversary who knows the "
                "correlation and everybody else's values. Backward loss comes from this release and the earlier "
                "ones, forward loss from this one and the later ones. The total counts the epsilon of the step "
                "itself once. If there are many steps, the plot shows the largest losses.",
                pictures.svg(partial(temporal, correlated)),
            ),
            Section(
                f"Landmark loss of {series}",
                "The loss of the landmarks and one step together, for each step. It is an estimate: it may be below "
                "the true loss, or above the sum over all steps. That sum is a bound for any correlation within the "
                "series.",
                pictures.svg(partial(landmark_loss, correlated)),
            ),
        ]
    if statement.composed:
        sections.append(_composed_part(statement))
    if statement.left_out:
        rows = [(one.series, one.reason) for one in statement.left_out]
        sections.append(
            Section("Series left out", "The results above do not cover their steps.", table(_LEFT_OUT, rows))
        )
    return sections


_FIGURES: Final = ("total", "backward", "forward", "landmark*", "all steps")
_EXPOSED: Final = ("series", "correlation", "worst step (UTC)", *_FIGURES)
_COMPOSED: Final = ("composition", "of", "theorem", "condition", "epsilon")
_LEFT_OUT: Final = ("series", "reason")


def _losses_section(statement: Statement) -> Section:
    rows = []
    for correlated in statement.correlated_losses:
        loss, worst = correlated.loss, correlated.worst
        losses = (loss.total[worst], loss.backward[worst], loss.forward[worst])
        others = (max(correlated.landmark), correlated.steps.sum)
        figures = [f"{figure:,.3f}" for figure in (*losses, *others)]
        rows.append((correlated.steps.series, correlated.source, moment(correlated.steps.times_ms[worst]), *figures))
    note = (
        "In epsilon. * The largest loss of the landmarks and one step together: an estimate, not a bound. "
        "All steps: a bound for any correlation within the series."
    )
    return Section("Temporal loss under correlation", note, table(_EXPOSED, rows, numbers=6))


def _composed_part(statement: Statement) -> Section:
    rows = [
        (
            f"{composed.name}, {composed.asked}" if composed.asked else composed.name,
            composed.largest or composed.series or "all series",
            composed.law.theorem,
            f"{composed.law.kind}, if {composed.law.domain}",
            f"{composed.epsilon:.6g}",
        )
        for composed in statement.composed
    ]
    return Section("Composition", "", table(_COMPOSED, rows, numbers=1))


NEAR: Final = 3.0
"""Largest ratio of the sum over all steps to the largest estimate at which the sum is still drawn.

A larger sum is only given as a number.
"""


def temporal(correlated: CorrelatedLoss, axes: "Axes") -> None:
    """Draw the backward, forward and total loss of each step, and the epsilon that the step itself spent."""
    steps, loss = correlated.steps, correlated.loss
    for label, losses, colour, width in (
        ("total loss", loss.total, pictures.INK, 1.4),
        ("backward loss", loss.backward, pictures.REGULAR_COLOUR, 1.0),
        ("forward loss", loss.forward, pictures.LANDMARK_COLOUR, 1.0),
    ):
        places = pictures.peaks(losses)
        heights = [losses[at] for at in places]
        axes.plot(_times(steps, places), heights, color=colour, lw=width, alpha=0.8, label=label)
    places = pictures.peaks(steps.epsilons)
    spends = [steps.epsilons[at] for at in places]
    spent = "spent at the step"
    axes.fill_between(_times(steps, places), spends, step="mid", color="#9aa5b1", alpha=0.6, lw=0, label=spent)
    _finish(axes, "temporal loss (epsilon)")


def landmark_loss(correlated: CorrelatedLoss, axes: "Axes") -> None:
    """Draw the estimated joint loss of the landmarks and each step, and a bound: the sum over all steps."""
    steps, losses = correlated.steps, correlated.landmark
    places = pictures.peaks(losses)
    estimate = [losses[at] for at in places]
    said = "landmarks and this step: an estimate"
    axes.plot(_times(steps, places), estimate, color=pictures.INK, lw=1.2, label=said)
    landmarks = steps.landmarks
    marked = [landmarks[at] for at in pictures.thinned(len(landmarks))]
    heights = [losses[at] for at in marked]
    axes.plot(_times(steps, marked), heights, "D", ms=4, color=pictures.LANDMARK_COLOUR, label="landmark")
    near = steps.sum <= NEAR * max(estimate)
    above = "" if near else " (above this plot)"
    ends = _times(steps, [0, len(losses) - 1]) if near else []
    said = f"all steps: {steps.sum:.6g}, for any correlation in the series{above}"
    axes.plot(ends, [steps.sum] * len(ends), color=pictures.REGULAR_COLOUR, ls="--", lw=1.2, label=said)
    _finish(axes, "loss (epsilon)")


def _finish(axes: "Axes", label: str) -> None:
    axes.set_ylim(bottom=0)
    axes.set_ylabel(label)
    pictures.time_axis(axes)
    pictures.legend_below(axes)


def _times(steps: SpentSteps, places: Sequence[int]) -> list[float]:
    return [steps.times_ms[at] / pictures.DAY_MS for at in places]
