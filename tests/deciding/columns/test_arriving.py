"""Stored rows become columns together as they do one by one: the same series, figures and periods."""

import json
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from stream_app.deciding import rows
from stream_app.deciding.columns.carried import SeriesFigures
from stream_app.deciding.columns.states import States, arrive
from stream_app.deciding.context import Context
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import InputRecord
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.cache import RowReader
from stream_app.privacy.policy import Policy
from tests.deciding.columns.test_same_bytes import Scale, Way, contexts, logs
from tests.run import KEYS, Run, default, observation, policy
from tests.suite.speeds import scaled


def table_of(held: dict[str, SeriesRow]) -> MemoryRows:
    """Return rows as a worker stores them."""
    table, shared = MemoryRows(), set[str]()
    for row in held.values():
        table.write(0, rows.dump(row, None, shared), None)
    return table


def figures_of(states: States, series: str) -> tuple[Any, ...]:
    """Return all the data in columns about a series, except its group's number."""
    place = states.index[series]
    period, figures = states.periods[place], SeriesFigures(*states.figures[place].item())
    levels = (
        states.levels[place].tolist() if period.group.rule.filtered and states.row(place).state.latest.level else []
    )
    known = (period.texts, period.start_ms, period.promise)
    return (figures._replace(group=0), levels, period.policy, period.group.default, known)


@given(
    data=st.data(),
    scale=st.builds(Scale, st.sampled_from([1, 3_600_000]), late=st.booleans()),
    fewest=st.sampled_from([1, 1, 2, 3]),
)
@settings(max_examples=scaled(75))
def test_at_once_as_one_by_one(data: st.DataObject, scale: Scale, fewest: int) -> None:
    """This holds for any kind, scheme, filter, level and history of the series, and for any source of policies."""
    context, _ = data.draw(contexts(scale))
    one = Way(together=False, fewest=fewest, cached=1000)
    values = (record if isinstance(record, bytes) else json.dumps(record).encode() for record in data.draw(logs(scale)))
    one.decide(context, [InputRecord("events", 0, nth, nth, None, value) for nth, value in enumerate(values)])
    table = table_of(one.rows)
    reader, other = RowReader(table, 0, 1000, fewest), RowReader(MemoryRows(), 0, 1000, fewest)
    reader.arrive([*one.rows, "unknown"], fewest)
    defaults: dict[str, Policy] = {}
    loaded = {name: rows.load(lambda key: table.read(0, key), name, defaults) for name in one.rows}
    other.take({name: row for name, row in loaded.items() if row is not None})
    assert set(reader.states.index) == set(other.states.index)
    for name, row in one.rows.items():
        assert reader.find(name) == row
        if name in other.states.index:
            assert figures_of(reader.states, name) == figures_of(other.states, name)
    assert len(set(map(id, reader.states.periods))) == len(set(map(id, other.states.periods)))
    assert sorted(group.series for group in reader.states.groups if group.series) == sorted(
        group.series for group in other.states.groups if group.series
    )
    event(f"some stand as columns: {bool(reader.states.index)}")


def test_of_default_policies_no_row_is_made() -> None:
    """All series of default policies arrive together, also with a filter; others are given by name."""
    context = Context(KEYS, (default("filtered-*", filter="level"), default("*")))
    names = [f"{glob}-{nth}" for glob in ("home", "filtered") for nth in range(30)]
    log = [policy("own-1", 1), *(observation(name, at, 3.0) for at in range(2) for name in (*names, "own-1"))]
    held = Run(context).feed_all([*log, {"type": "close", "series": "home-3"}]).rows
    table, defaults = table_of(held), dict[str, Policy]()
    stored = {name: table.read(0, b"s" + name.encode()) or b"" for name in held}

    def policy_of(name: str) -> Policy:
        return rows.default_policy(lambda key: table.read(0, key), name, defaults)

    made: dict[str, SeriesRow] = {}

    def load(name: str) -> SeriesRow:
        made[name] = row = rows.load_read(lambda key: table.read(0, key), name, stored[name], defaults)
        return row

    states = States(1000)
    arrive(states, {}, stored, policy_of, load, 2)
    assert sorted(states.index) == sorted({*names} - {"home-3"})
    assert sorted(made) == ["filtered-0", "home-0", "own-1"]  # a period of each default policy, and the other


def test_more_arrive_than_there_is_room_for() -> None:
    """The oldest are dropped, as with single ones; those of the batch stay, however many there are."""
    context = Context(KEYS, (default("*"),))
    names = [f"home-{nth}" for nth in range(96)]
    held = Run(context).feed_all(observation(name, 0, 3.0) for name in names).rows
    reader = RowReader(table_of(held), 0, 32, 1)
    for batch in range(8):
        reader.states.begin_batch()
        some = names[batch * 24 % 96 :][:24]
        reader.arrive([name for name in some if name not in reader.states.index], 1)
        assert set(some) <= set(reader.states.index)
        assert len(reader.states) <= 32 + 24
        assert len(reader.states) == sum(group.series for group in reader.states.groups)
        assert {name: reader.find(name) for name in names} == held
