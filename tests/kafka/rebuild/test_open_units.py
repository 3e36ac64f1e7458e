"""Open steps of units recovered from the input: they read what the run read, or are given up."""

from collections import deque
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from stream_app.deciding.collection import Collection
from stream_app.deciding.outcome import RejectedRecord
from stream_app.deciding.rebuild import restored
from stream_app.deciding.rows import SeriesRow
from stream_app.deciding.units.blocks import Blocks, Table
from stream_app.deciding.views.refusals import Refusals
from stream_app.formats import encoding, wire
from stream_app.kafka.rebuild.folding import Closing, FoldedLogs, note
from stream_app.kafka.rebuild.open_steps import Loss
from stream_app.kafka.rebuild.open_units import FoundUnits, check_key
from stream_app.kafka.stops import PartitionStoppedError
from tests.run import Run, limited, policy
from tests.suite.speeds import scaled
from tests.units import SERIES, reading, schedules, units, watermark

TOPIC = "AAAAAAAAAAAAAAAAAAAAAA"


class Played:
    """A run, and what an outsider can learn about it: entries with their input, and what was refused."""

    def __init__(self, log: Sequence[dict[str, Any]]) -> None:
        """Decide a log."""
        self.run = Run(limited(lifetime_nano=10**15, accept_weaker_policies=True))
        self.values: list[bytes] = []
        self.origins: list[int] = []
        self.rejected = Refusals()
        self.advance(log)

    def advance(self, log: Sequence[dict[str, Any]]) -> None:
        """Go on with more records."""
        for record in log:
            offset = self.run.offset
            self.values.append(wire.dump(record))
            if isinstance(self.run.feed(self.values[-1]), RejectedRecord):
                self.rejected.add(offset, None, "refused")
            self.origins += [offset] * (len(self.run.ledger) - len(self.origins))

    def told(self) -> FoldedLogs:
        """Return the content of ledger and releases."""
        rows: dict[str, Any] = {}
        releases = {encoding.digest(release): release for release in self.run.releases}
        told = FoldedLogs(rows, {}, {}, {}, {}, -1, set(), set(), set())
        closings: dict[str, deque[Closing]] = {}
        for nth, offset in enumerate(self.origins):
            entry: Any = wire.load(self.run.ledger[nth])
            known, rows[entry["series"]] = (
                rows.get(entry["series"]),
                restored(self.run.context, rows.get(entry["series"]), self.run.ledger[nth], releases),
            )
            note(told, closings, None if known is None else known.policy, entry, offset)
        return told

    def recover(self, first: int, losses: Sequence[Loss] = (), *, partly: bool = False) -> FoundUnits:
        """Rebuild rows and sealed rows from ledger, releases and the input that is kept."""
        run = self.run
        found = FoundUnits(self.told(), run.context.keys, TOPIC, losses, first, run.offset, partly=partly)
        for offset in range(max(first, found.begin(run.offset)), run.offset):
            found.take(offset, self.values[offset], self.rejected)
            if offset % 3 == 0:
                found.settle()  # as behind each fetch
        return found

    def go_on(self, found: FoundUnits, log: Sequence[dict[str, Any]]) -> None:
        """Decide more records after those that were recovered."""
        table = dict(found.sealed())
        self.run.rows |= found.rows()
        self.run.collection = Collection(bytes(32), Blocks(Table(self.run.context.keys, TOPIC, table.get)))
        self.advance(log)


def opened(rows: dict[str, SeriesRow]) -> dict[str, Any]:
    """Return what is open in each series: the steps and their rows, whatever versions seal them."""
    found = {series: row.open_units for series, row in rows.items() if row.open_units is not None}
    return {
        series: [(step.index, step.blocks) for step in units.steps] for series, units in found.items() if units.steps
    }


ENDS = [[watermark(900, series), reading(1000, 1, series), watermark(2000, series)] for series in SERIES]


@settings(max_examples=scaled(100), suppress_health_check=list(HealthCheck))
@given(schedules())
def test_open_steps_are_found_again_with_what_they_read(log: list[dict[str, Any]]) -> None:
    """From a whole log the same steps are open, and later outputs equal those of a run that lost nothing."""
    past, whole = Played(log), Played(log)
    found = past.recover(0)
    assert not found.given_up
    lived = {series: row for series, row in past.run.rows.items() if not row.state.closed}
    assert opened(found.rows()) == opened(lived)
    past.go_on(found, [record for records in ENDS for record in records])
    whole.advance([record for records in ENDS for record in records])
    assert past.run.outputs == whole.run.outputs
    event(f"open: {bool(opened(lived))}")


@settings(max_examples=scaled(100), suppress_health_check=list(HealthCheck))
@given(schedules(), st.floats(0, 1), st.booleans())
def test_what_lost_input_is_given_up_and_nothing_is_decided_twice(
    log: list[dict[str, Any]],
    lost: float,
    partly: bool,  # noqa: FBT001 (drawn)
) -> None:
    """A series with complete input loses nothing; others have steps passed over, or decided from the remainder."""
    past, whole = Played(log), Played(log)
    first = int(len(log) * lost)
    found = past.recover(first, partly=partly)
    again = past.recover(first, [Loss(first, past.run.offset, series) for series in found.given_up], partly=partly)
    assert again.rows() == found.rows(), "told on the rejects, it is given up again"
    assert not again.given_up
    lived = opened({series: row for series, row in past.run.rows.items() if not row.state.closed})
    for series, steps in lived.items():
        if series not in found.given_up and (not partly or found.begin(0) >= first):
            assert opened(found.rows()).get(series) == steps
    past.go_on(found, [record for records in ENDS for record in records])
    whole.advance([record for records in ENDS for record in records])
    released = [(one["series"], one["timestamp"]) for one in map(wire.load, past.run.releases)]  # type: ignore[index]
    assert len(released) == len(set(released))
    event(f"given up: {bool(found.given_up)}")


def test_the_first_reading_behind_a_loss_gives_up_what_may_be_open() -> None:
    """Its own step and all that may have been open are given up; it is no reject, and later steps are decided."""
    past = Played([units(), reading(1, 1), reading(45, 2), reading(47, 3)])
    found = past.recover(3)
    assert found.given_up == [SERIES[0]]
    past.go_on(found, [reading(49, 4), reading(50, 4), reading(85, 5), reading(121, 6), watermark(200)])
    assert [wire.load(one)["timestamp"] for one in past.run.releases] == [120]  # type: ignore[index]
    assert len(past.rejected) == 2
    past = Played([units(), reading(1, 1), reading(45, 2), reading(47, 3)])
    past.go_on(past.recover(3, partly=True), [watermark(200)])
    assert [wire.load(one)["count"] for one in past.run.releases] == [1]  # type: ignore[index]


@pytest.mark.parametrize(
    ("begin", "key", "stops"), [(units(), "", False), (units(), "other", True), (policy("own-1"), "other", False)]
)
def test_rows_are_sealed_only_under_the_key_of_the_last_entry(begin: dict[str, Any], key: str, *, stops: bool) -> None:
    """Without series of units nothing is sealed, and an empty ledger names no key."""
    past = Played([begin])
    with pytest.raises(PartitionStoppedError, match="key-changed") if stops else nullcontext():
        check_key(0, past.told()._replace(key=key), past.run.context.keys)
    check_key(0, past.told()._replace(key=past.run.context.keys.fingerprint), past.run.context.keys)


@pytest.mark.parametrize(("first", "line", "given_up"), [(0, 9, False), (1, 3, False), (1, 4, True)])
def test_a_loss_gives_up_what_may_have_been_read_before_it(first: int, line: int, *, given_up: bool) -> None:
    """Exceptions are that all its input is kept, or that a later release shows its steps as decided."""
    past = Played([units(), reading(1, 1), reading(15, 2), watermark(50), reading(55, 3)])
    assert (past.told().read_from, past.told().released) == ({SERIES[0]: 0}, {SERIES[0]: 3})
    found = past.recover(0, [Loss(first, line, SERIES[0])])
    assert opened(found.rows()) == ({} if given_up else {SERIES[0]: [(1, 1)]})
