"""Crashes: a worker that lost its memory, and read the input again from the floor, is the one that never crashed."""

from typing import Any

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.deciding import rows
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.counters import Collection
from stream_app.deciding.decider import Decider, Headers, Outlets
from stream_app.deciding.decision import recall
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import InputRecord
from tests.collected import schedules
from tests.run import KEYS

CONTEXT = Context(KEYS, limits=Limits(lifetime_nano=10**15))
KEY = bytes(32)


def inputs(log: list[dict[str, Any]]) -> list[InputRecord]:
    """Return a log as it lies on its partition."""
    return [InputRecord("events", 0, nth, 0, None, orjson.dumps(record)) for nth, record in enumerate(log)]


def one_item(start_ms: int) -> list[InputRecord]:
    """Return a log that begins to collect, opens the step at ``start_ms``, and holds one item of it."""
    policy = {
        "epsilon": 1.0,
        "protection": {"level": "event", "step": 10},
        "scheme": {"name": "uniform"},
        "value": {"kind": "counts", "keys": ["walk"]},
        "collect": {"neighbours": "replace", "open_steps": 1},
    }
    return inputs([
        {"type": "policy", "series": "a", "version": 1, **policy},
        {"type": "watermark", "series": "a", "timestamp": start_ms, "seed": "5e" * 32},
        {"type": "contribution", "series": "a", "timestamp": start_ms + 1, "member": "m", "value": "walk"},
    ])  # fmt: skip


class Worker:
    """A worker as it restarts: a table, topics, and memory that a crash takes; a batch is committed whole."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.table: dict[bytes, bytes] = {}
        self.topics: tuple[list[tuple[bytes, Headers]], ...] = ([], [], [])
        self.next_offset = 0
        self.acknowledged = 0
        self.collection = Collection(KEY)

    def find(self, series: str) -> SeriesRow | None:
        """Return a row as it is stored."""
        return rows.load(self.table.get, series, {})

    def batch(self, records: list[InputRecord], *, committed: bool = True) -> None:
        """Decide records; what they came to is kept only when the batch is committed."""
        topics: tuple[list[tuple[bytes, Headers]], ...] = ([], [], [])

        def outlet(nth: int) -> Any:
            return lambda _key, value, _at, headers: topics[nth].append((value, headers))

        decider = Decider(CONTEXT, self.find, Outlets(outlet(0), outlet(1), outlet(2), None), self.collection)
        decider.decide(records)
        if committed:
            self.table.update(decider.stored())
            self.next_offset = records[-1].offset + 1
            for topic, added in zip(self.topics, topics, strict=True):
                topic.extend(added)
            floor = self.collection.floor()
            self.acknowledged = self.next_offset if floor is None else floor

    def restart(self, log: list[InputRecord]) -> None:
        """Lose the memory, and read the input again from where it was acknowledged."""
        self.collection = Collection(KEY)
        for record in log[self.acknowledged : self.next_offset]:
            recall(CONTEXT, self.find, self.collection, record)


def live_through_crashes(log: list[InputRecord], data: st.DataObject) -> None:
    """Check that memory and outputs are those of a worker without a crash, wherever batches are cut or lost."""
    steady, crashing = Worker(), Worker()
    for record in log:
        steady.batch([record])
    at = 0
    while at < len(log):
        size = data.draw(st.integers(1, len(log) - at))
        if data.draw(st.booleans()):
            crashing.batch(log[at : at + size], committed=False)
            crashing.restart(log)
            continue
        crashing.batch(log[at : at + size])
        at += size
        lived = crashing.collection
        crashing.restart(log)
        assert crashing.collection == lived
        assert crashing.collection.floor() == lived.floor()
        assert len(crashing.collection) == len(lived)
    assert crashing.topics == steady.topics
    assert crashing.table == steady.table
    assert crashing.collection == steady.collection


def recall_at_every_place(log: list[InputRecord]) -> None:
    """Check that memory is had again after each record, also when more is read than is needed."""
    worker = Worker()
    for record in log:
        worker.batch([record])
        for start in (worker.acknowledged, 0):
            again = Collection(KEY)
            for earlier in log[start : worker.next_offset]:
                recall(CONTEXT, worker.find, again, earlier)
            assert again == worker.collection


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(schedules(), st.data())
def test_recalled_memory_is_the_one_that_was_lost(drawn: list[dict[str, Any]], data: st.DataObject) -> None:
    """Value for value, after every record; and whatever follows comes out the same, to the byte."""
    live_through_crashes(inputs(drawn), data)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(schedules())
def test_recall_after_every_record(drawn: list[dict[str, Any]]) -> None:
    """At every place of a log; reading further back than needed changes nothing."""
    recall_at_every_place(inputs(drawn))


def test_a_floor_that_is_too_high_loses_items() -> None:
    """The control: acknowledged further than the floor, the counters of open steps cannot be had again."""
    log = one_item(0)
    worker = Worker()
    worker.batch(log)
    lived = worker.collection
    assert worker.acknowledged == 1
    worker.acknowledged = 2
    worker.restart(log)
    assert worker.collection != lived


def test_a_lower_limit_of_the_future_loses_no_step() -> None:
    """A step opened under an earlier configuration is recalled under a stricter one, with all that it counts."""
    log = one_item(1000)
    worker = Worker()
    worker.batch(log)
    strict = Context(KEYS, limits=Limits(max_future_ms=1000))
    again = Collection(KEY)
    for record in log:
        recall(strict, worker.find, again, record)
    assert again.floor() == worker.collection.floor() == 1
    assert list(again.opened("a")) == [100]
    assert again == worker.collection


def test_a_watermark_without_seed_that_was_rejected_is_recalled_as_nothing() -> None:
    """It lies behind the watermark that opened the step, so each restart meets it; it opens nothing."""
    log = one_item(0)
    log.append(InputRecord("events", 0, 3, 0, None, b'{"type":"watermark","series":"a","timestamp":10}'))
    worker = Worker()
    worker.batch(log)
    lived = worker.collection
    assert [orjson.loads(value)["reason"] for value, _ in worker.topics[2]] == ["malformed"]
    worker.restart(log)
    assert worker.collection == lived
