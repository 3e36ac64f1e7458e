"""Open steps found again: what the input tells beside ledger and releases equals the rows of the run."""

import json
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.context import Context, Limits
from stream_app.kafka.reopening import Reopening
from stream_app.outcome import Advanced, Decided, Rejected
from stream_app.rebuild import rebuild
from tests.run import KEYS, Run, default, policy

STEP = 10
OPEN_STEPS = 3
PARAMETERS: dict[str, Any] = {
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
    """A run that is over, and what an outsider can learn of it."""

    run: Run
    values: list[bytes]
    adopted: dict[str, int]
    rejected: set[int]


def play(moves: list[tuple[str, str, int]]) -> Past:
    """Decide a record for each move; time goes on by the last member of watermarks."""
    run = Run(Context(KEYS, (default("ward-*", **PARAMETERS),), Limits(lifetime_nano=10**12)))
    values, adopted, rejected = [], {}, set()
    now, version = dict.fromkeys(SERIES, 100), dict.fromkeys(SERIES, 1)
    for offset, (series, kind, ahead) in enumerate(moves):
        record: dict[str, object] = {"type": kind, "series": series, "timestamp": max(0, now[series] + ahead)}
        if kind == "watermark":
            record["seed"] = "5e" * 32
            now[series] = max(now[series], now[series] + ahead)
        elif kind == "contribution":
            record |= {"member": f"m-{ahead}", "value": "walk"}
        elif kind == "policy":
            version[series] += 1
            record = policy(series, version[series], **PARAMETERS)
        values.append(json.dumps(record).encode())
        outcome = run.feed(values[-1])
        if isinstance(outcome, Rejected):
            rejected.add(offset)
        elif (kind == "policy" and isinstance(outcome, Decided)) or (isinstance(outcome, Advanced) and outcome.adopted):
            adopted[series] = offset
    return Past(run, values, adopted, rejected)


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
def test_what_was_given_up_never_opens(
    moves: list[tuple[str, str, int]], later: list[tuple[str, str, int]], left: float
) -> None:
    """Where input is lost, no step that was open takes a contribution again, whatever comes."""
    past = play(moves)
    run = past.run
    first = max(1, int(len(moves) * left))
    rows = rebuild(run.context, run.ledger, run.releases)
    reopening = Reopening(rows, past.adopted, 0, first, past.rejected)
    for offset in range(first, len(moves)):
        reopening.take(offset, past.values[offset])
    opened = {
        series: range(row.open_steps.first, row.open_steps.first + len(row.open_steps.offsets))
        for series, row in run.rows.items()
        if series in reopening.lost and row.open_steps is not None
    }
    run.rows = rows | reopening.rows()
    for series in reopening.lost:
        run.collection.drop(series)
    for series, kind, ahead in later:
        if kind != "watermark" or series not in reopening.lost:
            continue
        run.feed({"type": kind, "series": series, "timestamp": 100 + 10 * ahead, "seed": "5e" * 32})
        assert not set(run.collection.opened(series)) & set(opened.get(series, range(0)))
