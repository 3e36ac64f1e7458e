"""Stores the states of a partition's series in columns (a structured array) instead of objects.

A series is either here or among the decoded rows (`stream_app.kafka.owner.cache`), never in both. Fields that are
constant within a period are in a `Period`, which series with the same default policy share. There is one mutable object
per partition.

`arrive` adds series in bulk, without creating an object for a series whose stored bytes were read. A series moves to
columns only if columns contain all of its state.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np

from stream_app.deciding.columns.carried import (
    FIGURES,
    PERIOD,
    Figures,
    SeriesFigures,
    entered,
    grown,
    period_texts,
    put_back,
    state_of,
)
from stream_app.deciding.renewal import next_bound_ms
from stream_app.deciding.rows import SeriesRow, stored_of
from stream_app.formats import wire
from stream_app.formats.layout import PLAIN, StoredRow, picked
from stream_app.privacy.amounts import Doubles
from stream_app.privacy.kinds.number import NUMBER_WIDTH
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.policy import Policy
from stream_app.privacy.rule import Rule
from stream_app.privacy.state import Promise

_PROMISED: Final = tuple(field.name for field in fields(Promise))
FREE: Final = -1
"""The group of an index without a series."""
_FEWEST: Final = 1024
_PART: Final = 16
"""One in this many series is forgotten at a time.

Larger parts make a batch wait longer; smaller parts must be forgotten more often.
"""
_KEPT_BATCHES: Final = 2
"""The current batch and the one being committed, whose changes are not in the stored rows yet."""


@dataclass(slots=True, eq=False)
class Group:
    """Series that share a rule and the default policy ``default`` (empty if they have their own policies)."""

    number: int
    rule: Rule
    default: str
    series: int = 0  # number of series

    @property
    def payer(self) -> tuple[str, str]:
        """The labels for counting the epsilon spent: the scheme and the digest of the default policy."""
        return (self.rule.scheme.name, self.default)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Period:
    """The part of a series' state that stays constant until its next version or late landmark, with its row texts."""

    group: Group
    policy: Policy
    promise: Promise
    start_ms: int
    texts: tuple[str, ...]


class States:
    """The series of a partition that may be processed together."""

    def __init__(self, most: int) -> None:
        """Hold at most ``most`` series, but always keep those of the last two batches."""
        self.index: dict[str, int] = {}
        """The index of each series in the columns."""
        self.names: list[str] = []
        self.periods: list[Period] = []
        self.figures: Figures = grown(np.zeros(0, FIGURES), _FEWEST)
        self.levels: Doubles = np.zeros((0, NUMBER_WIDTH))
        """The filter states; they are as long as the other figures once a group has a filter."""
        self.groups: list[Group] = []
        self.batch = 0
        self._most = max(1, most)
        self._free: list[int] = []
        self._by_rule: dict[tuple[int, str], Group] = {}
        self._numbers: list[int] = []  # of groups without a series when a batch began
        self._full_at = -1  # the last batch in which no series could be forgotten
        self._known: WeakValueDictionary[tuple[object, ...], Period] = WeakValueDictionary()

    def begin_batch(self) -> None:
        """Start a batch, and free the numbers of groups without series."""
        self.batch += 1
        for group in [group for group in self._by_rule.values() if not group.series]:
            del self._by_rule[id(group.rule), group.default]
            self._numbers.append(group.number)

    def joined(self, rule: Rule, default: str) -> Group:
        """Return the group for a rule and a default policy's name.

        ``default`` is that name, or "" if series use their own policies.
        """
        group = self._by_rule.get((id(rule), default))
        if group is None:
            number = self._numbers.pop() if self._numbers else len(self.groups)
            group = self._by_rule[id(rule), default] = Group(number, rule, default)
            self.groups[number : number + 1] = [group]
        return group

    def put_all(
        self, names: Sequence[str], periods: Sequence[Period], group: Group, figures: Figures, levels: Doubles
    ) -> None:
        """Add series of a group that are not here yet, and set `group` and `used` in ``figures``."""
        while len(self.index) + len(names) > self._most and self._full_at != self.batch:
            self._forget_oldest()
        places = self._places(names, periods)
        group.series += len(places)
        figures["group"], figures["used"] = group.number, self.batch
        put_back(self.figures, np.array(places, np.int64), figures)
        if group.rule.filtered:
            if len(self.levels) < len(self.figures):
                self.levels = grown(self.levels, len(self.figures))
            self.levels[places] = levels

    def row(self, place: int) -> SeriesRow:
        """Return the row of the series at an index."""
        period, figures, series = self.periods[place], SeriesFigures(*self.figures[place].item()), self.names[place]
        group = period.group
        level = tuple(self.levels[place].tolist()) if group.rule.filtered else ()
        state = state_of(figures, level, period.promise, period.start_ms, group.rule)
        previous = figures.previous.hex()
        return SeriesRow(series, series.encode(), figures.sequence, previous, period.policy, group.default, state)

    def forget(self, series: Iterable[str]) -> None:
        """Forget the given series that are here, because their rows are now held elsewhere."""
        self._free_all([self.index[name] for name in series if name in self.index])

    def _free_all(self, places: list[int]) -> None:
        for place in places:
            del self.index[self.names[place]]
            self.names[place] = ""
            self.periods[place].group.series -= 1
        self.figures["group"][places] = FREE
        self._free += places

    def __len__(self) -> int:
        return len(self.index)

    def _places(self, names: Sequence[str], periods: Sequence[Period]) -> list[int]:
        """Give each series an index, free ones first, and return these."""
        count = len(self.names)
        reused = self._free[: -len(names) - 1 : -1]
        del self._free[len(self._free) - len(reused) :]
        places = [*reused, *range(count, count + len(names) - len(reused))]
        self.names += names[len(reused) :]
        self.periods += periods[len(reused) :]
        for place, series, period in zip(reused, names, periods, strict=False):
            self.names[place], self.periods[place] = series, period
        self.index.update(zip(names, places, strict=True))
        while len(self.names) > len(self.figures):
            self.figures = grown(self.figures, 2 * len(self.figures))
            if len(self.levels):
                self.levels = grown(self.levels, len(self.figures))
        return places

    def period(self, row: SeriesRow, group: Group) -> Period:
        """Return the period of a row; rows with the same period share one object."""
        promise = row.state.promise
        # While a period is in use, its group, policy and landmarks exist, so no other object has their ids.
        shared = (
            id(group),
            id(row.policy),
            row.state.clock.period_start_ms,
            *(id(promise.landmarks) if part == "landmarks" else getattr(promise, part) for part in _PROMISED),
        )
        period = self._known.get(shared)
        if period is None:
            texts = period_texts(stored_of(row))
            period = Period(group, row.policy, promise, row.state.clock.period_start_ms, texts)
            self._known[shared] = period
        return period

    def _forget_oldest(self) -> None:
        """Forget some of the series that have gone the longest without an event; those of the last batches stay."""
        places = np.fromiter(self.index.values(), np.int64, len(self.index))
        used = self.figures["used"][places]
        old = used <= self.batch - _KEPT_BATCHES
        stored = places[old]
        count = min(len(stored), -(-len(places) // _PART))
        if not count:
            self._full_at = self.batch
            return
        self._free_all(stored[np.argpartition(used[old], count - 1)[:count]].tolist())


_default_of: Final = picked("default")
_period_of: Final = picked(*PERIOD)
_LONGEST: Final = len(StoredRow._fields)
_NO_BOUND: Final = LAST_TIMESTAMP_MS + 1


def arrive(
    states: States,
    rows: dict[str, SeriesRow],
    stored: Mapping[str, bytes],
    policy_of: Callable[[str], Policy],
    load: Callable[[str], SeriesRow],
    fewest: int,
) -> None:
    """Move series that columns can hold from ``rows`` to ``states`` if a group has at least ``fewest`` series.

    ``rows`` contains decoded rows, ``stored`` contains the bytes of other rows, and ``load`` decodes one of those.
    Series that must be decoded to be checked are added to ``rows``. ``policy_of`` returns the default policy with a
    given name.
    """
    found: dict[str, Any] = {name: wire.load(value) for name, value in stored.items()}
    plain = _plain(found, rows, load)
    groups: dict[Group, tuple[dict[str, Any], list[SeriesRow]]] = {}
    for default, fields_of in plain.items():
        policy = policy_of(default)
        if policy.rule is not None and not policy.renew:
            groups[states.joined(policy.rule, default)] = (fields_of, [])
        else:
            rows.update((name, load(name)) for name in fields_of)
    for row in rows.values():
        if (rule := row.policy.rule) is not None and row.key == row.series.encode():  # columns hold no other key
            groups.setdefault(states.joined(rule, row.default), ({}, []))[1].append(row)
    for group, (fields_of, decoded) in groups.items():
        if group.series + len(fields_of) + len(decoded) >= fewest:
            for series in _taken(states, group, fields_of, decoded, load, fewest):
                rows.pop(series, None)


def _plain(
    found: Mapping[str, Any], rows: dict[str, SeriesRow], load: Callable[[str], SeriesRow]
) -> dict[str, dict[str, Any]]:
    """Return the fields of plain rows by default policy and series; add rows that columns may hold to ``rows``.

    A series with open units never moves to columns, and is not decoded until it is needed.
    """
    plain: dict[str, dict[str, Any]] = {}
    for name, row in found.items():
        if len(row) == PLAIN and (default := _default_of(row)):
            plain.setdefault(default, {})[name] = row
        elif len(row) < _LONGEST:
            rows[name] = load(name)
    return plain


def _taken(
    states: States,
    group: Group,
    plain: dict[str, Any],
    decoded: list[SeriesRow],
    load: Callable[[str], SeriesRow],
    fewest: int,
) -> list[str]:
    """Add the series of a group that columns can hold, if there are enough, and return their names.

    ``plain`` contains the fields of the rows that are not decoded; only one row per shared period must be loaded.
    """
    at, figures, levels = entered(group.rule, [*plain.values(), *map(stored_of, decoded)])
    if group.series + len(at) < fewest:
        return []
    names = [*plain, *(row.series for row in decoded)]
    taken = [names[nth] for nth in at]
    figures["due_ms"] = _NO_BOUND
    known: dict[tuple[Any, ...], Period] = {}
    periods: list[Period] = []
    count = bisect_left(at, len(plain))
    for name in taken[:count]:
        shared = _period_of(plain[name])
        periods.append(known.get(shared) or known.setdefault(shared, states.period(load(name), group)))
    for number, nth in enumerate(at[count:], count):
        row = decoded[nth - len(plain)]
        periods.append(states.period(row, group))
        if (due_ms := next_bound_ms(row.policy, row.state)) is not None:
            figures["due_ms"][number] = due_ms
    states.put_all(taken, periods, group, figures, levels)
    return taken
