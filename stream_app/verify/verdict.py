"""The verdict on a policy: a lower bound of the loss for each pair, beside what is declared."""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from stream_app.privacy.values import NANO
from stream_app.verify.event import EventCount, counted
from stream_app.verify.experiment import Experiment
from stream_app.verify.trial import Seen

SHOWN_DOUBT = 0.05
"""Of the bounds that are shown, over all pairs together."""
BROKEN_DOUBT = 1e-6
"""Of the word "broken", over all pairs together."""


class Judgement(Enum):
    """The verdict; its value is the exit code."""

    HOLDS = 0
    BROKEN = 1
    NO_POWER = 3


class Measured(NamedTuple):
    """The lower bounds of the loss that some runs of a pair show."""

    shown: float
    """The loss is at least so much, with confidence 95 %."""
    certain: float
    """At confidence 1 - 10^-6."""
    runs: int
    """Of each of the two histories, learning included; of the shorter one where time ended in between."""
    event: str
    """The most telling one; empty where there were too few runs to find one."""


class PairResult(NamedTuple):
    """A pair: what is declared, what was measured, what the control shows."""

    pair: str
    declared: float
    measured: Measured
    control: Measured

    @property
    def broken(self) -> bool:
        """Return whether more is told than declared."""
        return self.measured.certain > self.declared

    @property
    def found(self) -> bool:
        """Return whether the control is found to be broken."""
        return self.control.certain > self.declared


class Verdict(NamedTuple):
    """The results of a policy, pair by pair."""

    results: tuple[PairResult, ...]

    @property
    def judgement(self) -> Judgement:
        """Return the verdict: a test that does not find the control shows nothing when it finds no fault."""
        if any(result.broken for result in self.results):
            return Judgement.BROKEN
        return Judgement.HOLDS if any(result.found for result in self.results) else Judgement.NO_POWER


def verdict(tried: Experiment, seen: Mapping[tuple[int, bool, int], Seen]) -> Verdict:
    """Return the verdict on an experiment; ``seen`` holds its runs by pair, control and side."""
    results = []
    for nth, pair in enumerate(tried.pairs):
        measures = []
        for control in (False, True):
            sides = [seen.get((nth, control, side)) for side in (0, 1)]
            first, second = sides
            if first is None or second is None:
                measures.append(_measured(None, 0, len(tried.pairs)))
                continue
            found = counted(pair, tried.policy.kind, first, second)
            measures.append(_measured(found, min(len(first), len(second)), len(tried.pairs)))
        results.append(PairResult(pair.name, pair.declared_nano / NANO, measures[0], measures[1]))
    return Verdict(tuple(results))


def _measured(found: EventCount | None, runs: int, among: int) -> Measured:
    if found is None:
        return Measured(0.0, 0.0, runs, "")
    return Measured(found.loss(SHOWN_DOUBT / among), found.loss(BROKEN_DOUBT / among), runs, str(found.event))
