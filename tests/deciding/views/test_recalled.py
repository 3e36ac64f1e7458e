"""Views with steps read in memory: a worker that lost it and reread the input equals one that did not."""

from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from stream_app.deciding import checks
from stream_app.deciding.context import Context
from stream_app.formats.records import EventRecord, InputRecord, Observation
from tests.deciding.test_recall import Worker, live_through_crashes
from tests.deciding.views.logs import BASE, LIMITS, base, context, refused, run_of
from tests.readings import read_of
from tests.run import NUMBER, default
from tests.suite.speeds import scaled
from tests.units import landmarks, reading, watermark

STEP = 10
NOW = replace(LIMITS, max_future_ms=STEP // 2)
Timed = tuple[int, dict[str, Any]]  # when the broker appended a record, and the record


def of(**first: Any) -> Context:
    """Return a configuration whose views take several readings per step, with a base as ``first`` says."""
    made = default("p-*/sugar", epsilon=1e5, protection=_protection("sum", 2), value=NUMBER)
    views = replace(made, view="sum"), replace(made, view="max", policy=_policy("max", 1))
    return context(base(protection={"step": STEP} | first), *views, limits=NOW)


def _protection(aggregate: str, open_steps: int) -> dict[str, object]:
    return {"level": "landmark", "step": STEP, "within": aggregate, "open_steps": open_steps, "spare": 3}


def _policy(aggregate: str, open_steps: int) -> Any:
    return default("*", epsilon=1e5, protection=_protection(aggregate, open_steps), value=NUMBER).policy


def inputs(log: list[Timed]) -> list[InputRecord]:
    """Return a log as it is on its partition."""
    records = ((at, orjson.dumps(record)) for at, record in log)
    return [InputRecord("events", 0, nth, at, None, value) for nth, (at, value) in enumerate(records)]


@st.composite
def logs(draw: st.DrawFn) -> list[Timed]:
    """Return records of one base that are in time, late, or too early for the broker's clock."""
    now, log = 0, list[Timed]()
    for _ in range(draw(st.integers(1, 40))):
        now += draw(st.integers(0, 6))
        at = max(0, now + draw(st.sampled_from((0, 0, 0, 3, 6, 9, 30, -5, -12))))
        match draw(st.sampled_from("rrrrrrwl")):
            case "r":
                log.append((now, reading(at, draw(st.sampled_from((1, 2.5, "none"))), BASE)))
            case "w":
                log.append((now, watermark(at, BASE)))
            case _:
                log.append((now, landmarks(at + 10, series=BASE)))
    return log


@settings(max_examples=scaled(75), suppress_health_check=[HealthCheck.too_slow])
@given(logs(), st.sampled_from(({}, {"within": "last", "open_steps": 1})), st.data())
def test_recalled_readings_are_those_that_were_lost(log: list[Timed], first: dict[str, Any], data: Any) -> None:
    """This covers base and views for any cut or lost batches; all outputs are the same to the byte."""
    live_through_crashes(inputs(log), data, of(**first))
    event(f"base reads: {bool(first)}")


def test_what_is_refused_as_future_is_read_by_no_view() -> None:
    """A recall checks no clock, so a reading for an open view step is in time for all, and is read permanently."""
    log: list[Timed] = [(0, reading(2, 1, BASE)), (0, reading(7, 2, BASE)), (0, reading(17, 2, BASE))]
    worker = Worker(of())
    worker.batch(inputs(log))
    lived = worker.collection
    assert len(read_of(lived, f"{BASE}/sum")[0].times) == 2
    worker.restart(inputs(log))
    assert worker.collection == lived
    run = run_of(*(record for _, record in log), of=of())
    assert refused(run) == [(BASE, "duplicate", 1), (BASE, "future", 2)]


@pytest.mark.parametrize("recalled", [True, False])
def test_a_check_that_no_recall_repeats_refuses_nothing_that_a_view_reads(
    monkeypatch: pytest.MonkeyPatch,
    recalled: bool,  # noqa: FBT001 (a parameter)
) -> None:
    """A reading of a view's open step is accepted whatever such a check says, so memory after a restart is the same."""

    def is_early(_context: object, _row: object, found: EventRecord, _record: object) -> bool:
        return isinstance(found, Observation) and found.timestamp_ms == 2

    monkeypatch.setattr(checks, "CHECKS", (*checks.CHECKS, checks.Check("early", is_early, recalled=recalled)))
    log: list[Timed] = [(0, reading(3, 1, BASE)), (0, reading(2, 2, BASE))]
    worker = Worker(of())
    worker.batch(inputs(log))
    lived = worker.collection
    assert len(read_of(lived, f"{BASE}/sum")[0].times) == 2 - recalled
    worker.restart(inputs(log))
    assert worker.collection == lived
