"""The plots of a plan: errors by scheme, losses and spends over the events."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from stream_app.outlook.horizon import Horizon
from stream_app.outlook.outlook import COUNTS, Crowd, Outlook
from stream_app.pictures import (
    DASHES,
    DAY_MS,
    LANDMARK_COLOUR,
    LAST_MS,
    OTHER_COLOURS,
    OWN_COLOUR,
    REGULAR_COLOUR,
    TRUTH_COLOUR,
    Draw,
    legend_below,
    shade_landmarks,
    time_axis,
)
from stream_app.privacy.kinds import Kind, Mean, Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BAR = 0.38
_OWN_WIDTH: Final = 2.6
_SIDES: Final = (
    (-_BAR / 2, "landmark", LANDMARK_COLOUR, OTHER_COLOURS[2]),
    (_BAR / 2, "regular", REGULAR_COLOUR, OTHER_COLOURS[1]),
)
"""Of bars: their shift, what they are of, their colour under the own scheme and under others."""


def range_of(kind: Kind) -> float | None:
    """Return the width of the range of a single number, from which on an error says nothing; None: there is none."""
    match kind:
        case Number():
            return kind.axis.double(kind.axis.high) - kind.axis.double(kind.axis.low)
        case Mean():
            return range_of(kind.item)
        case _:
            return None


def errors_of(outlooks: Sequence[Outlook], kind: Kind) -> Draw:
    """Draw the expected error of landmarks and of regular steps, scheme by scheme, the own one in colour."""

    def draw(axes: "Axes") -> None:
        for shift, name, own, other in _SIDES:
            for mine in (True, False):
                sides = [(place, getattr(outlook, name).error) for place, outlook in enumerate(outlooks)]
                drawn = [
                    (place + shift, side.mean)
                    for place, side in sides
                    if side is not None and outlooks[place].variant.own == mine
                ]
                if drawn:
                    label = f"{name}, own scheme" if mine else f"{name}, other schemes"
                    places, errors = zip(*drawn, strict=True)
                    axes.bar(places, errors, width=_BAR, color=own if mine else other, label=label)
        width = range_of(kind)
        if width is not None:
            label = f"the value's range, {width:,g}: one release beyond it tells next to nothing"
            axes.axhline(width, color=TRUTH_COLOUR, ls="--", lw=1.2, label=label)
        axes.set_xticks(range(len(outlooks)), [_label(outlook) for outlook in outlooks], rotation=20, ha="right")
        for tick, outlook in zip(axes.get_xticklabels(), outlooks, strict=True):
            tick.set_fontweight("bold" if outlook.variant.own else "normal")
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter("{x:,g}")
        axes.set_ylabel("mean error")
        legend_below(axes)

    return draw


def losses_of(outlooks: Sequence[Outlook], horizon: Horizon) -> Draw:
    """Draw the temporal loss of each event, in time."""

    def draw(axes: "Axes") -> None:
        for place, outlook in _own_last(outlooks):
            if outlook.loss is not None:
                axes.plot(_times(horizon), outlook.loss.total, **_look(place, outlook))
        _finish(axes, "temporal loss (epsilon)", outlooks, horizon)

    return draw


def spends_of(outlooks: Sequence[Outlook], horizon: Horizon) -> Draw:
    """Draw what each event spends, in time."""

    def draw(axes: "Axes") -> None:
        for place, outlook in _own_last(outlooks):
            spends = (*outlook.epsilons, outlook.epsilons[-1])  # the last event, too, has its width
            axes.plot(_times(horizon, 1), spends, drawstyle="steps-post", **_look(place, outlook))
        _finish(axes, "epsilon", outlooks, horizon)

    return draw


def noise_of(crowds: Sequence[Crowd], kind: Kind) -> Draw:
    """Draw the scale of the noise by the number of landmarks, scheme by scheme, on logarithmic axes."""

    def draw(axes: "Axes") -> None:
        for place, outlook in _own_last(crowds[0].outlooks):
            for side, marker, face in (("landmark", "o", None), ("regular", "o", "white")):
                scales = [(crowd.landmarks, getattr(crowd.outlooks[place], side).scale) for crowd in crowds]
                drawn = [(landmarks, scale.mean) for landmarks, scale in scales if scale is not None]
                if drawn:
                    look = _look(place, outlook)
                    look["label"] = look["label"] if side == "landmark" else None
                    axes.plot(*zip(*drawn, strict=True), marker=marker, ms=4.5, mfc=face, **look)
        width = range_of(kind)
        if width is not None:
            axes.axhline(width, color=TRUTH_COLOUR, ls="--", lw=1.2, label=f"the value's range, {width:,g}")
        axes.set(xscale="log", yscale="log", xlabel="landmarks", ylabel="scale of the noise")
        axes.yaxis.set_major_formatter("{x:,g}")
        axes.set_xticks(COUNTS, [str(count) for count in COUNTS])
        axes.minorticks_off()
        legend_below(axes)

    return draw


def _look(place: int, outlook: Outlook) -> dict[str, Any]:
    """Return how a scheme's line looks: the own one in colour above all, the others grey and told apart by dashes."""
    label = _label(outlook)
    if outlook.variant.own:
        return {"color": OWN_COLOUR, "lw": _OWN_WIDTH, "zorder": 4, "label": label}
    colour, dashes = OTHER_COLOURS[place % len(OTHER_COLOURS)], DASHES[place % len(DASHES)]
    return {"color": colour, "lw": 1.4, "ls": dashes, "label": label}


def _own_last(outlooks: Sequence[Outlook]) -> list[tuple[int, Outlook]]:
    """Return the schemes with their places, the own one last: what is drawn last lies above."""
    return sorted(enumerate(outlooks), key=lambda found: found[1].variant.own)


def _times(horizon: Horizon, more: int = 0) -> list[float]:
    """Return the times of the events, and of some more behind them, in days, as the axis of times counts them."""
    times_ms = (horizon.start_ms + number * horizon.every_ms for number in range(horizon.events + more))
    return [min(time_ms, LAST_MS) / DAY_MS for time_ms in times_ms]


def _finish(axes: "Axes", name: str, outlooks: Sequence[Outlook], horizon: Horizon) -> None:
    times_ms = list(horizon.timestamps())
    runs = groupby(zip(times_ms, outlooks[0].landmarks, strict=True), lambda event: event[1])
    landmarks = [[time_ms for time_ms, _ in run] for landmark, run in runs if landmark]
    shade_landmarks(axes, [(run[0], run[-1] + horizon.every_ms) for run in landmarks])
    axes.set_ylim(bottom=0)
    axes.set_ylabel(name)
    time_axis(axes)
    axes.set_xlabel("made-up event (UTC)")
    legend_below(axes)


def _label(outlook: Outlook) -> str:
    return outlook.variant.label + (" *" if outlook.variant.own else "")
