"""What was computed beyond the audit, as text for people and as members of the JSON report."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, NamedTuple

from stream_app.accounting.composed import Composed
from stream_app.accounting.law import LAWS
from stream_app.accounting.temporal import CorrelatedLoss, LeftOut
from stream_app.words.amount import quoted


class Statement(NamedTuple):
    """Losses under correlation and compositions, each list in the order in which they were asked for."""

    correlated_losses: Sequence[CorrelatedLoss]
    composed: Sequence[Composed]
    left_out: Sequence[LeftOut]

    def document(self) -> dict[str, Any]:
        """Return the members that it adds to the `--json` report."""
        return {
            "temporal": [correlated.document() for correlated in self.correlated_losses],
            "composition": [composed.document() for composed in self.composed],
            "left_out": [one.document() for one in self.left_out],
        }

    def lines(self) -> list[str]:
        """Return it as text, to follow the report."""
        lines = []
        for correlated in self.correlated_losses:
            lines += _loss_lines(correlated)
        for name, cases in groupby(self.composed, key=lambda composed: composed.name):
            law = LAWS[name]
            kind = "a bound" if law.kind == "bound" else "an estimate, no bound,"
            lines.append(f"{name}: {law.theorem}; {kind} where {law.domain}")
            lines += [_composed(composed) for composed in cases]
        return lines + [f"{quoted(one.series)} is left out: {one.reason}" for one in self.left_out]


def moment(time_ms: int) -> str:
    """Return a time in words, UTC."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _loss_lines(correlated: CorrelatedLoss) -> list[str]:
    steps, loss, worst = correlated.steps, correlated.loss, correlated.worst
    at = moment(steps.times_ms[worst])
    parts = f"{loss.backward[worst]:.6g} backward, {loss.forward[worst]:.6g} forward, {steps.epsilons[worst]:.6g} spent"
    return [
        f"temporal loss of {quoted(steps.series)} under {quoted(correlated.source)}, {len(steps.times_ms)} steps",
        f"  worst step {at}: {loss.total[worst]:.6g} in all ({parts})",
        f"  landmarks and one step: {max(correlated.landmark):.6g}, an estimate and no bound",
        f"  all steps: {steps.sum:.6g}, whatever is correlated within the series",
    ]


def _composed(composed: Composed) -> str:
    of = "all series" if composed.series is None else quoted(composed.series)
    if composed.largest is not None:
        kind = "member" if composed.name == "parallel-members" else "series"
        of = f"the {kind} that lost most, {quoted(composed.largest)}"
    return f"  {of}: {composed.epsilon:.9g}" + (f" ({composed.asked})" if composed.asked else "")
