"""Which records of a batch are decided together: observations of series whose states stand as columns.

All records of one series in a batch go one way: together with others, or one by one. So neither way has to know what
the other came to, and the order of series to each other changes nothing.
"""

from collections.abc import Iterable
from math import nan
from typing import Final, NamedTuple, Protocol

import numpy as np

from stream_app.deciding.checks import Many, accepted
from stream_app.deciding.columns.states import States
from stream_app.deciding.context import Context
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.columns import Observations, observations
from stream_app.formats.records import Records
from stream_app.privacy.amounts import Doubles, Flags, Ints
from stream_app.privacy.fold import refused
from stream_app.privacy.values import Raw

FEWEST = 16
"""Events that are worth the fixed cost of operations on columns."""
_NO_NUMBER: Final = Raw(nan)


class Source(Protocol):
    """Where the rows of a partition stand before a batch."""

    @property
    def states(self) -> States:
        """The series whose states stand as columns."""

    def find(self, series: str) -> SeriesRow | None:
        """Return the row of a series, wherever it stands; None: it has none."""

    def arrive(self, series: Iterable[str], fewest: int) -> None:
        """Let those series stand in ``states`` that can: of those that do not, at least ``fewest`` of a group."""


class Together(NamedTuple):
    """Observations that are decided together: equally many of each, in the order of the batch."""

    at: Ints
    """Their numbers among the records of the batch."""
    places: Ints
    """Where their series stand in `States`."""
    groups: Ints
    starts_ms: Ints
    ranks: Ints
    """How many of the same series come before each."""
    numbers: Doubles
    """Their raw values; NaN for what is no number, for which a substitute stands."""

    def before(self, end: int) -> "Together":
        """Return those among the first ``end`` records of the batch."""
        count = int(np.searchsorted(self.at, end))
        return self if count == len(self.at) else self.of(np.arange(count))

    def of(self, some: Ints | Flags) -> "Together":
        """Return some of them."""
        at, places, groups, starts_ms, ranks, numbers = self
        return Together(at[some], places[some], groups[some], starts_ms[some], ranks[some], numbers[some])

    def __repr__(self) -> str:
        # PRIVACY: what prints it, a traceback too, shows no value.
        return f"<{len(self.at)} observations>"


_NONE = np.zeros(0, np.int64)
NOTHING = Together(_NONE, _NONE, _NONE, _NONE, _NONE, np.zeros(0))


def together(context: Context, source: Source, records: Records, fewest: int, collected: frozenset[bytes]) -> Together:
    """Return which records are decided together, at least ``fewest`` in each round of a group.

    ``collected`` are the keys of series that are collected: what has them is no observation of another series.
    Whatever would be refused, or needs more than a step, is not among them: the decision of one record tells why.
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
        return NOTHING  # none of its series stands as columns
    at, times = np.array(found.at, np.int64), np.array(found.times_ms, np.int64)
    numbers = np.array(found.numbers, np.float64)
    groups = states.figures["group"][places]
    steps_ms = np.array([group.rule.step_ms for group in states.groups], np.int64)[groups]
    starts_ms = times // steps_ms * steps_ms
    known &= starts_ms < states.figures["due_ms"][places]
    # PRIVACY: of a value this asks only whether it is invalid without a substitute, which a reject tells anybody.
    replaced = np.array([group.rule.kind.quantise(_NO_NUMBER) is not None for group in states.groups])
    known &= np.isfinite(numbers) | replaced[groups]
    known &= accepted(context, Many(found.series, times, np.array(records.timestamps_ms, np.int64)[at]))
    epochs, (ends_ms, ranks) = context.keys.epoch_of(starts_ms), _before(states, places, starts_ms, steps_ms)
    known &= ~np.asarray(refused(context.keys, epochs, starts_ms, ends_ms, closed=False))
    known = _whole(states, places, known)
    known = _whole(states, places, known & ~_sparse(groups, ranks, epochs, known, fewest))
    return Together(at, places, groups, starts_ms, ranks, numbers).of(known)


def _places(source: Source, found: Observations, fewest: int) -> Ints:
    """Return where the series of each observation stands, -1 for one that is to be decided by itself."""
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
    """Return where the step ends that its series decided, or has in the batch, before each; and how many it has there.

    Of a series that has some among what is decided together all are, so these are as many.
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
    """Return which observations remain when each series has all or none."""
    lacking = np.zeros(len(states.names) + 1, np.bool_)  # the last one stands for place -1
    lacking[places[~known]] = True
    return ~lacking[places]


def _sparse(groups: Ints, ranks: Ints, epochs: Ints, known: Flags, fewest: int) -> Flags:
    """Return which observations stand in rounds with too few of their group and epoch to be worth it."""
    counts = np.bincount(groups[known], minlength=int(groups.max(initial=0)) + 1)
    sparse = counts[groups] < fewest
    for group in np.flatnonzero(counts >= fewest).tolist():
        (own,) = np.nonzero(known & (groups == group))
        named, epoch = np.unique(epochs[own], return_inverse=True)
        rounds = ranks[own] * len(named) + epoch
        sparse[own] = np.bincount(rounds)[rounds] < fewest
    return sparse
