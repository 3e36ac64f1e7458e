"""Processes a batch's observations in rounds: the first of each series, then the second, and so on.

This module also creates the bytes of the results: releases, ledger entries sealed into their series' chains, and stored
rows. The bytes are the same as those from `stream_app.deciding.rows`.
"""

from collections.abc import Iterable, Iterator, Sequence
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
    put_back,
    state_of,
)
from stream_app.deciding.columns.sorting import Together
from stream_app.deciding.columns.states import Group, States
from stream_app.deciding.rows import table_key
from stream_app.formats.columns import lists, quoted, texts
from stream_app.formats.encoding import HASH_BYTES, Output, TextForm, contents, json_of, written
from stream_app.privacy.amounts import Ints
from stream_app.privacy.fold import StepResult, publish
from stream_app.privacy.landmarks import LandmarkSets
from stream_app.privacy.noise.draws import Draws
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.published import Decision
from stream_app.privacy.state import NEVER, Promise, last_decided


class Round(NamedTuple):
    """Steps of one group and one epoch that were processed at once, at most one per series."""

    group: Group
    epoch: int
    nth: Ints
    """The steps' numbers among the observations processed together, ascending; other columns are in the same order."""
    places: Ints
    """The index of each step's series."""
    names: list[str]
    keys: list[bytes]
    sequences: Ints
    step: StepResult
    """The result of each step, as columns."""
    decisions: list[Decision]
    spent_nano: int
    """The cost of all these steps."""
    used_nano: int
    """The increase in S + M over all these series."""


def decided(keys: KeyRing, states: States, chosen: Together) -> Iterator[Round]:
    """Process the chosen observations round by round; ``states`` are updated, except for hashes.

    Guarantee: the results are those of `stream_app.deciding.decision.decide` for each record, in the order of the
    batch.
    """
    if not len(chosen.at):
        return
    order = np.argsort(chosen.rounds, kind="stable")
    for nth in np.split(order, np.flatnonzero(np.diff(chosen.rounds[order])) + 1):
        yield _round(keys, states, chosen.of(nth), nth)


def _round(keys: KeyRing, states: States, chosen: Together, nth: Ints) -> Round:
    places, starts_ms, epoch = chosen.places, chosen.starts_ms, int(chosen.epochs[0])
    periods = [states.periods[place] for place in places.tolist()]
    names = [states.names[place] for place in places.tolist()]
    group = periods[0].group
    rule, figures = group.rule, gathered(states.figures, places)
    columns: list[Any] = [figures[name] for name in SeriesFigures._fields]
    held, sequences = SeriesFigures(*columns), figures["sequence"] + 1
    sets: Any = LandmarkSets(tuple([period.promise.landmarks for period in periods]))
    promise = Promise(landmarks=sets, spare_left=held.spare_left, prior_nano=0, first_budget_nano=0)
    levels = tuple(states.levels[places].T) if rule.filtered else ()
    before = state_of(held, levels, promise, 0, rule)
    secret = keys.secret_of(epoch)
    assert secret is not None, "steps of erased epochs are not processed together"
    record_keys = list(map(str.encode, names))
    draws = Draws(secret, epoch, record_keys)
    step: Any = publish(rule, before, starts_ms // rule.step_ms, draws, (rule.kind.cell(chosen.numbers),))
    guard, latest = step.state.guard, step.state.latest
    used_nano = int(np.sum(guard.used_nano - before.guard.used_nano))  # before the figures, which it shows, change
    moved = {
        "landmark_spent_nano": guard.landmark_spent_nano,
        "regular_peak_nano": guard.regular_peak_nano,
        "decided_ms": starts_ms,
        "rate_nano": latest.rate_nano,
        "source_ms": latest.source_ms,
        "measurement": latest.measurement[0],
        "estimate": latest.estimate[0],
        "sequence": sequences,
        "used": states.batch,
    }
    for name, column in moved.items():
        figures[name] = column
    put_back(states.figures, places, figures)
    if rule.filtered:
        states.levels[places] = np.stack(latest.level, 1)
    words: Any = step.decision
    spent_nano = int(np.sum(step.spend_nano))
    return Round(group, epoch, nth, places, names, record_keys, sequences, step, words.tolist(), spent_nano, used_nano)


def outputs(states: States, rounds: Sequence[Round], places: Ints, fingerprint: str) -> Iterator[Output]:
    """Yield the outputs of each step of ``rounds``, in the order of the batch.

    Each entry is sealed into its series' chain; after the last entry, ``states`` contain the hashes. ``places`` are the
    indices of all series of the rounds, each listed once. ``fingerprint`` names the noise key.
    """
    if not rounds:
        return
    last = dict(zip(places.tolist(), links(states, places), strict=True))
    turns = np.empty(sum(len(one.nth) for one in rounds), np.int64)
    for number, one in enumerate(rounds):
        turns[one.nth] = number
    made = [_written(one, fingerprint, last) for one in rounds]
    yield from map(next, map(made.__getitem__, turns.tolist()))
    digests = bytes.fromhex("".join(last.values()))
    states.figures["previous"][places] = np.frombuffer(digests, FIGURES["previous"])


def _text(column: Any) -> Iterable[str]:
    return texts(column) if isinstance(column, np.ndarray) else repeat(json_of(column))


_MANY: Final = TextForm(whole=_text, json=_text, unused=repeat(""))


def _written(one: Round, fingerprint: str, last: dict[int, str]) -> Iterator[Output]:
    """Yield the outputs of a round; ``last`` maps each series' index to the hash of its last entry."""
    rule = one.group.rule
    starts_ms: Any = one.step.state.clock.decided_ms
    return map(
        partial(written, f'"policy":{rule.version}', fingerprint, last),
        one.places.tolist(),
        one.keys,
        starts_ms.tolist(),
        quoted(one.names),
        texts(one.sequences),
        repeat(one.epoch),
        one.decisions,
        *contents(rule.kind, one.step, _MANY),
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
