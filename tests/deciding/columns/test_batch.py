"""One batch: what is decided together or alone in it, where it ends, and what happens at its edges."""

from typing import Any

from stream_app.deciding.collection import Collection
from stream_app.deciding.columns.batch import BatchDecider
from stream_app.deciding.context import Context
from stream_app.deciding.decider import Decider, Outlets
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import InputRecord, Records
from stream_app.formats.wire import dump
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.cache import RowReader
from tests.run import ADAPTIVE, KEYS, Record, default, observation, policy

HOMES = [f"home-{nth}" for nth in range(40)]


def records(*sent: Record) -> Records:
    """Return records as a partition has them."""
    return Records.of(InputRecord("events", 0, nth, 0, None, dump(one)) for nth, one in enumerate(sent))


class Desk:
    """Batches decided in one of the two ways, with their outputs."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.out: dict[str, list[tuple[Any, ...]]] = {}
        self.reader = RowReader(MemoryRows(), 0, 10_000, 1)
        self.rows: dict[str, SeriesRow] = {}
        self.collections = Collection(bytes(32)), Collection(bytes(32))

    def outlets(self) -> Outlets:
        """Return outlets that keep the records of each topic."""

        def put(topic: str) -> Any:
            kept = self.out.setdefault(topic, [])
            return lambda *sent: kept.append(sent)

        return Outlets(put("ledger"), put("releases"), put("rejects"), None)

    def alone(self, given: Records) -> dict[bytes, bytes]:
        """Decide one by one; return the rows to store."""
        decider = Decider(self.context, self.rows.get, self.outlets(), self.collections[0])
        decider.decide(given)
        self.rows |= decider.changed
        return dict(decider.stored())

    def together(self, given: Records) -> tuple[BatchDecider, dict[bytes, bytes]]:
        """Decide as columns; return what was decided, and the rows to store."""
        decider = BatchDecider(self.context, self.reader, self.outlets(), self.collections[1], fewest=1)
        for _ in decider.decide(given):
            pass
        stored = dict(decider.stored())
        self.reader.take(decider.alone.changed)
        return decider, stored


def test_a_batch_that_watermarks_fill_ends_where_one_by_one_it_would() -> None:
    """Records before its end are decided, together or not; later records are not, and are returned whole."""
    context = Context(KEYS, (default("*"),))
    plain = {"value": {"kind": "counts", "keys": ["walk"]}, "collect": {"neighbours": "replace", "open_steps": 1}}
    wards = [f"ward-{nth}" for nth in range(4)]
    ends = [
        [{"type": "watermark", "series": one, "timestamp": end, "seed": "5e" * 32} for one in wards]
        for end in (0, 10_000)
    ]
    first = records(*(policy(ward, 1, **plain) for ward in wards), *ends[0], *(observation(one, 0, 3) for one in HOMES))
    filling: list[Record] = []
    for nth, end in enumerate(ends[1]):
        filling += [*(observation(one, 1 + nth, 4) for one in HOMES), end]
    second = records(*filling)
    desk, plainly = Desk(context), Desk(context)
    desk.together(first)
    decider, stored = desk.together(second)
    assert 41 < decider.end < len(second)
    assert len(decider.places) == len(HOMES)
    plainly.alone(first)
    assert plainly.alone(second[: decider.end]) == stored
    assert plainly.out == desk.out
    assert desk.together(second[decider.end :])[0].end == len(second) - decider.end
    plainly.alone(second[decider.end :])
    assert plainly.out == desk.out


def test_first_publications_and_the_largest_noise() -> None:
    """A rate stays if nothing was published before; measurements end where cells have their own doubles."""
    value = {"kind": "number", "lower": 0, "upper": 9.2e9, "resolution": 1, "clamp": False}
    protection = {"level": "landmark", "landmarks": [0]}
    context = Context(KEYS, (default("*", epsilon=1e-9, value=value, scheme=ADAPTIVE, protection=protection),))
    desk, plainly = Desk(context), Desk(context)
    for time in range(3):
        batch = records(*(observation(one, time, 4.0) for one in HOMES))
        decider, stored = desk.together(batch)
        assert stored == plainly.alone(batch)
        assert desk.out == plainly.out
        assert len(decider.places) == (len(HOMES) if time else 0)
        assert all(desk.reader.find(name) == row for name, row in plainly.rows.items())
    assert {row.state.latest.measurement[0] for row in plainly.rows.values()} & {2**50, -(2**50)}
