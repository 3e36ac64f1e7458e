"""Open steps found again: what the input tells beside ledger and releases equals the rows of the run."""

import json
from typing import Any, NamedTuple

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from stream_app.collection import Collection
from stream_app.context import Context, Limits
from stream_app.decision import recall
from stream_app.kafka.reopening import Reopening
from stream_app.outcome import Advanced, Decided, InputRecord, Rejected
from stream_app.rebuild import rebuild
from tests.run import KEYS, Run, default, policy

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


class Past(NamedTuple):
    """A run that is over, and what an outsider can learn of it; ``now`` and ``version`` say where series stand."""

    run: Run
    values: list[bytes]
    adopted: dict[str, int]
    rejected: set[int]
    now: dict[str, int]
    version: dict[str, int]


def play(moves: list[tuple[str, str, int]]) -> Past:
    """Decide a record for each move; time goes on by the last member of watermarks."""
    run = Run(Context(KEYS, (default("ward-*", **PARAMETERS),), Limits(lifetime_nano=10**18)))
    past = Past(run, [], {}, set(), dict.fromkeys(SERIES, 100), dict.fromkeys(SERIES, 1))
    advance(past, moves)
    return past


def advance(past: Past, moves: list[tuple[str, str, int]]) -> None:
    """Go on with more moves."""
    run, values, adopted, rejected, now, version = past
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
        if isinstance(outcome, Rejected):
            rejected.add(offset)
        elif (kind == "policy" and isinstance(outcome, Decided)) or (isinstance(outcome, Advanced) and outcome.adopted):
            adopted[series] = offset


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(MOVES, st.floats(0, 1))
def test_open_steps_are_found_again(moves: list[tuple[str, str, int]], back: float) -> None:
    """Read from anywhere before the oldest watermark whose step is open, the rows are those of the run."""
    past = play(moves)
    floor = past.run.collection.floor()
    floor = len(moves) if floor is None else floor
    start = int(floor * back)
    rows = rebuild(past.run.context, past.run.ledger, past.run.releases)
    reopening = Reopening(rows, past.adopted, start, 0, past.rejected)
    for offset in range(start, len(moves)):
        reopening.take(offset, past.values[offset])
    assert not reopening.lost
    assert reopening.floor(len(moves)) == floor
    assert reopening.steps == len(past.run.collection)
    assert rows | reopening.rows() == past.run.rows


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(MOVES, MOVES, st.floats(0, 1))
@example(
    [("ward-1", "watermark", 0), ("ward-1", "watermark", 10)],
    [("ward-1", "watermark", 20), ("ward-1", "contribution", 15), ("ward-1", "watermark", 20)],
    1,
)  # a step behind those that were open, opened by a watermark that may not be refused
def test_what_was_given_up_is_never_released(
    moves: list[tuple[str, str, int]], later: list[tuple[str, str, int]], left: float
) -> None:
    """Where input is lost, what is released afterwards is what it would be had nothing been lost, and no other step."""
    past, whole = play(moves), play(moves)
    run = past.run
    first = max(1, int(len(moves) * left))
    reopening = Reopening(rebuild(run.context, run.ledger, run.releases), past.adopted, 0, first, past.rejected)
    for offset in range(first, len(moves)):
        reopening.take(offset, past.values[offset])
    run.rows |= reopening.rows()
    for series in reopening.lost:
        run.collection.drop(series)
    already = len(run.releases)
    # The clocks go on: a watermark is not behind one that was lost.
    onward = [(series, kind, abs(ahead) if kind == "watermark" else ahead) for series, kind, ahead in later]
    advance(past, onward)
    advance(whole, onward)
    assert set(run.releases[already:]) <= set(whole.run.releases[already:])
    again = Collection(bytes(32))
    floor = run.collection.floor()
    for offset in range(run.offset if floor is None else max(floor, first), run.offset):
        value = past.values[offset]
        recall(run.context, run.rows.get, again, InputRecord("landmark.events", 0, offset, 0, None, value))
    assert again == run.collection


def test_releases_go_on_behind_what_was_given_up() -> None:
    """The control: the steps after those that may have been open are released, with all their items."""
    begin = [("ward-1", "watermark", 0), ("ward-1", "contribution", 1), ("ward-1", "contribution", 29)]
    past = play(begin)
    reopening = Reopening(past.run.rows, past.adopted, 0, 1, past.rejected)
    past.run.rows |= reopening.rows()
    past.run.collection.drop("ward-1")
    hour = [("ward-1", "watermark", 10), ("ward-1", "contribution", 5), ("ward-1", "contribution", 25)]
    advance(past, hour * 5)
    found = [json.loads(release) for release in past.run.releases]
    # 110, 120 and 130 may have been open; to 140 one contributed when it was the last open step, one when the first.
    assert [(release["timestamp"], release["value"]["walk"]) for release in found] == [(140, 2)]
