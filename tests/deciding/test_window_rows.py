"""Rows, rebuilt rows and losses of series at level w-event, and rows stored by versions before it."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from stream_app.deciding import rows
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.outcome import ProcessedRecord
from stream_app.deciding.rebuild import rebuild
from stream_app.privacy.guard import NO_WINDOW, Window
from tests.audit.ways import audit
from tests.deciding.test_rows import TableRun
from tests.run import COUNTS, KEYS, NUMBER, Record, Run, observation, policy

CONTEXT = Context(KEYS, limits=Limits(10**11, accept_weaker_policies=True))
WINDOW: dict[str, object] = {"level": "w-event", "window": 4, "step": 10}
SCHEMES: dict[str, dict[str, object]] = {
    "uniform": {"name": "uniform"},
    "bd": {"name": "bd"},
    "ba": {"name": "ba", "decrease": 0.9, "minimum": 0.01},
    "private bd": {"name": "bd", "dissimilarity": "private"},
    "private ba": {"name": "ba", "dissimilarity": "private"},
}
OLD = {
    b"sa": b'[3,"23f18d187bfe49aed37c2a766ffebeb1b4a36ef17d29f7ded319ce20b69ec3eb","",1000000000,0,500000000,0,0,'
    b"1000000000,0,2,3,1,2,1000000000,2,[1345],[1345],[],false]",
    b"pa": b'{"policy":{"version":1,"parameters":{"epsilon":1.0,"protection":{"level":"landmark","landmarks":[4],'
    b'"step":1},"scheme":{"name":"uniform"},"value":{"kind":"number","lower":0,"upper":10,"resolution":0.001}}},'
    b'"landmarks":[[4,5]]}',
}
"""Rows in the format of versions before level w-event."""


def log(scheme: str, value: dict[str, object]) -> list[Record]:
    """Return a log of one series: w-event, another level, w-event with other windows and steps; events between."""
    number = value["kind"] == "number"
    parts: dict[str, Any] = {"scheme": SCHEMES[scheme], "value": value}
    events: list[Record] = [policy("a", protection=WINDOW, epsilon=4.0, **parts)]
    times = [5, 12, 13, 27, 30, 80, 81, 95, 104, 110, 121, 230]
    events += [observation("a", ms, 1 + ms % 9 if number else {"walk": ms}) for ms in times]
    events.append(policy("a", 2, protection={"level": "event", "step": 10}, epsilon=1.0, value=value, weaker=True))
    events += [observation("a", ms, 4 if number else {"walk": 4}) for ms in (240, 251)]
    narrower = WINDOW | {"window": 2, "step": 7}
    events.append(policy("a", 3, weaker=True, protection=narrower, epsilon=3.0, filter="level", **parts))
    events += [observation("a", ms, 4 if number else {"walk": 4}) for ms in range(252, 360, 5)]
    return [*events, {"type": "close", "series": "a"}]


def decided_alike(records: Iterable[Record]) -> Run:
    """Return the run of records; rows as bytes give the same decisions, and are rebuilt exactly after each."""
    whole, table = Run(CONTEXT), TableRun(CONTEXT)
    for record in records:
        table.feed(record)
        if isinstance(whole.feed(record), ProcessedRecord):
            rebuilt = rebuild(CONTEXT, whole.ledger, whole.releases)
            assert rebuilt == whole.rows
            assert rows.dump(rebuilt["a"], None, set()) == rows.dump(whole.rows["a"], None, set())
    assert table.outputs == whole.outputs
    return whole


@pytest.mark.parametrize("value", [NUMBER, COUNTS], ids=["number", "counts"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_rows_as_bytes_and_rows_rebuilt(scheme: str, value: dict[str, object]) -> None:
    """Each row reads back equal, is rebuilt from ledger and releases to the byte, and decides the rest alike."""
    whole = decided_alike(log(scheme, value))
    assert sum(json.loads(release)["decision"] == "perturbed" for release in whole.releases) > 4


def test_a_row_holds_the_window_and_no_more() -> None:
    """At most w spends are kept; spends that no window reaches are dropped at the next publication."""
    run = Run(CONTEXT).feed_all([policy("a", protection=WINDOW)])
    for step in range(50):
        run.feed(observation("a", 10 * step, 3))
        spends = run.rows["a"].state.guard.window.spends
        assert [at for at, _ in spends] == list(range(max(0, step - 3), step + 1))


def test_rows_of_other_levels_do_not_grow() -> None:
    """A series never ruled by level w-event still has its twenty fields."""
    for level in ({"level": "landmark", "landmarks": [4]}, {"level": "event"}, {"level": "user", "length": 9}):
        run = Run(CONTEXT).feed_all([policy("a", protection=level), observation("a", 1, 2)])
        run.feed_all([policy("a", 2, protection=level | {"step": 2}) if "length" not in level else {}])
        stored = dict(rows.dump(run.rows["a"], None, set()))[b"sa"]
        assert len(json.loads(stored)) == 20


def test_rows_stored_before_are_read() -> None:
    """The rows of earlier versions load without a window, and are written back unchanged."""
    row = rows.load(OLD.get, "a", {})
    assert row is not None
    assert row.state.guard.window == NO_WINDOW
    assert dict(rows.dump(row, None, set())) == OLD


def test_what_another_level_leaves_to_windows() -> None:
    """A version at level w-event waits after the last spend at another level, however that level counts."""
    run = Run(CONTEXT).feed_all([policy("a", protection={"level": "event", "step": 10}), observation("a", 50, 2)])
    run.feed(policy("a", 2, protection=WINDOW, scheme=SCHEMES["bd"]))
    assert run.rows["a"].state.guard.window == Window(opens_ms=60 + 3 * 10, spent_end_ms=60, reach_ms=0)
    run.feed_all(observation("a", ms, 2) for ms in (60, 70, 80, 90))
    decisions = [json.loads(release)["decision"] for release in run.releases]
    assert decisions == ["perturbed", "withheld", "withheld", "withheld", "perturbed"]
    run.feed(policy("a", 3, protection={"level": "event", "step": 10}, weaker=True))
    assert run.rows["a"].state.guard.window == Window(opens_ms=90 + 40, spent_end_ms=100, reach_ms=90 + 40)
    run.feed_all(observation("a", ms, 2) for ms in (100, 120, 130))
    decisions = [json.loads(release)["decision"] for release in run.releases[5:]]
    assert decisions == ["withheld", "withheld", "perturbed"]


LANDMARK: dict[str, object] = {"level": "landmark", "window": 3, "step": 10, "landmarks": [[40, 60], 300], "spare": 1}
LANDMARK_SCHEMES: dict[str, dict[str, object]] = {
    **{name: scheme for name, scheme in SCHEMES.items() if "private" not in name},
    "adaptive": {"name": "adaptive"},
    "skip": {"name": "skip", "accept_risk": True},
    "balanced": {"name": "balanced", "regular_share": 0.3},
}


@pytest.mark.parametrize("scheme", LANDMARK_SCHEMES)
def test_rows_of_windows_beside_landmarks(scheme: str) -> None:
    """Rows of level landmark with a window, even with late landmarks, read back equal and rebuild to the byte."""
    parts: dict[str, Any] = {"scheme": LANDMARK_SCHEMES[scheme]}
    records: list[Record] = [policy("a", protection=LANDMARK, **parts)]
    for step in range(30):
        records.append(observation("a", 10 * step, 1 + step % 7))
        if step in {3, 8, 17}:
            records.append({"type": "landmarks", "series": "a", "add": [10 * step, 10 * step + 50]})
    wider = LANDMARK | {"window": 5, "landmarks": [[300, 340]]}
    records.append(policy("a", 2, protection=wider, epsilon=2.0, **parts))
    records += [observation("a", 10 * step, 3) for step in range(30, 44)]
    records.append(policy("a", 3, protection={"level": "landmark", "step": 10}, epsilon=2.0, weaker=True))
    records += [observation("a", 10 * step, 3) for step in range(44, 54)]
    whole = decided_alike(records)
    charged = [json.loads(entry)["charged_nano"] for entry in whole.ledger if b'"entry":"landmarks"' in entry]
    assert (max(charged, default=0) > 0) == (scheme != "skip")


def test_the_largest_spend_is_stored_behind_the_window() -> None:
    """Field 26 of a row has m and the last regular publication, which a registration does not change."""
    run = Run(CONTEXT).feed_all([policy("a", epsilon=9e-9, protection={"level": "landmark", "window": 3})])
    run.feed_all(observation("a", ms, 2) for ms in (0, 1))

    def tail() -> list[object]:
        return list(json.loads(dict(rows.dump(run.rows["a"], None, set()))[b"sa"])[20:])

    assert tail() == [None, None, 0, 0, 0, [[0, 3], [1, 3]], [3, 1, 3]]
    run.feed({"type": "landmarks", "series": "a", "add": [1]})
    assert tail() == [None, None, 0, 0, 0, [[0, 3]], [3, 1, 3]]
    assert run.rows["a"].state.guard[:3] == (9, 3, 6)


def waiting(run: Run, opens_ms: int) -> rows.SeriesRow:
    """Return a run's row as written by program versions in which single steps did not wait."""
    fields = json.loads(dict(rows.dump(run.rows["a"], None, set()))[b"sa"])
    fields[22] = opens_ms
    stored = dict(rows.dump(run.rows["a"], None, set())) | {b"sa": json.dumps(fields).encode()}
    old = rows.load(stored.get, "a", {})
    assert old is not None
    return old


def test_old_ledgers_and_rows_of_versions_that_did_not_wait() -> None:
    """A version of single steps that spent in an earlier window is kept unchanged, in a row and in a ledger."""
    first = [policy("a", protection=WINDOW), observation("a", 0, 2)]
    second = policy("a", 2, protection={"level": "event", "step": 10}, weaker=True)
    run = Run(CONTEXT).feed_all([*first, second])
    waits = run.rows["a"].state
    assert waits.guard.window.opens_ms == 40
    old = waiting(run, 0)
    assert old.state.guard == waits.guard.unwaiting()
    run.rows["a"] = old
    run.feed_all([observation("a", 10, 2), observation("a", 20, 2)])
    assert [json.loads(release)["decision"] for release in run.releases] == ["perturbed"] * 3
    assert rebuild(CONTEXT, run.ledger, run.releases) == run.rows


@pytest.mark.parametrize("cut", [0, 1, 2])
def test_an_old_row_does_not_wait_as_the_version_before_it(cut: int) -> None:
    """Single steps did not wait, and their row kept the previous version's opening time, which is now unused."""
    run = Run(CONTEXT).feed_all([policy("a", protection={"level": "event", "step": 10}), observation("a", 50, 2)])
    run.feed_all([policy("a", 2, protection=WINDOW | {"window": 9}), observation("a", 60, 2)])
    assert run.rows["a"].state.guard.window.opens_ms == 140
    run.feed(policy("a", 3, protection={"level": "event", "step": 10}, weaker=True))
    run.feed_all([observation("a", 70 + 10 * step, 2) for step in range(cut)])
    fields = json.loads(dict(rows.dump(run.rows["a"], None, set()))[b"sa"])
    assert fields[22:25] == [60, 60, 0]
    assert waiting(run, 140) == run.rows["a"]
    run.rows["a"] = waiting(run, 140)
    run.feed_all([observation("a", 100, 2), observation("a", 110, 2)])
    assert [json.loads(release)["decision"] for release in run.releases[2:]] == ["perturbed"] * (cut + 2)
    assert audit(run.ledger, run.releases, lifetime_nano=10**11).findings == ()
    assert rebuild(CONTEXT, run.ledger, run.releases) == run.rows


def test_an_old_row_that_spent_within_a_window_goes_on() -> None:
    """If windows reach as far as the previous version had to wait, a later release shows that this one did not."""
    window = Window(opens_ms=40, spent_end_ms=10, reach_ms=40)
    assert window.of_single_steps(-1) == window.of_single_steps(40) == window
    assert window.of_single_steps(30) == window._replace(opens_ms=0)


def test_the_backward_loss_counts_the_charges() -> None:
    """A private dissimilarity costs e1 at every event, published or not: the correlated loss includes it."""
    parts: dict[str, Any] = {"scheme": SCHEMES["private ba"], "correlation": "household", "epsilon": 4.0}
    run = Run(CONTEXT).feed_all([policy("a", protection=WINDOW, **parts)])
    lost, spends = 0.0, []
    for step in range(9):
        outcome = run.feed(observation("a", 10 * step, 3))
        assert isinstance(outcome, ProcessedRecord)
        entry = json.loads(run.ledger[-1])
        spends.append(entry.get("epsilon_nano", 0))
        assert outcome.spent_nano == spends[-1] + 500_000_000
        lost += outcome.spent_nano / 1e9
        assert run.rows["a"].backward_loss == pytest.approx(lost, rel=1e-12)  # nothing is known to fade
        assert entry["regular_peak_nano"] >= 2_000_000_000
        assert (entry["landmark_spent_nano"], entry["landmarks_left"], entry["landmark"]) == (0, 0, False)
    assert 0 in spends


@pytest.mark.parametrize("source_ms", [-1, 7_000])
def test_a_row_after_units_keeps_its_wait(source_ms: int) -> None:
    """A version after one with units waits for a whole window of its own, unlike earlier single-step versions."""
    row = Run(CONTEXT).feed_all([policy("a", protection={"level": "event", "step": 3_000})]).rows["a"]
    window = Window(opens_ms=5_000, spent_end_ms=2_000, reach_ms=4_000, whole=True)
    state = replace(row.state, guard=row.state.guard._replace(window=window))
    state = replace(state, latest=replace(state.latest, source_ms=source_ms))
    stored = replace(row, state=state)
    loaded = rows.load(dict(rows.dump(stored, None, set())).get, "a", {})
    assert loaded is not None
    assert loaded.state == state
    assert window._replace(whole=False).of_single_steps(-1).opens_ms == 4_000
