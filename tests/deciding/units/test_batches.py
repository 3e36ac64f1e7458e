"""A log gives the same bytes for any cut into batches, any crash between them, and either way of deciding."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from stream_app.deciding.collection import Collection
from stream_app.deciding.columns.batch import BatchDecider
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decider import Decider, Headers, Outlets
from stream_app.deciding.units.blocks import Blocks, Table
from stream_app.deciding.units.sealed import SEALED_BYTES
from stream_app.formats.records import InputRecord, Records
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.cache import RowReader
from stream_app.privacy.noise.key import KeyRing
from tests.suite.speeds import scaled
from tests.units import schedules

TOPIC = "AAAAAAAAAAAAAAAAAAAAAA"
Out = dict[str, list[tuple[bytes | None, bytes, int, Headers]]]


def outlets(out: Out) -> Outlets:
    """Return outlets that keep the records of each topic."""

    def put(topic: str) -> Any:
        kept = out.setdefault(topic, [])
        return lambda key, value, time, headers: kept.append((key, value, time, headers))

    return Outlets(put("ledger"), put("releases"), put("rejects"), None)


class Worker:
    """A partition's owner without Kafka: a table that outlives it, and the order of commits."""

    def __init__(self, table: MemoryRows, out: Out) -> None:
        self.table, self.out = table, out
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget what is only in memory, like a dying process."""
        self.reader = RowReader(self.table, 0, 100, 1)
        self.running: dict[bytes, bytes | None] = {}

    def decide(self, context: Context, batch: Sequence[InputRecord]) -> None:
        """Decide a batch while the one before commits."""
        table = Table(context.keys, TOPIC, self.reader.sealed)
        collection = Collection(bytes(32), Blocks(table))
        decider = BatchDecider(context, self.reader, outlets(self.out), collection, self.reader.find_member, 1)
        for _ in decider.decide(Records.of(batch)):
            pass
        stored, sealed = decider.stored(), collection.units.written()
        assert all(row is None or len(row) == SEALED_BYTES for row in sealed.values())
        assert collection.units == Blocks(), "nothing of what is open stays in memory"
        self.reader.take(decider.alone.changed)
        self.commit()
        self.reader.hold(decider.alone.changed, decider.alone.members, sealed)
        self.running = {**dict(stored), **sealed}

    def commit(self) -> None:
        """Store the content of the running commit."""
        self.table.write(0, self.running.items(), None)
        self.reader.let_go()


def records_of(log: Sequence[dict[str, Any]]) -> list[InputRecord]:
    """Return a log as input."""
    return [InputRecord("events", 0, nth, nth, None, json.dumps(one).encode()) for nth, one in enumerate(log)]


@given(
    log=schedules(),
    cuts=st.lists(st.integers(0, 120), max_size=6),
    dies=st.sets(st.integers(0, 6)),
    epoch_ms=st.sampled_from((None, 30)),
    erases=st.integers(0, 5),
)
@settings(max_examples=scaled(150))
def test_any_cut_and_any_crash_give_the_same_bytes(
    log: list[dict[str, Any]], cuts: list[int], dies: set[int], epoch_ms: int | None, erases: int
) -> None:
    """A worker that loses a batch decides it again from its rows; keys erased in between affect both equally."""
    limits = Limits(lifetime_nano=10**15, accept_weaker_policies=True)
    whole = Context(KeyRing("0123456789abcdef", 0, bytes(range(32)), epoch_ms), limits=limits)
    records = records_of(log)
    bounds = sorted({0, len(records), *(min(cut, len(records)) for cut in cuts)})
    out: Out = {}
    once: Out = {}
    worker, collection = Worker(MemoryRows(), out), Collection(bytes(32))
    rows: dict[str, Any] = {}
    for number, (start, end) in enumerate(pairwise(bounds)):
        keys = whole.keys.erased_before(1) if number >= erases and epoch_ms else whole.keys
        assert keys is not None
        context = Context(keys, limits=limits)
        if number in dies:
            before = {topic: len(found) for topic, found in out.items()}
            worker.commit()
            worker.decide(context, records[start:end])
            worker.begin_anew()
            for topic, found in out.items():
                del found[before.get(topic, 0) :]
        worker.decide(context, records[start:end])
        alone = Decider(context, rows.get, outlets(once), collection)
        alone.decide(records[start:end])
        rows |= alone.changed
    worker.commit()
    assert out == once
    assert {name: worker.reader.find(name) for name in rows} == rows
    left = [key for key in worker.table.copy(0).rows if key[:1] == b"u"]
    wanted = sum(len(step.numbers) for row in rows.values() if row.open_units for step in row.open_units.steps)
    assert len(left) == wanted, "rows of steps that are over are deleted"
    event(f"released: {bool(out.get('releases'))}")
    event(f"open at the end: {bool(wanted)}")
