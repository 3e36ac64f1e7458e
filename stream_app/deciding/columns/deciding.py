"""Processes a batch's observations in rounds: the first of each series, then the second, and so on.

This module also creates the bytes of the results: releases, ledger entries sealed into their series' chains, and stored
rows. The bytes are the same as those from `stream_app.deciding.rows`.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import Any, Final, NamedTuple, assert_never

import numpy as np

from stream_app.deciding.columns.carried import (
    CELLS,
    FIGURES,
    RUNS,
    Figures,
    SeriesFigures,
    gathered,
    guard_of,
    put_back,
    state_of,
)
from stream_app.deciding.columns.sorting import Together
from stream_app.deciding.columns.states import Group, States
from stream_app.deciding.rows import table_key
from stream_app.formats.columns import lists, quoted, texts
from stream_app.formats.encoding import HASH_BYTES, Output, TextForm, contents, written
from stream_app.privacy.amounts import Ints
from stream_app.privacy.fold import StepResult, publish
from stream_app.privacy.landmarks import NO_LANDMARKS, LandmarkSets
from stream_app.privacy.noise.draws import Draws
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.published import Decision, decision_of
from stream_app.privacy.state import NEVER, Promise, last_decided

_NO_PROMISE: Final = Promise(landmarks=NO_LANDMARKS, spare_left=0, prior_nano=0, first_budget_nano=0)


class Steps(NamedTuple):
    """The results of one group's steps, in the order of the batch; each field has one item per step."""

    group: Group
    nth: Ints
    """The steps' numbers among the observations processed together."""
    here: Ints
    """The indices of the steps' series, each listed once, ascending."""
    places: Ints
    """The index of each step's series."""
    keys: list[bytes]
    made: dict[str, Ints]
    """The figures after each step, by name, and all other contents of the step's entry."""
    used_nano: int
    """The increase in S + M over all these series."""

    decisions: list[Decision]
    """The decision of each step."""


def decided(keys: KeyRing, states: States, chosen: Together) -> Iterator[Steps]:
    """Process the chosen observations group by group; ``states`` are updated, except for hashes.

    Guarantee: the results are those of `stream_app.deciding.decision.decide` for each record, in the order of the
    batch.
    """
    for number in np.flatnonzero(np.bincount(chosen.groups)).tolist():
        (nth,) = np.nonzero(chosen.groups == number)
        yield _group(keys, states, states.groups[number], nth, chosen)


def _group(keys: KeyRing, states: States, group: Group, nth: Ints, chosen: Together) -> Steps:
    rule, places, all_starts_ms = group.rule, chosen.places[nth], chosen.starts_ms[nth]
    here, own = np.unique(places, return_inverse=True)
    figures = gathered(states.figures, here)
    levels = states.levels[here] if rule.filtered else np.zeros((len(here), 0))
    used_before = _used_nano(figures)
    names = [states.names[place].encode() for place in places.tolist()]
    landmarks = [states.periods[place].promise.landmarks for place in here.tolist()]
    cells = rule.kind.cell(chosen.numbers[nth])
    made: dict[str, Ints] = defaultdict(lambda: np.zeros(len(nth), np.int64))
    for events, epoch in _rounds(chosen.ranks[nth], keys.epoch_of(all_starts_ms)):
        series, starts_ms = own[events], all_starts_ms[events]
        now = gathered(figures, series)
        columns: list[Any] = [now[name] for name in SeriesFigures._fields]
        held = SeriesFigures(*columns)
        sets: Any = LandmarkSets(tuple([landmarks[one] for one in series.tolist()]))
        promise = replace(_NO_PROMISE, landmarks=sets, spare_left=held.spare_left)
        before = state_of(held, tuple(levels[series].T), promise, 0, rule)
        secret = keys.secret_of(epoch)
        assert secret is not None, "steps of erased epochs are not processed together"
        draws = Draws(secret, epoch, [names[event] for event in events.tolist()])
        stepped: Any = publish(rule, before, starts_ms // rule.step_ms, draws, (cells[events],))
        guard, latest = stepped.state.guard, stepped.state.latest
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
        told = {
            "budget_nano": held.budget_nano,
            "spend_nano": stepped.spend_nano,
            "landmark": stepped.landmark,
            "left": stepped.landmarks_left,
            "epoch": epoch,
        }
        for name, column in (moved | told).items():
            made[name][events] = column
    figures["used"] = states.batch
    put_back(states.figures, here, figures)
    if rule.filtered:
        states.levels[here] = levels
    words: Any = decision_of(made["spend_nano"] > 0, made["source_ms"] != NEVER)
    return Steps(group, nth, here, places, names, made, _used_nano(figures) - used_before, words.tolist())


def _rounds(ranks: Ints, epochs: Ints) -> Iterator[tuple[Ints, int]]:
    """Yield sets of events to process at once: from one epoch, at most one per series, and in each series' order."""
    for rank in range(int(ranks.max()) + 1):
        (events,) = np.nonzero(ranks == rank)
        of_epochs = epochs[events]
        for epoch in np.unique(of_epochs).tolist():
            yield events[of_epochs == epoch], epoch


def _used_nano(figures: Figures) -> int:
    return int(np.sum(guard_of(figures, np.arange(len(figures))).used_nano))


def outputs(states: States, decided: Sequence[Steps], count: int, fingerprint: str) -> Iterator[Output]:
    """Yield the outputs of each of ``count`` steps, in the order of the batch.

    Each entry is sealed into its series' chain; after the last entry, ``states`` contain the hashes. ``fingerprint``
    names the noise key.
    """
    if not decided:
        return
    here = np.concatenate([steps.here for steps in decided])
    last = dict(zip(here.tolist(), links(states, here), strict=True))
    turns = np.zeros(count, np.int64)
    for number, steps in enumerate(decided):
        turns[steps.nth] = number
    made = [_written(states, steps, fingerprint, last) for steps in decided]
    yield from map(next, map(made.__getitem__, turns.tolist()))
    digests = bytes.fromhex("".join(last.values()))
    states.figures["previous"][here] = np.frombuffer(digests, FIGURES["previous"])


_MANY: Final = TextForm(whole=texts, json=texts, nothing=repeat(""))


def _written(states: States, steps: Steps, fingerprint: str, last: dict[int, str]) -> Iterator[Output]:
    """Yield the outputs of a group's steps; ``last`` maps each series' index to the hash of its last entry."""
    places, made, rule = steps.places.tolist(), steps.made, steps.group.rule
    columns: list[Any] = [made[name] for name in SeriesFigures._fields]
    state = state_of(SeriesFigures(*columns), (), _NO_PROMISE, 0, rule)
    rest: list[Any] = [made["spend_nano"], made["landmark"] > 0, made["left"]]
    return map(
        partial(written, f'"policy":{rule.version}', fingerprint, last),
        places,
        steps.keys,
        made["decided_ms"].tolist(),
        quoted([states.names[place] for place in places]),
        texts(made["sequence"]),
        texts(made["epoch"]),
        steps.decisions,
        *contents(rule.kind, StepResult(state, *rest), _MANY),
    )


def links(states: States, places: Ints) -> list[str]:
    """Return the hash of the last entry of the series at each index, in hex."""
    digests: bytes = states.figures["previous"][places].tobytes()
    return digests.hex(",", HASH_BYTES).split(",") if digests else []


def stored(states: States, places: Ints) -> list[tuple[bytes, bytes]]:
    """Return the table rows of the series at ``places``, equal to those from `rows.dump` if the policy is unchanged."""
    if not len(places):
        return []
    figures, names = gathered(states.figures, places), [states.names[place] for place in places.tolist()]
    steps_ms = np.array([group.rule.step_ms for group in states.groups], np.int64)[figures["group"]]
    derived = last_decided(figures["decided_ms"], steps_ms)
    periods = zip(*[states.periods[place].texts for place in places.tolist()], strict=True)
    columns: list[Sequence[str]] = []
    for part, fields in RUNS:
        match part:
            case "figures":
                found = [derived[name] if name in derived else figures[name] for name in fields]
                columns.append(lists(np.stack(found, 1)))
            case "period":
                columns.append(next(periods))
            case "link":
                columns.append([f'"{link}"' for link in links(states, places)])
            case "cells":
                columns.append(_cells(states, places, figures))
            case _:
                assert_never(part)
    rows = map(",".join, zip(*columns, strict=True))
    return [(table_key(name), f"[{row}]".encode()) for name, row in zip(names, rows, strict=True)]


def _cells(states: States, places: Ints, figures: Figures) -> list[str]:
    """Return `CELLS` and the filter's state, each as a JSON list that is empty if there are no values."""
    levels = [""] * len(places)
    if len(states.levels):
        found = zip(lists(states.levels[places]), figures["group"].tolist(), strict=True)
        levels = [level if states.groups[group].rule.filtered else "" for level, group in found]
    released = (figures["source_ms"] != NEVER).tolist()
    columns = zip(released, *(texts(figures[name]) for name in CELLS), levels, strict=True)
    return [
        f"[{measured}],[{estimated}],[{level}]" if began else "[],[],[]"
        for began, measured, estimated, level in columns
    ]
