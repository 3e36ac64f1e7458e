"""The states of a partition's series as columns: a row of integers a series, in a matrix, instead of objects.

A series stands here or among the decoded rows (`stream_app.kafka.owner.cache`), never in both. What its period does
not change is one `Period`, which series of one default policy share. Mutable, one object a partition.
"""

from collections.abc import Sequence
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from struct import Struct
from typing import Final, TypeVar, final
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from stream_app.deciding.renewal import next_bound_ms
from stream_app.deciding.rows import SeriesRow, ending
from stream_app.formats import wire
from stream_app.formats.encoding import HASH_BYTES
from stream_app.privacy.amounts import Doubles
from stream_app.privacy.guard import Guard
from stream_app.privacy.level import NUMBER_WIDTH, LevelState
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.policy import Policy
from stream_app.privacy.rule import Rule
from stream_app.privacy.state import NEVER, Clock, Latest, Promise, State
from stream_app.privacy.values import ReleasedCells

Matrix = npt.NDArray[np.int64]

(
    BUDGET, SPARE, SPENT, PEAK, DECIDED, FIRST, RATE, SOURCE, MEASURED, ESTIMATED, SEQUENCE, UNTIL, GROUP, USED, LINK
) = range(15)  # fmt: skip
"""Columns: E, spare left, S, M, start of the last decided step, first step of the period, rate, source, measurement,
estimate, sequence, from when on a bound of a renewal is due, number of the group, number of the last batch that had an
event of the series, and the hash of its last entry."""
WIDTH: Final = LINK + HASH_BYTES // 8
_FIGURES: Final = Struct(f"={LINK}q{HASH_BYTES}s")
"""One row of the matrix: writing it at once costs half as much as figure by figure."""
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

    __slots__ = ("__weakref__", "beginning", "ending", "group", "landmarks", "middle", "policy", "promise", "start_ms")

    def __init__(self, row: SeriesRow, group: Group) -> None:
        promise, start_ms = row.state.promise, row.state.clock.period_start_ms
        self.group: Final = group
        self.policy: Final = row.policy
        self.landmarks: Final = promise.landmarks
        self.promise: Final = promise
        self.start_ms: Final = start_ms
        middle = (promise.spare_left, promise.prior_nano, promise.first_budget_nano, start_ms)
        self.beginning: Final = wire.dump((row.default, row.state.guard.budget_nano))[1:-1].decode()
        self.middle: Final = wire.dump(middle)[1:-1].decode()
        self.ending: Final = wire.dump(ending(row))[1:-1].decode()


class States:
    """The series of a partition that may be decided together."""

    def __init__(self, most: int) -> None:
        """Hold at most so many series, but for those of the last two batches."""
        self.index: dict[str, int] = {}
        """The place of each series."""
        self.names: list[str] = []
        self.periods: list[Period] = []
        self.figures: Matrix = _grown(np.zeros((0, WIDTH), np.int64), _FEWEST)
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

    def group_of(self, row: SeriesRow) -> Group | None:
        """Return the group that the series of a row would join; None where it is decided one by one.

        Closed by default: columns take a row that they give back as it was, so nothing else may be known of a series.
        """
        rule, clock, level = row.policy.rule, row.state.clock, row.state.latest.level
        if rule is None or clock.last_step == NEVER:  # the first step of a period is decided by itself
            return None
        own = (row.series, row.policy, row.default, row.state.promise, clock.period_start_ms)
        known = (level if len(level) == NUMBER_WIDTH else (0.0,) * NUMBER_WIDTH) if rule.filtered else ()
        link = row.previous if len(row.previous) == 2 * HASH_BYTES else ""
        return self.joined(rule, row.default) if _row(own, _figures(row), link, known) == row else None

    def joined(self, rule: Rule, default: str) -> Group:
        """Return the group of series under a rule and the default policy of this name; empty: of their own."""
        group = self._by_rule.get((id(rule), default))
        return self._group(rule, default) if group is None else group

    def put(self, row: SeriesRow, group: Group) -> int:
        """Take in the row of a series whose group it is, and return its place."""
        period = self.period(row, group)
        place = self.index.get(row.series)
        if place is None:
            if len(self.index) >= self._most and self._full_at != self.batch:
                self._forget_oldest()
            place = self._place(row.series, period)
        else:
            self.periods[place].group.series -= 1
            self.periods[place] = period
        group.series += 1
        due_ms, level = next_bound_ms(period.policy, row.state), row.state.latest.level
        _FIGURES.pack_into(
            self.figures.data,
            place * _FIGURES.size,
            *_figures(row),
            LAST_TIMESTAMP_MS + 1 if due_ms is None else due_ms,
            group.number,
            self.batch,
            bytes.fromhex(row.previous),
        )
        if group.rule.filtered:
            if len(self.levels) < len(self.figures):
                self.levels = _grown(self.levels, len(self.figures))
            if level:
                self.levels[place] = level
        return place

    def put_all(
        self, names: Sequence[str], periods: Sequence[Period], group: Group, figures: Matrix, levels: Doubles
    ) -> None:
        """Take in series of a group that are not here; what of ``figures`` depends on this place is set here."""
        while len(self.index) + len(names) > self._most and self._full_at != self.batch:
            self._forget_oldest()
        places = [self._place(*one) for one in zip(names, periods, strict=True)]
        group.series += len(places)
        figures[:, GROUP], figures[:, USED] = group.number, self.batch
        self.figures[places] = figures
        if group.rule.filtered:
            if len(self.levels) < len(self.figures):
                self.levels = _grown(self.levels, len(self.figures))
            self.levels[places] = levels

    def row(self, place: int) -> SeriesRow:
        """Return the row of the series at a place."""
        period, figures = self.periods[place], self.figures[place, :UNTIL].tolist()
        level = tuple(self.levels[place].tolist()) if period.group.rule.filtered else ()
        own = (self.names[place], period.policy, period.group.default, period.promise, period.start_ms)
        return _row(own, figures, self.link(place), level)

    def link(self, place: int) -> str:
        """Return the hash of the last entry of the series at a place, in hex."""
        return self.figures[place, LINK:].tobytes().hex()

    def forget(self, series: str) -> None:
        """Forget a series, if it is here: its row has gone elsewhere."""
        place = self.index.pop(series, None)
        if place is not None:
            self.periods[place].group.series -= 1
            self.names[place] = ""
            self.figures[place, GROUP] = FREE
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
        used = self.figures[places, USED]
        stored = places[used <= self.batch - _KEPT_BATCHES]
        count = min(len(stored), -(-len(places) // _PART))
        if not count:
            self._full_at = self.batch
        else:
            oldest = np.argpartition(self.figures[stored, USED], count - 1)[:count]
            for place in stored[oldest].tolist():
                self.forget(self.names[place])


def _figures(row: SeriesRow) -> tuple[int, ...]:
    """Return the columns of a row up to `SEQUENCE`, in their order."""
    state, clock, latest = row.state, row.state.clock, row.state.latest
    return (
        state.guard.budget_nano,
        state.promise.spare_left,
        state.guard.landmark_spent_nano,
        state.guard.regular_peak_nano,
        clock.decided_ms,
        clock.first_step,
        latest.rate_nano,
        latest.source_ms,
        latest.measurement[0] if latest.measurement else 0,
        latest.estimate[0] if latest.estimate else 0,
        row.sequence,
    )


_Own = tuple[str, Policy, str, Promise, int]  # series, policy, name of the default, promise, start of the period


def _row(own: _Own, figures: Sequence[int], link: str, level: LevelState) -> SeriesRow:
    """Return the row that columns have of a series; ``level`` is that of the filter, if there is one."""
    series, policy, default, promise, start_ms = own
    budget, _, spent, peak, decided_ms, first_step, rate, source_ms, measured, estimated, sequence = figures
    released = source_ms != NEVER
    clock = Clock(
        period_start_ms=start_ms,
        decided_ms=decided_ms,
        decided_end_ms=decided_ms + policy.step_ms,
        first_step=first_step,
        last_step=decided_ms // policy.step_ms,
    )
    latest = Latest(
        source_ms=source_ms,
        measurement=ReleasedCells((measured,) if released else ()),
        estimate=ReleasedCells((estimated,) if released else ()),
        rate_nano=rate,
        level=level if released else (),
    )
    state = State(Guard(budget, spent, peak), promise, clock, latest, closed=False)
    return SeriesRow(series, series.encode(), sequence, link, policy, default, state)


_M = TypeVar("_M", Matrix, Doubles)


def _grown(figures: _M, length: int) -> _M:
    """Return figures with zeros behind them, in pages of their own.

    The system gives a page when something is first written there, and has all of them back once they are let go. From
    the heap each growth would leave a hole there, all together as large as the figures.
    """
    width = figures.shape[1]
    pages = mmap(-1, length * width * figures.itemsize, flags=MAP_PRIVATE | MAP_ANONYMOUS)
    grown = np.frombuffer(pages, figures.dtype).reshape(length, width)
    grown[: len(figures)] = figures
    return grown
