"""The plots of what correlation in time adds to a series' loss."""

from typing import TYPE_CHECKING

from stream_app.accounting.exposure import Exposure
from stream_app.audit.canvas import Draw
from stream_app.audit.plots import DAY_MS, LANDMARK_COLOUR, REGULAR_COLOUR, legend_beside, thinned, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def temporal(exposure: Exposure) -> Draw:
    """Draw backward, forward and total loss of each step over what the step itself spent."""

    def draw(axes: "Axes") -> None:
        steps, loss = exposure.steps, exposure.loss
        places = thinned(len(steps.times_ms))
        times = [steps.times_ms[at] / DAY_MS for at in places]
        for label, losses, colour, width in (
            ("total loss", loss.total, "black", 1.4),
            ("backward loss", loss.backward, REGULAR_COLOUR, 1.0),
            ("forward loss", loss.forward, LANDMARK_COLOUR, 1.0),
        ):
            axes.plot(times, [losses[at] for at in places], color=colour, lw=width, label=label)
        spends = [steps.epsilons[at] for at in places]
        axes.fill_between(times, spends, step="mid", color="#9aa5b1", alpha=0.6, lw=0, label="spent at the step")
        axes.set_ylim(bottom=0)
        axes.set_ylabel("temporal loss (epsilon)")
        time_axis(axes)
        legend_beside(axes)

    return draw


def landmark_loss(exposure: Exposure) -> Draw:
    """Draw the estimate for the landmarks and each step, beside the sum over all steps, which is always valid."""

    def draw(axes: "Axes") -> None:
        steps = exposure.steps
        places = thinned(len(steps.times_ms))
        times = [steps.times_ms[at] / DAY_MS for at in places]
        estimate = [exposure.landmark[at] for at in places]
        axes.plot(times, estimate, color="black", lw=1.4, label="landmarks and this step:\nan estimate, no bound")
        landmarks = steps.landmarks
        marked = [landmarks[at] for at in thinned(len(landmarks))]
        axes.plot(
            [steps.times_ms[at] / DAY_MS for at in marked],
            [exposure.landmark[at] for at in marked],
            "D",
            ms=4,
            color=LANDMARK_COLOUR,
            label="landmark",
        )
        axes.axhline(steps.sum, color=REGULAR_COLOUR, ls="--", lw=1.2, label="sum over all steps:\nalways valid")
        axes.set_ylim(bottom=0)
        axes.set_ylabel("loss (epsilon)")
        time_axis(axes)
        legend_beside(axes)

    return draw
