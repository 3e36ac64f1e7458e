"""The plots of a plan: errors by scheme, losses and spends over the events."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from stream_app.outlook.outlook import COUNTS, Crowd, Outlook
from stream_app.pictures import LANDMARK_COLOUR, REGULAR_COLOUR, Draw, legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BAR = 0.38


def errors_of(outlooks: Sequence[Outlook]) -> Draw:
    """Draw the expected error of landmarks and of regular steps, scheme by scheme."""

    def draw(axes: "Axes") -> None:
        for shift, name, colour in ((-_BAR / 2, "landmark", LANDMARK_COLOUR), (_BAR / 2, "regular", REGULAR_COLOUR)):
            sides = [getattr(outlook, name).error for outlook in outlooks]
            drawn = [(place, mean.mean) for place, mean in enumerate(sides) if mean is not None]
            if drawn:
                places, errors = zip(*drawn, strict=True)
                axes.bar([place + shift for place in places], errors, width=_BAR, color=colour, label=name)
        axes.set_xticks(range(len(outlooks)), [_label(outlook) for outlook in outlooks], rotation=20, ha="right")
        axes.set_ylim(bottom=0)
        axes.set_ylabel("mean over published steps")
        axes.legend()

    return draw


def losses_of(outlooks: Sequence[Outlook]) -> Draw:
    """Draw the temporal loss of each event."""

    def draw(axes: "Axes") -> None:
        for place, outlook in enumerate(outlooks):
            if outlook.loss is not None:
                axes.plot(outlook.loss.total, lw=_width(place), label=_label(outlook))
        _finish(axes, "temporal loss (epsilon)", outlooks)

    return draw


def spends_of(outlooks: Sequence[Outlook]) -> Draw:
    """Draw what each event spends."""

    def draw(axes: "Axes") -> None:
        for place, outlook in enumerate(outlooks):
            axes.plot(outlook.epsilons, lw=_width(place), drawstyle="steps-mid", label=_label(outlook))
        _finish(axes, "epsilon", outlooks)

    return draw


def noise_of(crowds: Sequence[Crowd]) -> Draw:
    """Draw the scale of the noise by the number of landmarks, scheme by scheme, on logarithmic axes."""

    def draw(axes: "Axes") -> None:
        for place, outlook in enumerate(crowds[0].outlooks):
            colour = f"C{place}"
            for side, dashes in (("landmark", "-"), ("regular", (0, (4, 3)))):
                scales = [(crowd.landmarks, getattr(crowd.outlooks[place], side).scale) for crowd in crowds]
                drawn = [(landmarks, scale.mean) for landmarks, scale in scales if scale is not None]
                if drawn:
                    label = _label(outlook) if side == "landmark" else None
                    axes.plot(
                        *zip(*drawn, strict=True), lw=_width(place), ls=dashes, color=colour, marker=".", label=label
                    )
        axes.set(xscale="log", yscale="log", xlabel="landmarks", ylabel="scale of the noise")
        axes.yaxis.set_major_formatter("{x:,g}")
        axes.set_xticks(COUNTS, [str(count) for count in COUNTS])
        axes.minorticks_off()
        legend_below(axes)

    return draw


def _width(place: int) -> float:
    """Return a line's width: what comes later is thinner, so that of equal lines each is seen."""
    return max(1.0, 4.5 - 1.3 * place)


def _finish(axes: "Axes", name: str, outlooks: Sequence[Outlook]) -> None:
    label: str | None = "landmarks"
    for landmark, run in groupby(enumerate(outlooks[0].landmarks), lambda event: event[1]):
        if landmark:
            places = [place for place, _ in run]
            axes.axvspan(places[0] - 0.5, places[-1] + 0.5, color=LANDMARK_COLOUR, alpha=0.12, lw=0, label=label)
            label = None
    axes.set_ylim(bottom=0)
    axes.set_ylabel(name)
    axes.set_xlabel("event")
    axes.locator_params(axis="x", integer=True)
    legend_below(axes)


def _label(outlook: Outlook) -> str:
    return outlook.variant.label + (" *" if outlook.variant.own else "")
