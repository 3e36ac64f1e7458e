"""Crashes: a worker that lost its memory and reread the input from the floor equals one that never crashed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.deciding import checks, rows
from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decider import Decider, Headers, Outlets
from stream_app.deciding.decision import decide, recall
from stream_app.deciding.members import Member, load_member
from stream_app.deciding.outcome import RejectedRecord
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import Contribution, InputRecord
from tests import collected, readings
from tests.run import KEYS
from tests.suite.speeds import scaled

CONTEXT = Context(KEYS, limits=Limits(lifetime_nano=10**15))
KEY = bytes(32)


def inputs(log: list[dict[str, Any]]) -> list[InputRecord]:
    """Return a log as it is on its partition."""
    return [InputRecord("events", 0, nth, 0, None, orjson.dumps(record)) for nth, record in enumerate(log)]


def one_item(start_ms: int) -> list[InputRecord]:
    """Return a log that begins to collect, opens the step at ``start_ms``, and has one item in it."""
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


def read(*times_ms: int) -> list[InputRecord]:
    """Return a log of a policy and of readings at these times, two or more of them in one step."""
    return inputs([readings.within(), *(readings.reading(at, nth) for nth, at in enumerate(times_ms, 1))])


class Worker:
    """A restarting worker: a table, topics, and memory that a crash destroys; a batch is committed whole."""

    def __init__(self, context: Context = CONTEXT) -> None:
        """Begin with nothing."""
        self.context = context
        self.table: dict[bytes, bytes] = {}
        self.topics: tuple[list[tuple[bytes, Headers]], ...] = ([], [], [])
        self.next_offset = 0
        self.acknowledged = 0
        self.collection = Collection(KEY)

    def find(self, series: str) -> SeriesRow | None:
        """Return a row as it is stored."""
        return rows.load(self.table.get, series, {})

    def find_member(self, chain: str) -> Member | None:
        """Return a member as it is stored."""
        return load_member(self.table.get, chain)

    def batch(self, records: list[InputRecord], *, committed: bool = True) -> None:
        """Decide records; the results are kept only if the batch is committed."""
        topics: tuple[list[tuple[bytes, Headers]], ...] = ([], [], [])

        def outlet(nth: int) -> Any:
            return lambda _key, value, _at, headers: topics[nth].append((value, headers))

        outlets = Outlets(outlet(0), outlet(1), outlet(2), None)
        decider = Decider(self.context, self.find, outlets, self.collection, self.find_member)
        decider.decide(records)
        if committed:
            self.table.update(decider.stored())
            self.next_offset = records[-1].offset + 1
            for topic, added in zip(self.topics, topics, strict=True):
                topic.extend(added)
            floor = self.collection.floor()
            self.acknowledged = self.next_offset if floor is None else floor

    def restart(self, log: list[InputRecord]) -> None:
        """Lose the memory, and read the input again from the acknowledged offset."""
        self.collection = Collection(KEY)
        for record in log[self.acknowledged : self.next_offset]:
            recall(self.context, self.find, self.collection, record)


def live_through_crashes(log: list[InputRecord], data: st.DataObject, context: Context = CONTEXT) -> None:
    """Check that memory and outputs equal those of a worker without crashes, for any cut or lost batches."""
    steady, crashing = Worker(context), Worker(context)
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
    assert _own_rows(crashing) == _own_rows(steady)
    assert crashing.collection == steady.collection


def _own_rows(worker: Worker) -> dict[bytes, bytes]:
    """Return all rows except those of default policies, which remain when their series have their own policies."""
    return {key: row for key, row in worker.table.items() if not key.startswith(b"d")}


def recall_at_every_place(log: list[InputRecord]) -> None:
    """Check that memory is recovered after each record, even if more is read than needed."""
    worker = Worker()
    for record in log:
        worker.batch([record])
        for start in (worker.acknowledged, 0):
            again = Collection(KEY)
            for earlier in log[start : worker.next_offset]:
                recall(CONTEXT, worker.find, again, earlier)
            assert again == worker.collection


SCHEDULES = {"collected": collected.schedules(), "readings": readings.schedules()}
"""Logs that lose counters in a crash, and logs that lose readings."""


@pytest.mark.parametrize("memory", SCHEDULES)
@settings(max_examples=scaled(100), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_recalled_memory_is_the_one_that_was_lost(memory: str, data: st.DataObject) -> None:
    """Memory is equal in every value after every record, and all later output is equal to the byte."""
    live_through_crashes(inputs(data.draw(SCHEDULES[memory])), data)


@pytest.mark.parametrize("memory", SCHEDULES)
@settings(max_examples=scaled(50), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_recall_after_every_record(memory: str, data: st.DataObject) -> None:
    """Recall works anywhere in a log; reading further back than needed changes nothing."""
    recall_at_every_place(inputs(data.draw(SCHEDULES[memory])))


@pytest.mark.parametrize("log", [one_item(0), read(11, 12, 5)], ids=SCHEDULES)
def test_a_floor_that_is_too_high_loses_items(log: list[InputRecord]) -> None:
    """As a control, acknowledging beyond the floor makes the content of open steps unrecoverable."""
    worker = Worker()
    worker.batch(log)
    lived = worker.collection
    assert worker.acknowledged == 1
    worker.acknowledged = 2
    worker.restart(log)
    assert worker.collection != lived


@pytest.mark.parametrize(
    ("log", "most_ms", "opened"),
    [
        (one_item(1000), 1000, lambda again: list(again.opened("a")) == [100]),
        (read(1000, 1005), 10, lambda again: len(readings.read_of(again, "ward-3")[100].times) == 2),
    ],
    ids=SCHEDULES,
)
def test_a_lower_limit_of_the_future_loses_no_step(
    log: list[InputRecord], most_ms: int, opened: Callable[[Collection], bool]
) -> None:
    """A step opened under an earlier configuration is recalled whole under a stricter one."""
    worker = Worker()
    worker.batch(log)
    strict = Context(KEYS, limits=Limits(max_future_ms=most_ms))
    again = Collection(KEY)
    for record in log:
        recall(strict, worker.find, again, record)
    assert again.floor() == worker.collection.floor() == 1
    assert opened(again)
    assert again == worker.collection


def test_a_watermark_without_seed_that_was_rejected_is_recalled_as_nothing() -> None:
    """It comes after the watermark that opened the step, so each restart rereads it; it opens nothing."""
    log = one_item(0)
    log.append(InputRecord("events", 0, 3, 0, None, b'{"type":"watermark","series":"a","timestamp":10}'))
    worker = Worker()
    worker.batch(log)
    lived = worker.collection
    assert [orjson.loads(value)["reason"] for value, _ in worker.topics[2]] == ["malformed"]
    worker.restart(log)
    assert worker.collection == lived


@pytest.mark.parametrize("recalled", [None, True, False])
def test_what_a_check_refused_is_recalled_as_nothing(
    monkeypatch: pytest.MonkeyPatch,
    recalled: bool | None,  # noqa: FBT001 - a parameter
) -> None:
    """A check whose answer may have changed refuses nothing in an open step on recall: memory is the same."""
    check = checks.Check(
        "malformed", lambda _context, _row, found, _record: isinstance(found, Contribution), recalled=recalled
    )
    monkeypatch.setattr(checks, "CHECKS", (*checks.CHECKS, check))
    worker = Worker()
    worker.batch(one_item(0))
    (cells,) = (list(counters.cells) for counters in worker.collection.counted("a").values())
    again = Collection(KEY)
    for record in one_item(0):
        recall(CONTEXT, worker.find, again, record)
    (counters,) = again.counted("a").values()
    assert cells == list(counters.cells) == [int(recalled is False)]


def test_a_separator_that_came_later_recalls_the_same_readings() -> None:
    """The name no longer belongs to a member: readings of an open step still count, and no other step opens."""
    taken = [readings.reading(at, 1, "/ward") for at in (1000, 1005, 1007, 1012)]
    log = inputs([readings.within(series="/ward"), *taken])
    worker, later = Worker(), Context(KEYS, limits=Limits(member_separator="/", member_nano=10**9))
    worker.batch(log[:3])
    outcomes = [decide(later, worker.find, worker.collection, record) for record in log[3:]]
    assert [isinstance(one, RejectedRecord) and one.reason for one in outcomes] == [False, "malformed"]
    again = Collection(KEY)
    for record in log:
        recall(later, worker.find, again, record)
    assert again == worker.collection
    assert len(readings.read_of(again, "/ward")[100].times) == 3


def test_a_separator_that_came_later_loses_no_item_and_adds_none() -> None:
    """The name no longer belongs to a member: items of an open step still count, and all others are refused."""
    log = [replace(record, value=(record.value or b"").replace(b'"a"', b'"/a"')) for record in one_item(1000)]
    more: list[dict[str, Any]] = [
        {"type": "contribution", "series": "/a", "timestamp": 1002, "member": "n", "value": "walk"},
        {"type": "intrusion", "series": "/a", "seed": "1d" * 32},
        {"type": "contribution", "series": "/a", "timestamp": 1012, "member": "n", "value": "walk"},
        {"type": "watermark", "series": "/a", "timestamp": 1010, "seed": "77" * 32},
    ]
    log += [replace(record, offset=3 + record.offset) for record in inputs(more)]
    worker, later = Worker(), Context(KEYS, limits=Limits(member_separator="/", member_nano=10**9))
    worker.batch(log[:3])
    outcomes = [decide(later, worker.find, worker.collection, record) for record in log[3:]]
    assert [one.reason for one in outcomes if isinstance(one, RejectedRecord)] == [
        "invalid-policy",
        "malformed",
        "malformed",
    ]
    again = Collection(KEY)
    for record in log:
        recall(later, worker.find, again, record)
    assert again == worker.collection
