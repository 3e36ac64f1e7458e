"""Recovered open steps: input, ledger and releases together yield the rows of the run."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decision import recall
from stream_app.deciding.outcome import ProcessedRecord, RejectedRecord, WatermarkAdvance
from stream_app.deciding.rebuild import rebuild
from stream_app.deciding.views.refusals import Refusals
from stream_app.formats.records import InputRecord
from stream_app.kafka.rebuild.folding import FoldedLogs
from stream_app.kafka.rebuild.open_steps import FoundSteps, Loss, more_lost
from tests.run import KEYS, Run, default, policy
from tests.suite.speeds import scaled

STEP = 10
OPEN_STEPS = 3
PARAMETERS: dict[str, Any] = {
    "epsilon": 1e5,  # whatever is counted is released without noise, almost surely
    "protection": {"level": "event", "step": STEP},
    "value": {"kind": "counts", "keys": ["walk", "ride"]},
    "collect": {"neighbours": "replace", "open_steps": OPEN_STEPS},
}
SERIES = ("ward-1", "ward-2", "own-3")
MOVES = st.lists(
    st.tuples(
        st.sampled_from(SERIES),
        st.sampled_from(["watermark"] * 6 + ["contribution"] * 3 + ["policy", "close", "broken"]),
        st.integers(-15, 45),
    ),
    min_size=1,
    max_size=60,
)


class Played(NamedTuple):
    """A finished run, and what an outsider can learn about it; ``now`` and ``version`` say where series are."""

    run: Run
    values: list[bytes]
    adopted: dict[str, int]
    released: dict[str, int]
    rejected: Refusals
    now: dict[str, int]
    version: dict[str, int]

    def reopened(self, losses: Sequence[Loss], start: int, end: int) -> FoundSteps:
        """Return what `recover` finds of the run between two offsets, once all rows are lost."""
        rows = rebuild(self.run.context, self.run.ledger, self.run.releases)
        steps = FoundSteps(
            FoldedLogs(rows, {}, self.adopted, self.released, {}, -1, set(), set(), set()), losses, self.rejected
        )
        for offset in range(max(start, 0), end):
            steps.take(offset, self.values[offset])
        return steps


def play(moves: list[tuple[str, str, int]]) -> Played:
    """Decide a record for each move; time advances by the last member of watermarks."""
    run = Run(Context(KEYS, (default("ward-*", **PARAMETERS),), Limits(lifetime_nano=10**18)))
    past = Played(run, [], {}, {}, Refusals(), dict.fromkeys(SERIES, 100), dict.fromkeys(SERIES, 1))
    advance(past, moves)
    return past


def advance(past: Played, moves: list[tuple[str, str, int]]) -> None:
    """Go on with more moves."""
    run, values, adopted, released, rejected, now, version = past
    for offset, (series, kind, ahead) in enumerate(moves, run.offset):
        record: dict[str, object] = {"type": kind, "series": series, "timestamp": max(0, now[series] + ahead)}
        if kind == "watermark":
            record["seed"] = "5e" * 32
            now[series] = max(now[series], now[series] + ahead)
        elif kind == "contribution":
            record |= {"member": f"m-{offset}", "value": "walk"}
        elif kind == "policy":
            version[series] += 1
            record = policy(series, version[series], **PARAMETERS)
        values.append(json.dumps(record).encode())
        outcome = run.feed(values[-1])
        if isinstance(outcome, RejectedRecord):
            rejected.add(offset, series, "refused")
        elif (kind == "policy" and isinstance(outcome, ProcessedRecord)) or (
            isinstance(outcome, WatermarkAdvance) and outcome.adopted
        ):
            adopted[series] = offset
        if isinstance(outcome, WatermarkAdvance) and outcome.steps:
            released[series] = offset


@settings(max_examples=scaled(100), suppress_health_check=list(HealthCheck))
@given(MOVES, st.floats(0, 1))
def test_open_steps_are_found_again(moves: list[tuple[str, str, int]], back: float) -> None:
    """If reading starts before the oldest watermark whose step is open, the rows are those of the run."""
    past = play(moves)
    floor = past.run.collection.floor()
    floor = len(moves) if floor is None else floor
    start = int(floor * back)
    steps = past.reopened([], start, len(moves))
    assert not steps.given_up()
    assert steps.floor(len(moves)) == floor
    assert steps.steps == len(past.run.collection)
    rows = rebuild(past.run.context, past.run.ledger, past.run.releases)
    assert rows | steps.rows() == past.run.rows


def recover(past: Played, losses: Sequence[Loss], start: int) -> FoundSteps:
    """Rebuild the run's rows and memory counts, like `recover` and a later worker; the log has ``start``.

    What was accepted before is known, so the log is read from the position of the first accepted item.
    """
    run = past.run
    steps = past.reopened(losses, start, run.offset)
    rows = rebuild(run.context, run.ledger, run.releases)
    run.rows = rows | steps.rows()
    run.collection = Collection(bytes(32))
    for offset in range(steps.floor(run.offset), run.offset):
        record = InputRecord("landmark.events", 0, offset, 0, None, past.values[offset])
        recall(run.context, run.rows.get, run.collection, record)
    return steps


@settings(max_examples=scaled(100), suppress_health_check=list(HealthCheck))
@given(MOVES, MOVES, st.floats(0, 1))
@example(
    [("ward-1", "watermark", 0), ("ward-1", "watermark", 10)],
    [("ward-1", "watermark", 20), ("ward-1", "contribution", 15), ("ward-1", "watermark", 20)],
    1,
)  # a step behind those that were open, opened by a watermark that may not be refused
def test_what_was_given_up_is_never_released(
    moves: list[tuple[str, str, int]], later: list[tuple[str, str, int]], left: float
) -> None:
    """After lost input, releases are what they would be without the loss, and no other step is released."""
    past, whole = play(moves), play(moves)
    run = past.run
    first = max(1, int(len(moves) * left))
    recover(past, [Loss(first, len(moves))], first)
    already = len(run.releases)
    # The clocks go on: a watermark is not behind one that was lost.
    advance(past, onward(later))
    advance(whole, onward(later))
    assert set(run.releases[already:]) <= set(whole.run.releases[already:])
    again = Collection(bytes(32))
    floor = run.collection.floor()
    for offset in range(run.offset if floor is None else max(floor, first), run.offset):
        value = past.values[offset]
        recall(run.context, run.rows.get, again, InputRecord("landmark.events", 0, offset, 0, None, value))
    assert again == run.collection


def onward(moves: list[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    """Return moves whose clocks advance: no watermark is behind one that was lost."""
    return [(series, kind, abs(ahead) if kind == "watermark" else ahead) for series, kind, ahead in moves]


@settings(max_examples=scaled(60), suppress_health_check=list(HealthCheck))
@given(MOVES, MOVES, MOVES, st.floats(0, 1), st.floats(0, 1))
@example(
    [("ward-1", "watermark", 0)],
    [("ward-1", "watermark", 10)],
    [("ward-1", "watermark", 10), ("ward-1", "watermark", 30)],
    1,
    0,
)  # what the first recovery gave up was opened again by what came after the second
@example(
    [("ward-2", "watermark", 0), ("ward-1", "watermark", 0), ("ward-1", "contribution", 0)],
    [("ward-1", "watermark", 0)],
    [("ward-1", "watermark", 0), ("ward-1", "watermark", 5)],
    0,
    0,
)  # a step that the first loss left open is counted from input that is gone at the last recovery: a further loss
def test_what_was_given_up_stays_given_up(
    moves: list[tuple[str, str, int]],
    between: list[tuple[str, str, int]],
    later: list[tuple[str, str, int]],
    left: float,
    kept: float,
) -> None:
    """A second recovery, before or after a worker ran, gives up what the first did, and releases none of it.

    If the log is kept from where the input continued, it finds exactly the rows of the run; if less is kept, it gives
    up more. A third recovery then knows about both.
    """
    past, whole = play(moves), play(moves)
    run = past.run
    first, line = max(1, int(len(moves) * left)), len(moves)
    losses = [Loss(first, line)]
    recover(past, losses, first)
    at_once = dict(run.rows)
    assert recover(past, losses, first).rows().items() <= at_once.items()
    assert run.rows == at_once, "nothing ran in between"
    already, rows = len(run.releases), run.rows
    for moved in (between, later):
        advance(past, onward(moved))
        advance(whole, onward(moved))
        rows, counted = run.rows, [run.collection.opened(series) for series in SERIES]
        recover(past, losses, first)
        assert run.rows == rows
        assert [run.collection.opened(series) for series in SERIES] == counted
    floor = run.collection.floor()
    floor = run.offset if floor is None else floor
    start = line + int((floor - line) * kept) if floor > line else line  # what retention leaves
    more = more_lost(losses, start, floor, run.offset)
    recover(past, [*losses, more] if more else losses, start)
    for found, before in ((row.open_steps, rows[row.series].open_steps) for row in run.rows.values()):
        assert more or found is None or before is not None  # behind a further loss the first watermark opens nothing
        assert set(found.counted if found else ()) <= set(before.counted if before else ())
    for moved in (later, between):
        advance(past, onward(moved))
        advance(whole, onward(moved))
    assert set(run.releases[already:]) <= set(whole.run.releases[already:])


def test_releases_go_on_behind_what_was_given_up() -> None:
    """As a control, the steps after those that may have been open are released, with all their items."""
    begin = [("ward-1", "watermark", 0), ("ward-1", "contribution", 1), ("ward-1", "contribution", 29)]
    past = play(begin)
    recover(past, [Loss(1, 3)], 1)
    hour = [("ward-1", "watermark", 10), ("ward-1", "contribution", 5), ("ward-1", "contribution", 25)]
    advance(past, hour * 5)
    found = [json.loads(release) for release in past.run.releases]
    # 110, 120 and 130 may have been open; to 140 one contributed when it was the last open step, one when the first.
    assert [(release["timestamp"], release["value"]["walk"]) for release in found] == [(140, 2)]


@pytest.mark.parametrize(
    ("group", "accepted", "lost"), [(4, [], True), (5, [], False), (4, [5], False), (4, [4], True)]
)
def test_input_is_lost_if_open_steps_need_it_and_nobody_accepted_that(
    group: int, accepted: list[int], *, lost: bool
) -> None:
    """The log begins at 5; no open step is older than the group's offset."""
    losses = [Loss(first, 6) for first in accepted]
    assert more_lost(losses, 5, group, 9) == (Loss(5, 9) if lost else None)
