"""Recovered steps of several readings: input, ledger and releases together yield what the run read."""

from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.deciding.collection import Collection
from stream_app.deciding.decision import recall
from stream_app.deciding.outcome import ProcessedRecord, RejectedRecord, WatermarkAdvance
from stream_app.deciding.rebuild import rebuild
from stream_app.deciding.views.refusals import Refusals
from stream_app.formats import wire
from stream_app.formats.records import InputRecord
from stream_app.kafka.rebuild.folding import FoldedLogs
from stream_app.kafka.rebuild.open_steps import FoundSteps, Loss
from stream_app.privacy.collected.plain import stays_open
from stream_app.privacy.policy import Policy
from tests.collected import SEED, SERIES, collected
from tests.readings import read_of, reading, schedules, watermark, within
from tests.run import Run, limited
from tests.suite.speeds import scaled


class Played:
    """A run, and what an outsider can learn about it: the inputs that adopted, released, and were refused."""

    def __init__(self, log: Sequence[dict[str, Any]]) -> None:
        """Decide a log."""
        self.run = Run(limited(lifetime_nano=10**15))
        self.values: list[bytes] = []
        self.adopted: dict[str, int] = {}
        self.released: dict[str, int] = {}
        self.rejected = Refusals()
        self.advance(log)

    def advance(self, log: Sequence[dict[str, Any]]) -> None:
        """Go on with more records."""
        for record in log:
            offset, series = self.run.offset, str(record["series"])
            self.values.append(wire.dump(record))
            before = self._policy(series)
            outcome = self.run.feed(self.values[-1])
            after = self._policy(series)
            if isinstance(outcome, RejectedRecord):
                self.rejected.add(offset, None, "refused")
            elif after is not before and after is not None and (before is None or not stays_open(after, before)):
                self.adopted[series] = offset
            if (isinstance(outcome, WatermarkAdvance) and outcome.steps) or (
                isinstance(outcome, ProcessedRecord) and outcome.release
            ):
                self.released[series] = offset

    def _policy(self, series: str) -> Policy | None:
        row = self.run.rows.get(series)
        return None if row is None else row.policy

    def recover(self, losses: Sequence[Loss], start: int) -> FoundSteps:
        """Rebuild rows and memory from ledger, releases and the input from ``start`` on."""
        run = self.run
        rows = rebuild(run.context, run.ledger, run.releases)
        found = FoundSteps(
            FoldedLogs(rows, {}, self.adopted, self.released, {}, -1, set(), set(), set()), losses, self.rejected
        )
        for offset in range(start, run.offset):
            found.take(offset, self.values[offset])
        run.rows = rows | found.rows()
        run.collection = Collection(bytes(32))
        for offset in range(found.floor(run.offset), run.offset):
            record = InputRecord("landmark.events", 0, offset, 0, None, self.values[offset])
            recall(run.context, run.rows.get, run.collection, record)
        return found


@settings(max_examples=scaled(125), suppress_health_check=list(HealthCheck))
@given(schedules(), st.floats(0, 1))
def test_open_steps_are_found_again_with_their_readings(log: list[dict[str, Any]], back: float) -> None:
    """Read from anywhere before the oldest record with an open step, memory and open steps are as in the run.

    Only a watermark after which nothing is open leaves no trace: steps before it accept readings again.
    """
    past = Played(log)
    lived, rows = past.run.collection, past.run.rows
    floor = lived.floor()
    floor = len(log) if floor is None else floor
    found = past.recover([], int(floor * back))
    assert found.floor(len(log)) == floor
    assert found.steps == len(lived)
    assert past.run.collection == lived
    for series, row in past.run.rows.items():
        before, after = rows[series].open_steps, row.open_steps
        opened = before.begun if before else ()
        assert (after.begun if after else ()) == opened
        assert row.state == rows[series].state
        if before is not None and after is not None:
            assert after.first <= before.first
            assert [after.offset_of(step) for step in opened] == [before.offset_of(step) for step in opened]


@settings(max_examples=scaled(75), suppress_health_check=list(HealthCheck))
@given(schedules(), schedules(), st.floats(0, 1))
def test_a_step_of_lost_readings_is_never_released(
    log: list[dict[str, Any]], later: list[dict[str, Any]], left: float
) -> None:
    """After lost input, nothing goes on before a watermark; steps that may have had readings stay unreleased."""
    past = Played(log)
    first = max(1, int(len(log) * left))
    lost = {
        (series, step)
        for series in SERIES
        for step, found in read_of(past.run.collection, series).items()
        if found.times and found.offset < first and past.adopted[series] < first
    }
    past.recover([Loss(first, len(log))], first)
    already = len(past.run.releases)
    reached = max((record.get("timestamp", 0) for record in log), default=0)  # clocks go on
    dated = [record for record in later if "timestamp" in record]
    past.advance([record | {"timestamp": record["timestamp"] + reached} for record in dated])
    for release in past.run.releases[already:]:
        found: Any = wire.load(release)
        policy = past.run.rows[found["series"]].policy
        assert (found["series"], found["timestamp"] // policy.step_ms) not in lost


def test_after_a_loss_event_time_goes_on_behind_a_watermark() -> None:
    """A reading is early until a watermark comes; the steps that may have been open then are passed over."""
    past = Played([within(open_steps=2), reading(11, 1), reading(25, 2)])
    past.recover([Loss(2, 3)], 2)
    past.advance([reading(31, 1), watermark(30), reading(31, 1), reading(49, 1), reading(51, 3), reading(72, 4)])
    reasons = [wire.load(reject)["reason"] for reject in past.run.rejects]  # type: ignore[index]
    assert reasons == ["early", "late", "late"]
    assert [wire.load(release)["timestamp"] for release in past.run.releases] == [50]  # type: ignore[index]


def test_a_rejected_watermark_without_seed_moves_no_collected_step() -> None:
    """This holds even if its reject has expired: the watermark itself shows that it was refused."""
    past = Played([collected(), watermark(5) | {"seed": SEED}, watermark(30)])
    opened = past.run.rows[SERIES[0]].open_steps
    past.rejected = Refusals()
    past.recover([], 0)
    assert past.run.rows[SERIES[0]].open_steps == opened
