"""The verdict on a policy, and its plots: for each pair, a lower bound on the loss and the declared loss."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from stream_app.pictures import LANDMARK_COLOUR, REGULAR_COLOUR, Draw, legend_below
from stream_app.privacy.values import NANO
from stream_app.verify.event import counted, least_excluded
from stream_app.verify.experiment import Experiment
from stream_app.verify.trial import Seen

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SHOWN_DOUBT = 0.05
"""The error probability of the displayed bounds, over all pairs together."""
BROKEN_DOUBT = 1e-6
"""The error probability of calling a policy "broken", over all pairs together."""


class Judgement(Enum):
    """The verdict; its value is the exit code."""

    HOLDS = 0
    BROKEN = 1
    NO_POWER = 3


class MeasuredBounds(NamedTuple):
    """The lower bounds on the loss that follow from some runs of a pair."""

    shown: float
    """The least loss, at 95 % confidence."""
    certain: float
    """The least loss, at a confidence of 1 - 10^-6."""
    runs: int
    """Number of runs of each history, including those for learning; the smaller number if time ran out."""
    event: str
    """The most telling event; empty if there were too few runs to find one."""


class PairResult(NamedTuple):
    """A pair: what is declared, what was measured, and what the control shows."""

    pair: str
    declared: float
    measured: MeasuredBounds
    control: MeasuredBounds

    @property
    def broken(self) -> bool:
        """Return whether the runs reveal more than the declared loss."""
        return self.measured.certain > self.declared

    @property
    def above(self) -> bool:
        """Return whether the shown bound exceeds the declared loss, though not at the higher confidence."""
        return self.measured.shown > self.declared and not self.broken

    @property
    def found(self) -> bool:
        """Return whether the control is found to be broken."""
        return self.control.certain > self.declared


class Power(NamedTuple):
    """The kinds of fault that this many runs can find."""

    twice: int
    """The number of pairs on which the control, which spends twice the budget, is detected."""
    excluded: float | None
    """The smallest probability at which an outcome that the other history excludes is found.

    None if it is never found.
    """
    events: int
    """The number of all events in the longest history, differing or not."""


class Verdict(NamedTuple):
    """The results for a policy, pair by pair."""

    results: tuple[PairResult, ...]
    events: int = 0
    """The number of releases and looks in the longest history."""

    @property
    def power(self) -> Power:
        """Return which kinds of fault the runs would have found."""
        doubt = BROKEN_DOUBT / max(1, len(self.results))
        found = [least_excluded(result.measured.runs, result.declared, doubt) for result in self.results]
        known = [share for share in found if share is not None]
        every = max(known) if known and len(known) == len(found) else None
        return Power(sum(result.found for result in self.results), every, self.events)

    @property
    def judgement(self) -> Judgement:
        """Return the verdict; finding no fault shows nothing unless the control is found to be broken."""
        if any(result.broken for result in self.results):
            return Judgement.BROKEN
        return Judgement.HOLDS if any(result.found for result in self.results) else Judgement.NO_POWER


def verdict(tried: Experiment, seen: Mapping[tuple[int, bool, int], Seen]) -> Verdict:
    """Return the verdict on an experiment; ``seen`` holds its runs by pair, control and side."""
    results = []
    for nth, pair in enumerate(tried.pairs):
        subject, control = (
            _measured(tried, nth, seen.get((nth, controlled, 0)), seen.get((nth, controlled, 1)))
            for controlled in (False, True)
        )
        results.append(PairResult(pair.name, pair.declared_nano / NANO, subject, control))
    return Verdict(tuple(results), max((len(pair.outputs) for pair in tried.pairs), default=0))


def _measured(tried: Experiment, nth: int, first: Seen | None, second: Seen | None) -> MeasuredBounds:
    if first is None or second is None:
        return MeasuredBounds(0.0, 0.0, 0, "")
    found, runs = counted(tried.pairs[nth], tried.subject.policy.kind, first, second), min(len(first), len(second))
    if found is None:
        return MeasuredBounds(0.0, 0.0, runs, "")
    among = len(tried.pairs)
    return MeasuredBounds(found.loss(SHOWN_DOUBT / among), found.loss(BROKEN_DOUBT / among), runs, str(found.event))


MOST_ROWS = 8
"""Rows in one plot."""
_BAR = 0.38

Row = tuple[str, PairResult]
"""A label and the result that its bars show."""


def plots_of(verdicts: Sequence[tuple[str, Verdict]]) -> Iterator[tuple[str, Draw]]:
    """Yield plots with titles: all pairs of a single policy, or the most telling pair of each policy."""
    rows: list[Row]
    if len(verdicts) == 1:
        ((title, verdict),) = verdicts
        rows = [(result.pair, result) for result in verdict.results]
    else:
        title = "The pair that reveals the most, for each policy"
        rows = [
            (label, max(verdict.results, key=lambda result: result.measured.shown))
            for label, verdict in verdicts
            if verdict.results
        ]
    for start in range(0, len(rows), MOST_ROWS):
        yield title if not start else "", partial(_bounds_of, rows[start : start + MOST_ROWS])


def _bounds_of(rows: Sequence[Row], axes: "Axes") -> None:
    """Draw two bars per row, with a line across them at the declared loss."""
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
    axes.set_xlabel("epsilon, lower bounds at 95 % confidence")
    legend_below(axes)
