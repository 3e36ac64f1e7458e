"""Crashes: a worker that lost the readings of open steps, and read the input again, is the one that never crashed."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.deciding.context import Context, Limits
from stream_app.deciding.counters import Collection
from stream_app.deciding.decision import recall
from tests.deciding.test_recall import KEY, Worker, inputs, live_through_crashes, recall_at_every_place
from tests.readings import reading, schedules, within
from tests.run import KEYS


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(schedules(), st.data())
def test_recalled_readings_are_those_that_were_lost(drawn: list[dict[str, Any]], data: st.DataObject) -> None:
    """Value for value, wherever batches are cut and whichever are lost; all outputs are the same, to the byte."""
    live_through_crashes(inputs(drawn), data)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(schedules())
def test_readings_are_recalled_after_every_record(drawn: list[dict[str, Any]]) -> None:
    """At every place of a log; reading further back than needed changes nothing."""
    recall_at_every_place(inputs(drawn))


def test_acknowledged_beyond_the_first_reading_an_open_step_lacks_readings() -> None:
    """The control: the floor is not too low either."""
    log = inputs([within(), reading(11, 1), reading(12, 2), reading(5, 3)])
    worker = Worker()
    worker.batch(log)
    lived = worker.collection
    assert worker.acknowledged == 1
    worker.acknowledged = 2
    worker.restart(log)
    assert worker.collection != lived


def test_another_limit_of_the_future_recalls_the_same_readings() -> None:
    """What a limit refused stays refused, and what it let pass is read again, whatever the limit is by now."""
    log = inputs([within(), reading(1000, 1), reading(1005, 2)])
    worker = Worker()
    worker.batch(log)
    strict = Context(KEYS, limits=Limits(max_future_ms=10))
    again = Collection(KEY)
    for record in log:
        recall(strict, worker.find, again, record)
    assert again == worker.collection
    assert len(again.readings.find("ward-3", 100).times) == 2
