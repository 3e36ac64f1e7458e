"""Selects a batch's records to process together: observations of series whose states are columns.

All records of a series in a batch are processed the same way: together with others, or one by one. Neither way
therefore depends on the results of the other, and the order in which series are processed has no effect.
"""

from collections.abc import Iterable
from math import nan
from typing import NamedTuple, Protocol

import numpy as np

from stream_app.deciding.checks import Many, accepted
from stream_app.deciding.columns.states import States
from stream_app.deciding.context import Context
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.columns import Observations, observations
from stream_app.formats.records import Records
from stream_app.privacy.amounts import Doubles, Flags, Ints
from stream_app.privacy.fold import refused

FEWEST = 16
"""The fewest events that are worth the fixed cost of column operations."""


class Source(Protocol):
    """The rows of a partition before a batch."""

    @property
    def states(self) -> States:
        """The series whose states are stored in columns."""

    def find(self, series: str) -> SeriesRow | None:
        """Return the row of a series, wherever it is held, or None if the series has no row."""

    def arrive(self, series: Iterable[str], fewest: int) -> None:
        """Move series into ``states`` if columns can hold them and their group has at least ``fewest`` series."""


class Together(NamedTuple):
    """Observations that are processed together, in the order of the batch; all fields have equal length."""

    at: Ints
    """The observations' record numbers in the batch."""
    places: Ints
    """The indices of the observations' series in `States`."""
    starts_ms: Ints
    epochs: Ints
    rounds: Ints
    """The number of each observation's round (`_rounds`)."""
    numbers: Doubles
    """The observations' raw values, or NaN if the value is not a number and is replaced by a substitute."""

    def before(self, end: int) -> "Together":
        """Return the observations among the first ``end`` records of the batch."""
        count = int(np.searchsorted(self.at, end))
        return self if count == len(self.at) else self.of(np.arange(count))

    def of(self, some: Ints | Flags) -> "Together":
        """Return some of the observations."""
        at, places, starts_ms, epochs, rounds, numbers = self
        return Together(at[some], places[some], starts_ms[some], epochs[some], rounds[some], numbers[some])

    def __repr__(self) -> str:
        # PRIVACY: anything that prints this object, including a traceback, shows no value.
        return f"<{len(self.at)} observations>"


_NONE = np.zeros(0, np.int64)
NOTHING = Together(_NONE, _NONE, _NONE, _NONE, _NONE, np.zeros(0))


def together(context: Context, source: Source, records: Records, fewest: int, collected: frozenset[bytes]) -> Together:
    """Return the records to process together, with at least ``fewest`` records in each round of a group.

    ``collected`` contains the keys of collected series; a record with such a key is not an observation of another
    series. Records that would be refused, or that need more than a step, are excluded, because only processing them one
    by one yields the reason.
    """
    states = source.states
    routed, separator = context.partition_of is not None, context.limits.member_separator
    if len(records) < fewest or (routed and separator is None and len(set(records.keys)) < fewest):
        return NOTHING  # no group has enough series
    key_of = str.encode if separator is None else context.key_of
    found = observations(records, key_of if routed else None, collected)
    places = _places(source, found, fewest)
    known = places >= 0
    if not known.any():
        return NOTHING  # none of its series is in columns
    at, times = np.array(found.at, np.int64), np.array(found.times_ms, np.int64)
    numbers = np.array(found.numbers, np.float64)
    groups = states.figures["group"][places]
    steps_ms = np.array([group.rule.step_ms for group in states.groups], np.int64)[groups]
    starts_ms = times // steps_ms * steps_ms
    known &= starts_ms < states.figures["due_ms"][places]
    # PRIVACY: this checks only whether a value is invalid without a substitute, which a rejected record shows to
    # anyone.
    replaced = np.array([group.rule.kind.accepts_raw(nan) for group in states.groups])
    known &= np.isfinite(numbers) | replaced[groups]
    known &= accepted(context, Many(found.series, times, np.array(records.timestamps_ms, np.int64)[at]))
    epochs, (ends_ms, ranks) = context.keys.epoch_of(starts_ms), _before(states, places, starts_ms, steps_ms)
    known &= ~np.asarray(refused(context.keys, epochs, starts_ms, ends_ms, closed=False))
    known = _whole(states, places, known)
    rounds = _rounds(ranks, groups, epochs)
    counts = np.bincount(rounds[known], minlength=len(at))  # there are no more rounds than observations
    known = _whole(states, places, known & (counts[rounds] >= fewest))
    return Together(at, places, starts_ms, epochs, rounds, numbers).of(known)


def _places(source: Source, found: Observations, fewest: int) -> Ints:
    """Return the index of each observation's series, or -1 if it must be processed by itself."""
    states, apart, series = source.states, found.apart, found.series
    index = states.index
    places = [index.get(name, -1) for name in series]
    if -1 in places:
        missing = (name for name, place in zip(series, places, strict=True) if place < 0 and name not in apart)
        source.arrive(dict.fromkeys(missing), fewest)
        places = [index.get(name, -1) for name in series]
    if apart:
        places = [-1 if name in apart else place for name, place in zip(series, places, strict=True)]
    return np.array(places, np.int64)


def _before(states: States, places: Ints, starts_ms: Ints, steps_ms: Ints) -> tuple[Ints, Ints]:
    """Return the end of each observation's previous step, and the number of earlier observations of its series.

    The previous step is the series' last processed step or an earlier one in the batch. Either all or none of a series'
    observations are processed together, so the numbers are also correct for the selected observations.
    """
    order = np.argsort(places, kind="stable")
    sorted_places, numbers = places[order], np.arange(len(order))
    first = np.ones(len(order), np.bool_)
    first[1:] = sorted_places[1:] != sorted_places[:-1]
    before, ends_ms, ranks = np.empty((3, len(order)), np.int64)
    before[1:] = starts_ms[order][:-1]
    before[first] = states.figures["decided_ms"][sorted_places[first]]
    ends_ms[order] = before + steps_ms[order]
    ranks[order] = numbers - np.maximum.accumulate(np.where(first, numbers, 0))
    return ends_ms, ranks


def _whole(states: States, places: Ints, known: Flags) -> Flags:
    """Return which observations remain if each series keeps all or none of them."""
    lacking = np.zeros(len(states.names) + 1, np.bool_)  # the last one is for place -1
    lacking[places[~known]] = True
    return ~lacking[places]


def _rounds(ranks: Ints, groups: Ints, epochs: Ints) -> Ints:
    """Return the number of each observation's round, in the order in which rounds are processed.

    A round contains the observations of one group and epoch that have equal ranks, so at most one of each series.
    """
    sorts = (epochs, groups, ranks)
    order = np.lexsort(sorts)
    rounds = np.zeros(len(order), np.int64)
    rounds[order[1:]] = np.cumsum(np.any([np.diff(sort[order]) for sort in sorts], axis=0))
    return rounds
