"""Series as columns: what is kept, for how long, and how many at once."""

from stream_app.deciding.columns.batch import BatchDecider
from stream_app.deciding.context import Context
from stream_app.deciding.counters import Collection
from stream_app.deciding.decider import Outlets
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import InputRecord, Records
from stream_app.formats.wire import dump
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.cache import RowReader
from tests.run import KEYS, Run, default, observation

FILTERED, PLAIN = default("filtered-*", filter="level"), default("*")
CONTEXT = Context(KEYS, (FILTERED, PLAIN))


def rows_of(*names: str) -> dict[str, SeriesRow]:
    """Return the rows of series behind their first step."""
    return Run(CONTEXT).feed_all([observation(name, 0, 3.0) for name in names]).rows


def decided(reader: RowReader, *names: str) -> tuple[BatchDecider, list[bytes]]:
    """Decide a step of each series in one batch; return what came of it, and its ledger entries."""
    entries: list[bytes] = []
    outlets = Outlets(lambda _, value, *__: entries.append(value), lambda *_: None, lambda *_: None, None)
    decider = BatchDecider(CONTEXT, reader, outlets, Collection(bytes(32)), fewest=reader.fewest)
    values = (dump(observation(name, 1, 4.0)) for name in names)
    for _ in decider.decide(Records.of(InputRecord("e", 0, nth, 0, None, value) for nth, value in enumerate(values))):
        pass
    return decider, entries


def test_more_series_than_there_was_room_for_beside_a_filter() -> None:
    """Columns grow with the series, those of filters too, though only series without one come."""
    names = [f"home-{nth}" for nth in range(1500)]
    reader = RowReader(MemoryRows(), 0, 10_000, 1)
    reader.take(rows_of("filtered-1"))
    reader.take(rows_of(*names))
    decider, entries = decided(reader, "filtered-1", *names)
    assert len(decider.places) == len(entries) == len(decider.stored()) == 1501
    alone = Run(CONTEXT).feed_all(observation(name, at, 3.0 + at) for at in range(2) for name in ("filtered-1", *names))
    assert entries == alone.ledger[-1501:]
