"""Observations of a batch decided together, in rounds: the first of each series, then the second, and so on."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, final

import numpy as np

from stream_app.deciding.columns.carried import Carried, Figures, gathered, put_back, state_of
from stream_app.deciding.columns.sorting import Flags, Ints, Together
from stream_app.deciding.columns.states import Group, States
from stream_app.privacy.fold import publish
from stream_app.privacy.landmarks import LandmarkSets
from stream_app.privacy.noise.draws import Draws
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.state import NEVER, Promise


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
    landmarks = [states.periods[place].landmarks for place in here.tolist()]
    cells = rule.kind.quantise_each(chosen.numbers[nth])
    steps.epochs[:] = keys.epoch_of(steps.starts_ms)
    for events, epoch in _rounds(chosen.ranks[nth], steps.epochs):
        series, starts_ms = own[events], steps.starts_ms[events]
        now = gathered(figures, series)
        columns: list[Any] = [now[name] for name in Carried._fields]
        held = Carried(*columns)
        sets: Any = LandmarkSets(tuple([landmarks[one] for one in series.tolist()]))
        promise = Promise(landmarks=sets, spare_left=held.spare_left, prior_nano=0, first_budget_nano=0)
        before = state_of(held, tuple(levels[series].T), promise, 0, rule)
        draws = Draws(_secret(keys, epoch), epoch, [names[event] for event in events.tolist()])
        stepped: Any = publish(rule, before, starts_ms // rule.step_ms, draws, (cells[events],))
        after, published = stepped.state, stepped.spend_nano > 0
        guard, latest = after.guard, after.latest
        moved = {
            "landmark_spent_nano": guard.landmark_spent_nano,
            "regular_peak_nano": guard.regular_peak_nano,
            "decided_ms": starts_ms,
            "rate_nano": latest.rate_nano,
            "source_ms": latest.source_ms,
            "measurement": latest.measurement[0],
            "estimate": latest.estimate[0],
            "sequence": held.sequence + 1,
        }
        for name, column in moved.items():
            figures[name][series] = column
        if rule.filtered:
            levels[series] = np.stack(latest.level, 1)
        for name, column in (
            ("published", published),
            ("landmark", stepped.landmark),
            ("left", stepped.landmarks_left),
            ("spend_nano", stepped.spend_nano),
            ("spent", guard.landmark_spent_nano),
            ("peak", guard.regular_peak_nano),
            ("source_ms", latest.source_ms),
            ("measured", latest.measurement[0]),
            ("estimates", latest.estimate[0]),
            ("sequences", moved["sequence"]),
        ):
            getattr(steps, name)[events] = column
    figures["used"] = states.batch
    put_back(states.figures, here, figures)
    if rule.filtered:
        states.levels[here] = levels
    grown_nano = _used_nano(figures) - used_before
    return steps, Tally(group, _decisions(steps), int(steps.spend_nano.sum()), grown_nano)


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


def _used_nano(figures: Figures) -> int:
    return int((figures["landmark_spent_nano"] + figures["regular_peak_nano"]).sum())


def _decisions(steps: Steps) -> dict[str, int]:
    repeated: Flags = ~steps.published & (steps.source_ms != NEVER)
    counts = {"perturbed": int(steps.published.sum()), "approximated": int(repeated.sum())}
    counts["withheld"] = len(repeated) - sum(counts.values())
    return {decision: count for decision, count in counts.items() if count}
