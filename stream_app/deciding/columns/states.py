"""The states of a partition's series as columns: an array of figures, by name, instead of objects.

A series stands here or among the decoded rows (`stream_app.kafka.owner.cache`), never in both. What its period does
not change is one `Period`, which series of one default policy share. Mutable, one object a partition.

Series become columns at once (`arrive`); of those whose stored bytes were read, without an object for any of them.
Closed by default: a series stands as columns only where they carry all that is known of it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np

from stream_app.deciding.columns.carried import (
    FIGURES,
    PERIOD,
    Carried,
    Figures,
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
from stream_app.privacy.level import NUMBER_WIDTH
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.policy import Policy
from stream_app.privacy.rule import Rule
from stream_app.privacy.state import Promise

_PROMISED: Final = tuple(field.name for field in fields(Promise))
FREE: Final = -1
"""Stands for the group at a place that no series has."""
_FEWEST: Final = 1024
_PART: Final = 16
"""Of the series that are forgotten at once: the more, the longer a batch waits, and the fewer, the more often."""
_KEPT_BATCHES: Final = 2
"""The batch that is decided and the one that commits: the stored rows lack what these changed."""


@dataclass(slots=True, eq=False)
class Group:
    """Series under one rule and one default policy; ``default`` is its name, empty for policies of the series' own."""

    number: int
    rule: Rule
    default: str
    series: int = 0  # how many are here

    @property
    def payer(self) -> tuple[str, str]:
        """Under what their spends are counted: scheme and digest of the default policy."""
        return (self.rule.scheme.name, self.default)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Period:
    """What a series' state keeps until its next version or late landmark, and its part of a stored row."""

    group: Group
    policy: Policy
    promise: Promise
    start_ms: int
    texts: tuple[str, ...]


class States:
    """The series of a partition that may be decided together."""

    def __init__(self, most: int) -> None:
        """Hold at most so many series, but for those of the last two batches."""
        self.index: dict[str, int] = {}
        """The place of each series."""
        self.names: list[str] = []
        self.periods: list[Period] = []
        self.figures: Figures = grown(np.zeros(0, FIGURES), _FEWEST)
        self.levels: Doubles = np.zeros((0, NUMBER_WIDTH))
        """The states of filters, as long as the other figures once a group has one."""
        self.groups: list[Group] = []
        self.batch = 0
        self._most = max(1, most)
        self._free: list[int] = []
        self._by_rule: dict[tuple[int, str], Group] = {}
        self._numbers: list[int] = []  # of groups that no series was of when a batch began
        self._full_at = -1  # the last batch in which no series could be forgotten
        self._known: WeakValueDictionary[tuple[object, ...], Period] = WeakValueDictionary()

    def begin_batch(self) -> None:
        """Count a batch; groups that no series is of make room for others."""
        self.batch += 1
        for group in [group for group in self._by_rule.values() if not group.series]:
            del self._by_rule[id(group.rule), group.default]
            self._numbers.append(group.number)

    def joined(self, rule: Rule, default: str) -> Group:
        """Return the group of series under a rule and the default policy of this name; empty: of their own."""
        group = self._by_rule.get((id(rule), default))
        if group is None:
            number = self._numbers.pop() if self._numbers else len(self.groups)
            group = self._by_rule[id(rule), default] = Group(number, rule, default)
            self.groups[number : number + 1] = [group]
        return group

    def put_all(
        self, names: Sequence[str], periods: Sequence[Period], group: Group, figures: Figures, levels: Doubles
    ) -> None:
        """Take in series of a group that are not here; what of ``figures`` depends on this place is set here."""
        while len(self.index) + len(names) > self._most and self._full_at != self.batch:
            self._forget_oldest()
        places = [self._place(*one) for one in zip(names, periods, strict=True)]
        group.series += len(places)
        figures["group"], figures["used"] = group.number, self.batch
        put_back(self.figures, np.array(places, np.int64), figures)
        if group.rule.filtered:
            if len(self.levels) < len(self.figures):
                self.levels = grown(self.levels, len(self.figures))
            self.levels[places] = levels

    def row(self, place: int) -> SeriesRow:
        """Return the row of the series at a place."""
        period, figures, series = self.periods[place], Carried(*self.figures[place].item()), self.names[place]
        group = period.group
        level = tuple(self.levels[place].tolist()) if group.rule.filtered else ()
        state = state_of(figures, level, period.promise, period.start_ms, group.rule)
        previous = figures.previous.hex()
        return SeriesRow(series, series.encode(), figures.sequence, previous, period.policy, group.default, state)

    def forget(self, series: str) -> None:
        """Forget a series, if it is here: its row has gone elsewhere."""
        place = self.index.pop(series, None)
        if place is not None:
            self.periods[place].group.series -= 1
            self.names[place] = ""
            self.figures["group"][place] = FREE
            self._free.append(place)

    def __len__(self) -> int:
        return len(self.index)

    def _place(self, series: str, period: Period) -> int:
        if self._free:
            place = self._free.pop()
            self.names[place], self.periods[place] = series, period
        else:
            place = len(self.names)
            self.names.append(series)
            self.periods.append(period)
            if place >= len(self.figures):
                self.figures = grown(self.figures, 2 * len(self.figures))
                if len(self.levels):
                    self.levels = grown(self.levels, len(self.figures))
        self.index[series] = place
        return place

    def period(self, row: SeriesRow, group: Group) -> Period:
        """Return the period of a row, one object for all that share it."""
        promise = row.state.promise
        # While a period is in use its group, policy and landmarks are, and their ids belong to nothing else.
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
        """Forget a part of the series that had no event for longest; those of the last batches stay in any case."""
        places = np.fromiter(self.index.values(), np.int64, len(self.index))
        used = self.figures["used"][places]
        old = used <= self.batch - _KEPT_BATCHES
        stored = places[old]
        count = min(len(stored), -(-len(places) // _PART))
        if not count:
            self._full_at = self.batch
            return
        for place in stored[np.argpartition(used[old], count - 1)[:count]].tolist():
            self.forget(self.names[place])


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
    """Let those of some series stand as columns that can, at least ``fewest`` of a group; they leave ``rows``.

    ``rows`` are those that are decoded, ``stored`` the bytes of others, and ``load`` makes a row of one of these;
    ``rows`` takes up those that only so can be told about. ``policy_of`` returns the default policy that has a name.
    """
    found: dict[str, Any] = {name: wire.load(value) for name, value in stored.items()}
    plain = _plain(found, rows, load)
    groups: dict[Group, tuple[list[str], list[SeriesRow]]] = {}
    for default, names in plain.items():
        policy = policy_of(default)
        if policy.rule is not None and not policy.renew:
            groups[states.joined(policy.rule, default)] = (names, [])
        else:
            rows.update((name, load(name)) for name in names)
    for row in rows.values():
        if (rule := row.policy.rule) is not None and row.key == row.series.encode():  # no other key stands in columns
            groups.setdefault(states.joined(rule, row.default), ([], []))[1].append(row)
    for group, (names, decoded) in groups.items():
        if group.series + len(names) + len(decoded) >= fewest:
            for series in _taken(states, group, {name: found[name] for name in names}, decoded, load, fewest):
                rows.pop(series, None)


def _plain(
    found: Mapping[str, Any], rows: dict[str, SeriesRow], load: Callable[[str], SeriesRow]
) -> dict[str, list[str]]:
    """Return the series that have a row as by default, by default policy; ``rows`` takes up others that may stand too.

    What has open units never stands as columns, and is not decoded before it is asked for.
    """
    plain: dict[str, list[str]] = {}
    for name, row in found.items():
        if len(row) == PLAIN and (default := _default_of(row)):
            plain.setdefault(default, []).append(name)
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
    """Take in what columns carry whole of the series of a group, if it is enough; return its names.

    ``plain`` has the fields of those that are not decoded: what they share need be loaded of one alone.
    """
    at, figures, levels = entered(group.rule, [*plain.values(), *map(stored_of, decoded)])
    if group.series + len(at) < fewest:
        return []
    known: dict[tuple[Any, ...], Period] = {}
    periods: list[Period] = []
    names, dues_ms = [*plain, *(row.series for row in decoded)], np.full(len(at), _NO_BOUND)
    for number, nth in enumerate(at):
        if nth >= len(plain):
            row = decoded[nth - len(plain)]
            period, due_ms = states.period(row, group), next_bound_ms(row.policy, row.state)
            dues_ms[number] = _NO_BOUND if due_ms is None else due_ms
        else:
            shared = _period_of(plain[names[nth]])
            period = known.get(shared) or known.setdefault(shared, states.period(load(names[nth]), group))
        periods.append(period)
    figures["due_ms"] = dues_ms
    taken = [names[nth] for nth in at]
    states.put_all(taken, periods, group, figures, levels)
    return taken
