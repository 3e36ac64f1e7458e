"""Inputs processed in batches of one record and of many: the same outputs, counts and checks of the rows."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_app.deciding import decider
from stream_app.deciding.columns.batch import BatchDecider
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decider import Append, Headers, Outlets
from stream_app.deciding.landmarksmet import LandmarksMet
from stream_app.formats.records import Records
from stream_app.formats.wire import dump
from stream_app.kafka.memory.partition import MemoryPartition
from stream_app.replaying.doubts import CheckedRows
from stream_app.replaying.processing import MOST_RECORDS, RunResult, processed
from tests import collected, readings, units
from tests.deciding.views import logs as views
from tests.hostile import HOMES_CONTEXT, hostile_homes
from tests.run import KEYS, NUMBER, Run, default, observation, policy
from tests.suite.speeds import scaled

HOMES = [f"home-{nth}" for nth in range(20)]
HOUR, BEGIN = 3_600_000, 1_600_000_000_000


def run_of(
    context: Context, events: Sequence[bytes], most_records: int, *, mixes: bool = False
) -> tuple[RunResult, list[list[bytes]]]:
    """Process events in batches of at most ``most_records``; return the result and the outputs."""
    out: list[list[bytes]] = [[], [], []]

    def put(lines: list[bytes]) -> Append:
        def append(_key: bytes | None, value: bytes, _timestamp_ms: int, _headers: Headers) -> None:
            lines.append(value)

        return append

    result = processed(
        context, events, CheckedRows(context), LandmarksMet(), map(put, out), mixes=mixes, most_records=most_records
    )
    return result, out


def assert_equal_in_batches(context: Context, events: Sequence[bytes], *, mixes: bool = False) -> RunResult:
    """Check that batches affect neither outputs nor anything shown to the user; return the result.

    Unless seeds are mixed, the outputs are also those of records that are decided one by one.
    """
    (many, out), (single, alone) = (run_of(context, events, most, mixes=mixes) for most in (MOST_RECORDS, 1))
    assert out == alone
    if not mixes:
        run = Run(context).feed_all(events)
        assert out == [run.ledger, run.releases, run.rejects]
    assert many.totals["events"] == len(events)
    assert many.document() == single.document()
    assert (list(many.lines()), many.doubts, many.notes) == (list(single.lines()), single.doubts, single.notes)
    rows, others = many.rows, single.rows
    for name in ("count", "refused", "first", "ahead", "swallowed", "unruled", "without_policy"):
        assert getattr(rows, name) == getattr(others, name), name
    assert list(rows.unfit()) == list(others.unfit())
    assert _lasting(rows) == _lasting(others)
    for name in ("values", "outside", "substituted", "_of"):
        assert getattr(rows.ranges, name) == getattr(others.ranges, name), name
    assert (many.met.sentence, many.met.step_sentence(1)) == (single.met.sentence, single.met.step_sentence(1))
    return many


def _lasting(rows: CheckedRows) -> list[object]:
    """Return what the rules for rejected and substituted rows keep in a renewal, which may be in the same batch."""
    first = rows.ranges.first_substituted
    rules = [*rows.ruling.items(), *([first] if first else [])]
    return [(of, rule.kind, rule.step_ms, rule.within, rule.units) for of, rule in rules]


def test_hostile_records(hostile_records: int) -> None:
    """Many series each get valid and absurd records, of which many are rejected."""
    events = [value for value in hostile_homes(np.random.default_rng(6), hostile_records) if value is not None]
    result = assert_equal_in_batches(HOMES_CONTEXT, events)
    assert result.totals["perturbed"] > hostile_records // 10
    assert len(result.rejected) > 5


@settings(max_examples=scaled(20))
@given(log=st.one_of(collected.schedules(), readings.schedules(), units.schedules()), mixes=st.booleans())
def test_open_steps(log: list[dict[str, Any]], *, mixes: bool) -> None:
    """Contributions, readings and units are gathered alike, and the same number of steps is still open at the end."""
    assert_equal_in_batches(Context(KEYS, limits=Limits(lifetime_nano=10**15)), list(map(dump, log)), mixes=mixes)


def test_full_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """If each watermark fills a batch, every record is still counted once, with its own outputs."""
    monkeypatch.setattr(decider, "MOST_BULK_BYTES", 1)
    log = [readings.within(protection={"level": "event", "step": 10, "within": "last", "open_steps": 1})]
    for step in range(9):
        log += [readings.reading(10 * step + nth, value) for nth, value in enumerate([1.0] * (step % 3) + ["x", 2.0])]
        log.append(readings.watermark(10 * (step + 1)))
    result = assert_equal_in_batches(Context(KEYS), list(map(dump, log)))
    assert list(result.rows.unfit()) == [
        (nth, "invalid-value") for nth, record in enumerate(log) if record.get("value") == "x"
    ]
    assert result.totals["perturbed"] > 6


@settings(max_examples=scaled(20))
@given(log=views.logs())
def test_views(log: list[dict[str, Any]]) -> None:
    """A record that views reject for different reasons is explained by the first of them."""
    assert_equal_in_batches(views.context(), list(map(dump, log)))


def test_rows_are_checked_under_the_policy_of_their_time() -> None:
    """A version with another range later in the same batch does not change what is said of earlier rows."""
    narrow, wide = ({**NUMBER, "upper": upper} for upper in (1, 1000))
    log = [policy(home, value=narrow) for home in HOMES]
    log += [observation(home, BEGIN + hour * HOUR, 500.0) for hour in range(12) for home in HOMES]
    log += [policy(home, 2, value=wide) for home in HOMES]
    log += [observation(home, BEGIN + hour * HOUR, 500.0) for hour in range(12, 20) for home in HOMES]
    result = assert_equal_in_batches(Context(KEYS, limits=Limits(lifetime_nano=10**15)), list(map(dump, log)))
    assert result.rows.ranges.outside == 12 * len(HOMES)
    assert [doubt.check for doubt in result.doubts] == ["clamped"] * len(HOMES)


def test_policies_between_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row is checked under the policy of its time, and the first policy of a series ends no batch."""
    narrow, wide = ({**NUMBER, "upper": upper} for upper in (1, 1000))
    context = Context(KEYS, (default("guest-*", value=narrow),), Limits(lifetime_nano=10**15))
    log: list[dict[str, object]] = []
    for nth, home in enumerate(HOMES):
        guest = f"guest-{nth}"
        log.append(policy(home, value=narrow))
        log += [observation(series, BEGIN + hour * HOUR, 500.0) for hour in range(12) for series in (home, guest)]
        if nth % 2:
            series = guest if nth % 4 == 1 else HOMES[nth - 1]
            log.append(policy(series, 2, value=wide))
            log += [observation(series, BEGIN + hour * HOUR, 500.0) for hour in range(12, 20)]
    events = list(map(dump, log))
    result = assert_equal_in_batches(context, events)
    assert not result.rejected
    assert result.rows.ranges.outside == 2 * 12 * len(HOMES)
    assert [doubt.check for doubt in result.doubts] == ["clamped"] * 2 * len(HOMES)
    ends: list[int] = []
    decide = MemoryPartition.decide

    def counted(self: MemoryPartition, records: Records, outlets: Outlets) -> Iterator[BatchDecider]:
        ends.append(records.offsets[-1])
        return decide(self, records, outlets)

    monkeypatch.setattr(MemoryPartition, "decide", counted)
    run_of(context, events, MOST_RECORDS)
    assert len(ends) == 1 + len(HOMES) // 2, "only a second version of a series in the batch begins another batch"


def test_a_rejected_row_meets_no_landmark() -> None:
    """A landmark step whose only reading is invalid counts as a step without an event."""
    protection = {"level": "landmark", "landmarks": [BEGIN + 2 * HOUR], "step": HOUR}
    log = [policy(home, protection=protection) for home in HOMES]
    log += [observation(home, BEGIN + hour * HOUR, "x" if hour == 2 else 5.0) for hour in range(9) for home in HOMES]
    result = assert_equal_in_batches(Context(KEYS), list(map(dump, log)))
    assert result.document()["landmark_steps_met"] == 0
    assert [doubt.check for doubt in result.doubts] == ["landmarks", "refused"]
