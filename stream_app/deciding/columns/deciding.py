"""Observations of a batch decided together, in rounds: the first of each series, then the second, and so on."""

from collections.abc import Iterator
from typing import Final, NamedTuple, final

import numpy as np

from stream_app.deciding.columns.carried import Figures, gathered, put_back
from stream_app.deciding.columns.sorting import Flags, Ints, Together
from stream_app.deciding.columns.states import Group, States
from stream_app.privacy.amounts import Doubles
from stream_app.privacy.columns import Draws, Held, places, take
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.state import NEVER

MOVED: Final = (
    "landmark_spent_nano", "regular_peak_nano", "source_ms", "measurement", "estimate", "rate_nano"
)  # fmt: skip
"""Figures that `take` reads and gives anew."""


@final
class Steps:
    """What the steps of one group came to: equally many of each, in the order of the batch."""

    __slots__ = (
        "budget_nano", "epochs", "estimates", "group", "landmark", "left", "measured", "names", "nth", "peak", "places",
        "published", "sequences", "source_ms", "spend_nano", "spent", "starts_ms",
    )  # fmt: skip

    def __init__(
        self, group: Group, nth: Ints, places: Ints, names: list[bytes], starts_ms: Ints, budget_nano: Ints
    ) -> None:
        count = len(nth)
        self.group: Final = group
        self.nth: Final = nth  # their numbers among those that are decided together
        self.places: Final = places
        self.names: Final = names  # their series in UTF-8
        self.starts_ms: Final = starts_ms
        self.budget_nano: Final = budget_nano
        self.epochs: Final = np.zeros(count, np.int64)
        self.published: Final = np.zeros(count, np.bool_)
        self.landmark: Final = np.zeros(count, np.bool_)
        self.left, self.spend_nano, self.spent, self.peak = (np.zeros(count, np.int64) for _ in range(4))
        self.source_ms, self.measured, self.estimates, self.sequences = (np.zeros(count, np.int64) for _ in range(4))


class Tally(NamedTuple):
    """What is counted of the steps of one group."""

    group: Group
    decisions: dict[str, int]
    spent_nano: int
    used_nano: int
    """By how much S + M grew over its series."""


def decided(keys: KeyRing, states: States, chosen: Together) -> Iterator[tuple[Steps, Tally]]:
    """Decide what was chosen, group by group; ``states`` stand behind it then, but for hashes.

    Guarantee: what `stream_app.deciding.decision.decide` comes to for each record, in the order of the batch.
    """
    for number in np.unique(chosen.groups).tolist():
        (nth,) = np.nonzero(chosen.groups == number)
        yield _group(keys, states, states.groups[number], nth, chosen)


def _group(keys: KeyRing, states: States, group: Group, nth: Ints, chosen: Together) -> tuple[Steps, Tally]:
    rule = group.rule
    here, own = np.unique(chosen.places[nth], return_inverse=True)
    figures = gathered(states.figures, here)
    levels = states.levels[here] if rule.filtered else np.zeros((len(here), 0))
    used_before = _used_nano(figures)
    names = [states.names[place].encode() for place in chosen.places[nth].tolist()]
    steps = Steps(group, nth, chosen.places[nth], names, chosen.starts_ms[nth], figures["budget_nano"][own])
    landmarks = [states.periods[place].landmarks for place in steps.places.tolist()]
    at = places(
        rule, steps.starts_ms // rule.step_ms, figures["first_step"][own], landmarks, figures["spare_left"][own]
    )
    cells = rule.kind.quantise_each(chosen.numbers[nth])
    steps.landmark[:], steps.left[:] = at.landmark, at.left - (at.landmark & (at.left > 0))
    steps.epochs[:] = keys.epoch_of(steps.starts_ms)
    ranks = chosen.ranks[nth]
    draws = {
        epoch: Draws(_secret(keys, epoch), epoch, rule, steps.names, steps.starts_ms) for epoch in _each(steps.epochs)
    }
    for events, epoch in _rounds(ranks, steps.epochs):
        series = own[events]
        held, now = gathered(figures, series), at.of(events)
        before = _held(held, levels[series], now.steps - held["decided_ms"] // rule.step_ms)
        taken = take(rule, before, now, cells[events], draws[epoch], events)
        levels[series] = taken.level
        sequences = held["sequence"] + 1
        for name in MOVED:
            figures[name][series] = getattr(taken, name)
        figures["sequence"][series], figures["decided_ms"][series] = sequences, steps.starts_ms[events]
        steps.published[events], steps.spend_nano[events] = taken.published, taken.spend_nano
        steps.spent[events], steps.peak[events] = taken.landmark_spent_nano, taken.regular_peak_nano
        steps.source_ms[events], steps.measured[events] = taken.source_ms, taken.measurement
        steps.estimates[events] = taken.estimate
        steps.sequences[events] = sequences
    figures["used"] = states.batch
    put_back(states.figures, here, figures)
    if rule.filtered:
        states.levels[here] = levels
    grown_nano = _used_nano(figures) - used_before
    return steps, Tally(group, _decisions(steps), int(steps.spend_nano[steps.published].sum()), grown_nano)


def _secret(keys: KeyRing, epoch: int) -> bytes:
    secret = keys.secret_of(epoch)
    assert secret is not None, "steps of erased epochs are not decided together"
    return secret


def _each(epochs: Ints) -> list[int]:
    found: list[int] = np.unique(epochs).tolist()
    return found


def _rounds(ranks: Ints, epochs: Ints) -> Iterator[tuple[Ints, int]]:
    """Yield which events are decided at once: no two of one series, all of one epoch, in the order of each series."""
    for rank in range(int(ranks.max()) + 1):
        (events,) = np.nonzero(ranks == rank)
        of_epochs = epochs[events]
        for epoch in _each(of_epochs):
            yield events[of_epochs == epoch], epoch


def _held(figures: Figures, levels: Doubles, elapsed: Ints) -> Held:
    return Held(
        budget_nano=figures["budget_nano"], **{name: figures[name] for name in MOVED}, level=levels, elapsed=elapsed
    )


def _used_nano(figures: Figures) -> int:
    return int((figures["landmark_spent_nano"] + figures["regular_peak_nano"]).sum())


def _decisions(steps: Steps) -> dict[str, int]:
    repeated: Flags = ~steps.published & (steps.source_ms != NEVER)
    counts = {"perturbed": int(steps.published.sum()), "approximated": int(repeated.sum())}
    counts["withheld"] = len(repeated) - sum(counts.values())
    return {decision: count for decision, count in counts.items() if count}
