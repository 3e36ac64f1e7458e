"""The plots of what correlation in time adds to a series' loss."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from stream_app.accounting.exposure import Exposure
from stream_app.accounting.steps import Steps
from stream_app.pictures import (
    DAY_MS,
    LANDMARK_COLOUR,
    REGULAR_COLOUR,
    Draw,
    legend_below,
    peaks,
    thinned,
    time_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


NEAR: Final = 3.0
"""Up to how many times the largest estimate the sum over all steps is drawn; above, only its figure is told."""


def temporal(exposure: Exposure) -> Draw:
    """Draw backward, forward and total loss of each step over what the step itself spent."""

    def draw(axes: "Axes") -> None:
        steps, loss = exposure.steps, exposure.loss
        for label, losses, colour, width in (
            ("total loss", loss.total, "black", 1.4),
            ("backward loss", loss.backward, REGULAR_COLOUR, 1.0),
            ("forward loss", loss.forward, LANDMARK_COLOUR, 1.0),
        ):
            places = peaks(losses)
            axes.plot(
                _times(steps, places), [losses[at] for at in places], color=colour, lw=width, alpha=0.8, label=label
            )
        places = peaks(steps.epsilons)
        spends = [steps.epsilons[at] for at in places]
        spent = "spent at the step"
        axes.fill_between(_times(steps, places), spends, step="mid", color="#9aa5b1", alpha=0.6, lw=0, label=spent)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("temporal loss (epsilon)")
        time_axis(axes)
        legend_below(axes)

    return draw


def landmark_loss(exposure: Exposure) -> Draw:
    """Draw the estimate for the landmarks and each step, and the sum over all steps, a bound."""

    def draw(axes: "Axes") -> None:
        steps, losses = exposure.steps, exposure.landmark
        places = peaks(losses)
        estimate = [losses[at] for at in places]
        axes.plot(_times(steps, places), estimate, color="black", lw=1.2, label="landmarks and this step: an estimate")
        landmarks = steps.landmarks
        marked = [landmarks[at] for at in thinned(len(landmarks))]
        heights = [losses[at] for at in marked]
        axes.plot(_times(steps, marked), heights, "D", ms=4, color=LANDMARK_COLOUR, label="landmark")
        near = steps.sum <= NEAR * max(estimate)
        above = "" if near else " (above this plot)"
        axes.plot(
            _times(steps, [0, len(losses) - 1]) if near else [],
            [steps.sum, steps.sum] if near else [],
            color=REGULAR_COLOUR,
            ls="--",
            lw=1.2,
            label=f"all steps: {steps.sum:.6g}, whatever is correlated in the series{above}",
        )
        axes.set_ylim(bottom=0)
        axes.set_ylabel("loss (epsilon)")
        time_axis(axes)
        legend_below(axes)

    return draw


def _times(steps: Steps, places: Sequence[int]) -> list[float]:
    return [steps.times_ms[at] / DAY_MS for at in places]
