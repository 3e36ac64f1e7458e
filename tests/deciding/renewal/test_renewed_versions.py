"""Contents of a renewed version: landmarks, a window's rest, a row that recognises it, and only what fits."""

import json
from itertools import pairwise

import pytest

from stream_app.deciding import rows
from stream_app.deciding.context import Context
from stream_app.deciding.outcome import ProcessedRecord
from stream_app.kafka.client.topics import OUTPUT_BYTES
from stream_app.privacy.landmarks import MOST_INTERVALS
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.policy import Policy
from tests.deciding.renewal.renewing import (
    DRAWN,
    ROOM,
    landmarks,
    parameters_of,
    rebuilt,
    renewing,
    versions,
)
from tests.run import KEYS, SCHEMES, Record, Run, default, observation, policy, reason


def test_late_landmarks_stay_and_spare_is_whole_again() -> None:
    """Registered future landmarks are in the renewed version, in addition to the spare of the record."""
    run = Run(Context(KEYS, limits=ROOM))
    run.feed_all(
        [
            renewing(protection=landmarks([50, 150], [170, 200], spare=2)),
            observation("a", 0, 1),
            {"type": "landmarks", "series": "a", "add": [[140, 150], 210]},
            observation("a", 80, 1),
            observation("a", 120, 1),
        ]
    )
    protection = run.entries("policy")[1]["parameters"]["protection"]
    assert protection == landmarks([90, 150], [170, 200], [210, 220], spare=2)
    assert run.entries("landmarks")[0]["landmarks_left"] == 15
    assert run.entries("release")[2]["landmarks_left"] == 2 + 3 + 1 + 2
    assert reason(run.feed({"type": "landmarks", "series": "a", "add": [80]})) == "refused-landmark", (
        "a step of the version before"
    )
    run.feed({"type": "landmarks", "series": "a", "add": [90]})
    assert len(run.entries("landmarks")) == 2
    rebuilt(run)


def test_drawn_landmarks_stay_fixed() -> None:
    """Nothing is drawn or charged again, and none may be added: rows from the ledger recognise it."""
    run = Run(Context(KEYS, limits=ROOM))
    drawing = policy("a", renew=[30, 60], protection={"level": "landmark", "landmarks": [20, [50, 55]]}, dummies=DRAWN)
    run.feed_all([drawing, *(observation("a", at, 1) for at in range(0, 70, 7))])
    first, second, third = (entry["parameters"] for entry in run.entries("policy"))
    drawn = {step for start, end in first["protection"]["landmarks"] for step in range(start, end)}
    for parameters, start in ((second, 29), (third, 57)):
        kept = {step for start, end in parameters["protection"]["landmarks"] for step in range(start, end)}
        assert kept == {step for step in drawn if step >= start}
    assert len(run.entries("dummies")) == 1
    assert run.rows["a"].policy.fixed
    assert reason(run.feed({"type": "landmarks", "series": "a", "add": [99]})) == "refused-landmark"
    rebuilt(run)


def test_a_copy_of_a_renewal_keeps_drawn_landmarks_fixed() -> None:
    """Rows from the ledger cannot distinguish it from a renewal, so it is one: no landmark may be added."""
    run = Run(Context(KEYS, limits=ROOM))
    drawing = policy("a", renew=[30], protection={"level": "landmark", "landmarks": [20]}, dummies=DRAWN)
    run.feed_all([drawing, observation("a", 0, 1)])
    parameters = dict(run.entries("policy")[0]["parameters"])
    to_come = [[max(1, start), end] for start, end in parameters["protection"]["landmarks"] if end > 1]
    parameters["protection"] = {**parameters["protection"], "landmarks": to_come}
    del parameters["renew"]
    assert isinstance(run.feed({"type": "policy", "series": "a", "version": 2, **parameters}), ProcessedRecord)
    assert run.rows["a"].policy.fixed
    rebuilt(run)


def test_a_default_policy_that_renews_stays_shared() -> None:
    """All series that renew at a bound share one policy in memory and table; a late landmark separates one."""
    run = Run(Context(KEYS, (default("*", renew=[100, 200], protection=landmarks([50, 60], [150, 190])),), ROOM))
    names = [f"s{number}" for number in range(50)]
    for start in (0, 100, 200):
        run.feed_all(observation(name, start + number % 3 * 10, 1) for number, name in enumerate(names))
    shared: set[str] = set()
    pairs = [pair for row in run.rows.values() for pair in rows.dump(row, None, shared)]
    assert [key for key, _ in pairs if not key.startswith(b"s")] == [b"d" + name.encode() for name in shared]
    assert len(shared) == 1
    first = run.context.defaults[0].digest
    assert {rows.first_default(name) for name in shared} == {first}
    assert len({id(row.policy) for row in run.rows.values()}) == 1
    table: dict[bytes, bytes] = dict(pairs)
    found: dict[str, Policy] = {}
    for name in names:
        assert rows.load(table.get, name, found) == run.rows[name]
    rebuilt(run)
    run.feed({"type": "landmarks", "series": "s7", "add": [500]})
    assert not run.rows["s7"].default
    rebuilt(run)


def test_rows_that_are_read_back_renew_alike() -> None:
    """Records decided from rows in bytes give the bytes of a run that keeps its rows, under any policy."""
    for given in (renewing("s"), renewing("s", protection={"level": "user", "length": 20, "step": 10})):
        contexts = [Context(KEYS, limits=ROOM), Context(KEYS, (default("*", **parameters_of(given)),), ROOM)]
        for context in contexts:
            records = [*([] if context.defaults else [given]), *(observation("s", at, at) for at in range(0, 400, 30))]
            kept = Run(context).feed_all(records)
            stored = Run(context)
            table: dict[bytes, bytes] = {}
            for record in records:
                before = rows.load(table.get, "s", {})
                stored.rows = {} if before is None else {"s": before}
                stored.feed(record)
                table.update(rows.dump(stored.rows["s"], before, set()))
            assert stored.outputs == kept.outputs


def test_a_renewed_version_waits_for_the_window_of_the_former() -> None:
    """No three steps in a row have spends of two versions, even landmarks: a window is guaranteed one epsilon."""
    given = policy("a", renew=[100, 200], protection=landmarks([100, 110], window=3))
    run = Run(Context(KEYS, limits=ROOM)).feed_all([given, *(observation("a", at, 1) for at in range(0, 250, 10))])
    spent = [
        (found["timestamp"], found["policy"]) for found in map(json.loads, run.releases) if "epsilon_nano" in found
    ]
    for (before, former), (after, version) in pairwise(spent):
        assert version == former or after - before >= 30
    assert {version for _, version in spent} == {1, 2, 3}
    assert [at for at, version in versions(run) if version == 2 and (at, version) not in spent] == [100, 110]
    rebuilt(run)


def test_landmarks_at_the_end_of_time_stay_readable() -> None:
    """A renewed version names the last steps as a policy may: no timestamp exceeds the last one."""
    for step in (1, 7, 1000):
        last = LAST_TIMESTAMP_MS // step * step
        given = policy("a", renew=[100], protection=landmarks([last - 3 * step, last], last, step=step))
        run = Run(Context(KEYS, limits=ROOM)).feed_all([given, observation("a", 0, 1), observation("a", 5000, 1)])
        assert run.rows["a"].policy.version == 2
        assert len(run.rows["a"].state.promise.landmarks) == 4
        assert json.loads(run.ledger[-1])["landmarks_left"] == 4
        rebuilt(run)


def test_a_renewed_row_never_outgrows_its_topic() -> None:
    """With the most landmarks and the longest timestamps possible, entry and row fit, and rows renew the same."""
    first = LAST_TIMESTAMP_MS - 200_000
    spans = [first + 2 * nth for nth in range(MOST_INTERVALS)]
    context = Context(KEYS, limits=ROOM)
    kept, stored = Run(context), Run(context)
    table: dict[bytes, bytes] = {}
    late: list[Record] = [
        {"type": "landmarks", "series": "a", "add": spans[nth : nth + 12_000]} for nth in range(0, 65_536, 12_000)
    ]
    records: list[Record] = [
        policy("a", renew=[100, 200]),
        *late[:-1],
        *(observation("a", at, 1) for at in (0, 100)),
        late[-1],
    ]
    for record in (*records, observation("a", 110, 1), observation("a", 200, 1), observation("a", 210, 1)):
        before = rows.load(table.get, "a", {})
        stored.rows = {} if before is None else {"a": before}
        assert isinstance(stored.feed(record), ProcessedRecord)
        kept.feed(record)
        written = rows.dump(stored.rows["a"], before, set())
        assert all(len(value) < OUTPUT_BYTES for _, value in written)
        table.update(written)
    assert stored.outputs == kept.outputs
    assert [found["policy"] for found in kept.entries("policy")] == [1, 2, 3]
    assert len(kept.rows["a"].state.promise.landmarks) == MOST_INTERVALS
    assert max(map(len, kept.ledger)) < OUTPUT_BYTES
    rebuilt(kept)


@pytest.mark.parametrize("scheme", list(SCHEMES))
def test_every_scheme_begins_anew(scheme: str) -> None:
    """Each version spends like the first, given the same future steps; its noise is different."""
    given = policy("a", renew=[100, 200], protection=landmarks(spare=3), scheme=SCHEMES[scheme], filter="none")
    run = Run(Context(KEYS, limits=ROOM)).feed_all([given, *(observation("a", at, 5) for at in range(0, 300, 100))])
    found = [json.loads(release) for release in run.releases]
    assert len({release["epsilon_nano"] for release in found}) == 1
    assert all(before["measurement"] != after["measurement"] for before, after in pairwise(found))
