"""What the HTML report shows of exposures and compositions."""

from typing import Final

from stream_app.accounting.plots import landmark_loss, temporal
from stream_app.accounting.statement import Statement, moment
from stream_app.audit.report.page import Section, table
from stream_app.pictures import label_of, svg

DRAWN: Final = 4
"""Exposures with plots of their own; of each further one there is a row in the table."""


def sections_of(statement: Statement) -> list[Section]:
    """Return the sections, none for what was not asked; raises `PlotError` without matplotlib."""
    sections = []
    if statement.exposures:
        sections.append(_exposures(statement))
    for exposure in statement.exposures[:DRAWN]:
        series = label_of(exposure.steps.series)
        sections += [
            Section(
                f"Temporal loss of {series}",
                "What all releases together tell, about the value at each step, an adversary who knows the correlation "
                "and everybody else's values. Backward is from this release and those before, forward from this one "
                "and those after; total counts the step's own spend once. Of many steps the largest losses are "
                "drawn.",
                svg(temporal(exposure)),
            ),
            Section(
                f"Landmark loss of {series}",
                "The landmarks and one step together, for each step. It is an estimate: it may lie below the true "
                "loss, or above the sum over all steps, which holds whatever is correlated within the series.",
                svg(landmark_loss(exposure)),
            ),
        ]
    if statement.composed:
        sections.append(_composed(statement))
    if statement.left_out:
        rows = [(one.series, one.reason) for one in statement.left_out]
        sections.append(Section("Series left out", "Nothing is said above about their steps.", table(_LEFT_OUT, rows)))
    return sections


_EXPOSED: Final = (
    "series",
    "correlation",
    "worst step (UTC)",
    "total",
    "backward",
    "forward",
    "landmark*",
    "all steps",
)
_COMPOSED: Final = ("composition", "of", "theorem", "where", "epsilon")
_LEFT_OUT: Final = ("series", "reason")


def _exposures(statement: Statement) -> Section:
    rows = []
    for exposure in statement.exposures:
        loss, worst = exposure.loss, exposure.worst
        losses = (loss.total[worst], loss.backward[worst], loss.forward[worst])
        others = (max(exposure.landmark), exposure.steps.sum)
        figures = [f"{figure:,.3f}" for figure in (*losses, *others)]
        rows.append((exposure.steps.series, exposure.source, moment(exposure.steps.times_ms[worst]), *figures))
    note = (
        "In epsilon. * Landmarks and one step together, at most: an estimate, no bound. "
        "All steps: a bound whatever is correlated within the series."
    )
    return Section("Temporal loss under correlation", note, table(_EXPOSED, rows, numbers=6))


def _composed(statement: Statement) -> Section:
    rows = [
        (
            f"{composed.name}, {composed.asked}" if composed.asked else composed.name,
            composed.largest or composed.series or "all series",
            composed.law.theorem,
            f"{composed.law.kind}, where {composed.law.domain}",
            f"{composed.epsilon:.6g}",
        )
        for composed in statement.composed
    ]
    return Section("Composition", "", table(_COMPOSED, rows, numbers=1))
