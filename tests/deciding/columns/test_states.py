"""Series as columns: what is kept, for how long, and how many at once."""

import subprocess
import sys
from dataclasses import fields

import pytest

from stream_app.deciding.collection import Collection
from stream_app.deciding.columns.batch import BatchDecider
from stream_app.deciding.context import Context
from stream_app.deciding.decider import Outlets
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import InputRecord, Records
from stream_app.formats.wire import dump
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.cache import RowReader
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.rule import _shared
from stream_app.privacy.state import Clock, Promise, State
from tests.run import KEYS, NUMBER, Run, default, observation, policy

FILTERED, PLAIN = default("filtered-*", filter="level"), default("*")
CONTEXT = Context(KEYS, (FILTERED, PLAIN))


def rows_of(*names: str, **members: object) -> dict[str, SeriesRow]:
    """Return the rows of series after their first step; with ``members``, under their own policies."""
    own = [policy(name, 1, **members) for name in names] if members else []
    return Run(CONTEXT).feed_all([*own, *(observation(name, 0, 3.0) for name in names)]).rows


def decided(reader: RowReader, *names: str) -> tuple[BatchDecider, list[bytes]]:
    """Decide a step of each series in one batch; return the result and its ledger entries."""
    entries: list[bytes] = []
    outlets = Outlets(lambda _, value, *__: entries.append(value), lambda *_: None, lambda *_: None, None)
    decider = BatchDecider(CONTEXT, reader, outlets, Collection(bytes(32)), fewest=reader.fewest)
    values = (dump(observation(name, 1, 4.0)) for name in names)
    for _ in decider.decide(Records.of(InputRecord("e", 0, nth, 0, None, value) for nth, value in enumerate(values))):
        pass
    return decider, entries


def test_more_series_than_there_was_room_for_beside_a_filter() -> None:
    """Columns grow with the series, including filter columns, even if only series without a filter arrive."""
    names = [f"home-{nth}" for nth in range(4500)]  # more than four times the initial room
    reader = RowReader(MemoryRows(), 0, 10_000, 1)
    reader.take(rows_of("filtered-1"))
    reader.take(rows_of(*names))
    decider, entries = decided(reader, "filtered-1", *names)
    assert len(decider.places) == len(entries) == len(decider.stored()) == 4501
    alone = Run(CONTEXT).feed_all(observation(name, at, 3.0 + at) for at in range(2) for name in ("filtered-1", *names))
    assert entries == alone.ledger[-4501:]


def test_groups_without_series_make_room() -> None:
    """If a series has many versions, one of its groups remains, and series that stay keep their own."""
    reader = RowReader(MemoryRows(), 0, 10_000, 1)
    reader.take(rows_of("home-1", "filtered-1"))
    for upper in range(10, 40):
        reader.take(rows_of("own-1", value={**NUMBER, "upper": upper}))
        expected = {**rows_of("home-1", "filtered-1"), **rows_of("own-1", value={**NUMBER, "upper": upper})}
        assert {name: reader.find(name) for name in expected} == expected
        reader.states.begin_batch()
    assert len(reader.states.groups) <= 4
    assert [group.series for group in reader.states.groups].count(1) == 3


def test_the_oldest_go_but_for_those_that_are_not_stored_yet() -> None:
    """Above the bound, the longest idle ones are dropped; the changes of two batches stay, however many."""
    reader = RowReader(MemoryRows(), 0, 32, 1)
    states = reader.states
    for batch in range(6):
        states.begin_batch()
        names = [f"home-{batch}-{nth}" for nth in range(24)]
        reader.take(rows_of(*names))
        kept = {f"home-{one}-{nth}" for one in (batch - 1, batch) if one >= 0 for nth in range(24)}
        assert kept <= set(states.index)
        assert len(states) <= 32 + 24
        assert len(states) == sum(group.series for group in states.groups)


def test_a_row_comes_back_as_it_was() -> None:
    """Rows return unchanged after others have used the same places; periods of one default policy are shared."""
    reader, names = (
        RowReader(MemoryRows(), 0, 10_000, 1),
        [f"{glob}-{nth}" for glob in ("home", "filtered") for nth in range(20)],
    )
    rows = rows_of(*names)
    for _ in range(2):
        reader.take(rows)
        assert {name: reader.find(name) for name in names} == rows
        assert len({id(period) for period in reader.states.periods}) == 2
        reader.states.forget(names[::3])
    assert len(reader.states) == len(names) - len(names[::3])
    assert len(reader.states.names) == len(names), "free places are used before new ones"


def test_periods_are_shared_by_those_alone_that_agree_in_all() -> None:
    """Series read back with equal policy bytes share one policy object; other parts of a period are their own."""
    row = rows_of("own-1", epsilon=1.0)["own-1"]
    promise, clock = row.state.promise, row.state.clock
    kept = {name: getattr(promise, name) for name in (one.name for one in fields(Promise))}
    others = [
        Promise(**kept | {"spare_left": 2}),
        Promise(**kept | {"prior_nano": 3}),
        Promise(**kept | {"first_budget_nano": 4}),
        Promise(**kept | {"claim_nano": 5}),
        Promise(**kept | {"landmarks": LandmarkSet(((70, 71),))}),
    ]
    states = [State(row.state.guard, other, clock, row.state.latest, closed=False) for other in (promise, *others)]
    times = {name: getattr(clock, name) for name in (one.name for one in fields(Clock))}
    later = Clock(**times | {"period_start_ms": -1})
    states.append(State(row.state.guard, promise, later, row.state.latest, closed=False))
    rows = {
        f"own-{nth}": SeriesRow(f"own-{nth}", b"own-%d" % nth, 2, row.previous, row.policy, "", state)
        for nth, state in enumerate(states)
    }
    reader = RowReader(MemoryRows(), 0, 100, 1)
    reader.take(rows)
    assert len(reader.states) == len(rows)
    assert {name: reader.find(name) for name in rows} == rows
    assert len({id(period) for period in reader.states.periods}) == len(rows)


def test_equal_rules_may_be_two_objects() -> None:
    """Series whose policies are alike but separate objects, as after thousands of others, are decided as well."""
    names = [f"own-{nth}" for nth in range(8)]
    rows: dict[str, SeriesRow] = {}
    for some in (names[:4], names[4:]):
        _shared.cache_clear()  # as more rules than it keeps do
        rows |= rows_of(*some, value={**NUMBER, "upper": 40})
    assert rows["own-0"].policy.rule is not rows["own-7"].policy.rule
    reader = RowReader(MemoryRows(), 0, 10_000, 1)
    reader.take(rows)
    decider, entries = decided(reader, *names)
    alone = Run(CONTEXT).feed_all([policy(name, 1, value={**NUMBER, "upper": 40}) for name in names])
    alone.feed_all([observation(name, at, 3.0 + at) for at in range(2) for name in names])
    assert len(decider.places) == len(names)
    assert entries == alone.ledger[-len(names) :]
    assert {name: reader.find(name) for name in names} == alone.rows


_GROWN = """
import numpy as np
from stream_app.deciding.columns.carried import FIGURES, grown
def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("RssAnon"))
for size in (1 << 20, 16 << 20, 31 << 20):
    np.full(size, 1, np.uint8)  # as large fetches do: from now on the heap has what is smaller
before, kept = resident(), []
for _ in range(4):
    figures = grown(np.zeros(0, FIGURES), 1024)
    while len(figures) < 150_000:
        figures["used"] = 1
        figures = grown(figures, 2 * len(figures))
    kept.append(figures)
print((resident() - before) / (sum(figures.nbytes for figures in kept) / 2))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_growing_keeps_no_memory_but_what_is_written() -> None:
    """Half of the places are free after growing: their pages and all earlier memory belong to the system."""
    ran = subprocess.run([sys.executable, "-c", _GROWN], capture_output=True, text=True, check=True)
    assert 0.9 < float(ran.stdout) < 1.3
