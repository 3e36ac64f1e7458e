"""The plots of a plan: errors by scheme or by what is protected; losses and epsilon over events."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from stream_app import pictures
from stream_app.calendar.words import duration_in_words
from stream_app.outlook.course import Horizon
from stream_app.outlook.outlook import COUNTS, Crowd, Outlook
from stream_app.outlook.units.request import UnitPlan
from stream_app.outlook.units.table import spans_of
from stream_app.privacy.kinds import Kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BAR = 0.38
_OWN_WIDTH: Final = 2.6
_SIDES: Final = (
    (-_BAR / 2, "landmark", pictures.LANDMARK_COLOUR, pictures.OTHER_COLOURS[2]),
    (_BAR / 2, "regular", pictures.REGULAR_COLOUR, pictures.OTHER_COLOURS[1]),
)
"""The shift and label of each side's bars, and their colours under the policy's own scheme and under others."""


def errors_of(outlooks: Sequence[Outlook], kind: Kind, axes: "Axes") -> None:
    """Draw the expected error of landmarks and regular steps by scheme, with the policy's own scheme in colour."""
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
    width = kind.span
    if width is not None:
        label = f"the value's range, {width:,g}: a release with a larger error says next to nothing"
        axes.axhline(width, color=pictures.TRUTH_COLOUR, ls="--", lw=1.2, label=label)
    axes.set_xticks(range(len(outlooks)), [_label(outlook) for outlook in outlooks], rotation=20, ha="right")
    for tick, outlook in zip(axes.get_xticklabels(), outlooks, strict=True):
        tick.set_fontweight("bold" if outlook.variant.own else "normal")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.set_ylabel("mean error")
    pictures.legend_below(axes)


def losses_of(outlooks: Sequence[Outlook], horizon: Horizon, axes: "Axes") -> None:
    """Draw the temporal loss of each event over time."""
    for place, outlook in _own_last(outlooks):
        if outlook.loss is not None:
            axes.plot(_times(horizon), outlook.loss.total, **_look(place, outlook))
    _finish(axes, "temporal loss (epsilon)", outlooks, horizon)


def spends_of(outlooks: Sequence[Outlook], horizon: Horizon, axes: "Axes") -> None:
    """Draw what each event spends over time."""
    for place, outlook in _own_last(outlooks):
        spends = (*outlook.epsilons, outlook.epsilons[-1])  # gives the last event a width too
        axes.plot(_times(horizon, 1), spends, drawstyle="steps-post", **_look(place, outlook))
    _finish(axes, "epsilon", outlooks, horizon)


def noise_of(crowds: Sequence[Crowd], kind: Kind, axes: "Axes") -> None:
    """Draw the scale of the noise by the number of landmarks for each scheme, on logarithmic axes."""
    for place, outlook in _own_last(crowds[0].outlooks):
        for side, marker, face in (("landmark", "o", None), ("regular", "o", "white")):
            scales = [(crowd.landmarks, getattr(crowd.outlooks[place], side).scale) for crowd in crowds]
            drawn = [(landmarks, scale.mean) for landmarks, scale in scales if scale is not None]
            if drawn:
                look = _look(place, outlook)
                look["label"] = look["label"] if side == "landmark" else None
                axes.plot(*zip(*drawn, strict=True), marker=marker, ms=4.5, mfc=face, **look)
    width = kind.span
    if width is not None:
        axes.axhline(width, color=pictures.TRUTH_COLOUR, ls="--", lw=1.2, label=f"the value's range, {width:,g}")
    axes.set(xscale="log", yscale="log", xlabel="landmarks", ylabel="scale of the noise")
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.set_xticks(COUNTS, [str(count) for count in COUNTS])
    axes.minorticks_off()
    pictures.legend_below(axes)


def _look(place: int, outlook: Outlook) -> dict[str, Any]:
    """Return the style of a scheme's line: its own colour and on top, or grey with different dashes."""
    label = _label(outlook)
    if outlook.variant.own:
        return {"color": pictures.OWN_COLOUR, "lw": _OWN_WIDTH, "zorder": 4, "label": label}
    colours, dashes = pictures.OTHER_COLOURS, pictures.DASHES
    return {"color": colours[place % len(colours)], "lw": 1.4, "ls": dashes[place % len(dashes)], "label": label}


def _own_last(outlooks: Sequence[Outlook]) -> list[tuple[int, Outlook]]:
    """Return the schemes and their positions, with the policy's own scheme last so that it is drawn on top."""
    return sorted(enumerate(outlooks), key=lambda found: found[1].variant.own)


def _times(horizon: Horizon, more: int = 0) -> list[float]:
    """Return the times of the events and of ``more`` later ones, in days, as on the time axis."""
    times_ms = (horizon.start_ms + number * horizon.every_ms for number in range(horizon.events + more))
    return [min(time_ms, pictures.LAST_MS) / pictures.DAY_MS for time_ms in times_ms]


def _finish(axes: "Axes", name: str, outlooks: Sequence[Outlook], horizon: Horizon) -> None:
    times_ms = list(horizon.timestamps())
    runs = groupby(zip(times_ms, outlooks[0].landmarks, strict=True), lambda event: event[1])
    landmarks = [[time_ms for time_ms, _ in run] for landmark, run in runs if landmark]
    pictures.shade_landmarks(axes, [(run[0], run[-1] + horizon.every_ms) for run in landmarks])
    axes.set_ylim(bottom=0)
    axes.set_ylabel(name)
    pictures.time_axis(axes)
    axes.set_xlabel("made-up event (UTC)")
    pictures.legend_below(axes)


def _label(outlook: Outlook) -> str:
    return outlook.variant.label + (" *" if outlook.variant.own else "")


_MARKERS = ("o", "s", "D", "^")


def title(plan: UnitPlan) -> str:
    """Return the title of the plot of a unit plan."""
    return f"Error of a {plan.asked.kind.statistic}, {plan.asked.kind.error_unit}, by what is protected"


def errors_by_unit(plan: UnitPlan, axes: "Axes") -> None:
    """Draw the error of each span by unit length times window, with the constant baseline if there are data."""
    colours = (pictures.OWN_COLOUR, pictures.LANDMARK_COLOUR, pictures.REGULAR_COLOUR, pictures.TRUTH_COLOUR)
    for nth, span in enumerate(spans_of(plan.asked)):
        points = sorted(
            (row.unit_ms * row.window, found.error, found.constant)
            for row in plan.rows
            for found in row.spans
            if found.span == span and (row.window == 1 or row.own)
        )
        if not points:
            continue
        lengths, errors, constants = zip(*points, strict=True)
        look: dict[str, Any] = {
            "color": colours[nth % len(colours)],
            "marker": _MARKERS[nth % len(_MARKERS)],
            "ms": 4.5,
        }
        name = duration_in_words(plan.asked.step_ms) if span == "step" else span
        axes.plot(lengths, errors, lw=1.6, label=name, **look)
        if constants[0] is not None:
            axes.plot(lengths, constants, lw=1.0, ls=":", color=look["color"], label=f"{name}: best constant")
    own_ms = plan.asked.unit_ms * plan.asked.window
    axes.axvline(own_ms, color=pictures.TRUTH_COLOUR, ls="--", lw=1.0, label="the policy's own")
    if plan.memory is not None:
        axes.axvspan(
            own_ms, max(own_ms, plan.memory.lag_ms), color=pictures.LANDMARK_COLOUR, alpha=0.1, lw=0,
            label="values still resemble each other",
        )  # fmt: skip
    lengths_ms = sorted({row.unit_ms for row in plan.rows})
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(lengths_ms, [duration_in_words(each) for each in lengths_ms], rotation=20, ha="right")
    axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.set_xlabel("protected together (unit, or window of units)")
    axes.set_ylabel("mean error of a release")
    pictures.legend_below(axes)
