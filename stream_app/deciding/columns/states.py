"""The states of a partition's series as columns: an array of figures, by name, instead of objects.

A series stands here or among the decoded rows (`stream_app.kafka.owner.cache`), never in both. What its period does
not change is one `Period`, which series of one default policy share. Mutable, one object a partition.
"""

from collections.abc import Sequence
from math import prod
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Final, TypeVar, final
from weakref import WeakValueDictionary

import numpy as np

from stream_app.deciding.columns.carried import FIGURES, Carried, Figures, period_texts, put_back, state_of
from stream_app.deciding.rows import SeriesRow, stored_of
from stream_app.privacy.amounts import Doubles
from stream_app.privacy.level import NUMBER_WIDTH
from stream_app.privacy.rule import Rule
from stream_app.privacy.state import Promise

FREE: Final = -1
"""Stands for the group at a place that no series has."""
_FEWEST: Final = 1024
_PART: Final = 16
"""Of the series that are forgotten at once: the more, the longer a batch waits, and the fewer, the more often."""
_KEPT_BATCHES: Final = 2
"""The batch that is decided and the one that commits: the stored rows lack what these changed."""


@final
class Group:
    """Series under one rule and one default policy; ``default`` is its name, empty for policies of the series' own."""

    __slots__ = ("default", "number", "rule", "series")

    def __init__(self, number: int, rule: Rule, default: str) -> None:
        self.number: Final = number
        self.rule: Final = rule
        self.default: Final = default
        self.series = 0  # how many are here


@final
class Period:
    """What a series' state keeps until its next version or late landmark, and its part of a stored row."""

    __slots__ = ("__weakref__", "group", "landmarks", "policy", "promise", "start_ms", "texts")

    def __init__(self, row: SeriesRow, group: Group) -> None:
        promise, start_ms = row.state.promise, row.state.clock.period_start_ms
        self.group: Final = group
        self.policy: Final = row.policy
        self.landmarks: Final = promise.landmarks
        self.promise: Final = promise
        self.start_ms: Final = start_ms
        self.texts: Final = period_texts(stored_of(row))


class States:
    """The series of a partition that may be decided together."""

    def __init__(self, most: int) -> None:
        """Hold at most so many series, but for those of the last two batches."""
        self.index: dict[str, int] = {}
        """The place of each series."""
        self.names: list[str] = []
        self.periods: list[Period] = []
        self.figures: Figures = _grown(np.zeros(0, FIGURES), _FEWEST)
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
        return self._group(rule, default) if group is None else group

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
                self.levels = _grown(self.levels, len(self.figures))
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

    def _group(self, rule: Rule, default: str) -> Group:
        number = self._numbers.pop() if self._numbers else len(self.groups)
        group = self._by_rule[id(rule), default] = Group(number, rule, default)
        self.groups[number : number + 1] = [group]
        return group

    def _place(self, series: str, period: Period) -> int:
        if self._free:
            place = self._free.pop()
            self.names[place], self.periods[place] = series, period
        else:
            place = len(self.names)
            self.names.append(series)
            self.periods.append(period)
            if place >= len(self.figures):
                self.figures = _grown(self.figures, 2 * len(self.figures))
                if len(self.levels):
                    self.levels = _grown(self.levels, len(self.figures))
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
            *(id(promise.landmarks) if part == "landmarks" else getattr(promise, part) for part in Promise.__slots__),
        )
        period = self._known.get(shared)
        if period is None:
            period = self._known[shared] = Period(row, group)
        return period

    def _forget_oldest(self) -> None:
        """Forget a part of the series that had no event for longest; those of the last batches stay in any case."""
        places = np.fromiter(self.index.values(), np.int64, len(self.index))
        used = self.figures["used"][places]
        stored = places[used <= self.batch - _KEPT_BATCHES]
        count = min(len(stored), -(-len(places) // _PART))
        if not count:
            self._full_at = self.batch
        else:
            oldest = np.argpartition(self.figures["used"][stored], count - 1)[:count]
            for place in stored[oldest].tolist():
                self.forget(self.names[place])


_C = TypeVar("_C", Figures, Doubles)


def _grown(figures: _C, length: int) -> _C:
    """Return figures with zeros behind them, in pages of their own.

    The system gives a page when something is first written there, and has all of them back once they are let go. From
    the heap each growth would leave a hole there, all together as large as the figures.
    """
    shape = (length, *figures.shape[1:])
    pages = mmap(-1, prod(shape) * figures.itemsize, flags=MAP_PRIVATE | MAP_ANONYMOUS)
    grown = np.frombuffer(pages, figures.dtype).reshape(shape)
    grown[: len(figures)] = figures
    return grown
