"""Rows survive the state table, and come again from ledger and releases alone."""

from typing import Any

import pytest

from stream_app import rows
from stream_app.rebuild import RebuildError, rebuild
from tests.run import ADAPTIVE, BALANCED, COUNTS, KINDS, SCHEMES, SKIP, Run, default, limited, observation, policy

VALUES: dict[str, object] = {
    "number": 4.2,
    "location": {"latitude": -10.94, "longitude": -37.06},
    "counts": {"walk": 12, "ride": 3},
    "category": "contact",
}
STEPS = 40
PROTECTION = {"level": "landmark", "landmarks": [[100, 150]], "step": 10, "spare": 1}


def a_run(kind: str, scheme: str, filter_name: str) -> Run:
    """Return a run with gaps, late landmarks, a second version and a closing."""
    run = Run(limited(lifetime_nano=3 * 10**9))
    members: dict[str, Any] = {
        "protection": PROTECTION,
        "scheme": SCHEMES[scheme],
        "value": KINDS[kind],
        "filter": filter_name,
    }
    run.feed(policy("a", **members))
    run.feed_all(observation("a", 10 * step, VALUES[kind]) for step in range(STEPS) if step % 7)
    run.feed({"type": "landmarks", "series": "a", "add": [[10 * STEPS + 100, 10 * STEPS + 130]]})
    run.feed(policy("a", 2, **members | {"protection": {"level": "landmark", "step": 20}}))
    run.feed_all(observation("a", 10 * STEPS + 20 * step, VALUES[kind]) for step in range(5))
    run.feed({"type": "close", "series": "a"})
    return run


@pytest.mark.parametrize("filter_name", ["none", "level"])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_come_again_from_ledger_and_releases(kind: str, scheme: str, filter_name: str) -> None:
    """Every row that a run ends with is rebuilt to the last digit, filter and rate included."""
    run = a_run(kind, scheme, filter_name)
    assert len(run.ledger) > STEPS
    rebuilt = rebuild(run.context, run.ledger, run.releases)
    assert {name: rows.dump(row, None) for name, row in rebuilt.items()} == {
        name: rows.dump(row, None) for name, row in run.rows.items()
    }


def test_a_missing_entry_or_release_is_told() -> None:
    """What does not follow is refused with its place, never guessed."""
    run = a_run("number", "uniform", "none")
    with pytest.raises(RebuildError, match="does not follow") as broken:
        rebuild(run.context, run.ledger[:5] + run.ledger[6:], run.releases)
    assert (broken.value.series, broken.value.sequence) == ("a", 7)
    with pytest.raises(RebuildError, match="no release"):
        rebuild(run.context, run.ledger, run.releases[1:])


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_goes_on_from_stored_rows(kind: str) -> None:
    """A row written and read back decides what the row in memory decides."""
    table: dict[bytes, bytes] = {}
    context = limited()
    events = [observation("a", 10 * step, VALUES[kind]) for step in range(STEPS)]
    own = policy("a", protection=PROTECTION, scheme=BALANCED if kind == "number" else ADAPTIVE, value=KINDS[kind])
    whole = Run(context).feed_all([own, *events])
    parts = Run(context)
    for record in [own, *events]:
        before = rows.load(table.get, "a")
        parts.rows = {"a": before} if before else {}
        parts.feed(record)
        table.update(rows.dump(parts.rows["a"], before))
    assert parts.outputs == whole.outputs


def test_a_default_policy_is_stored_once_and_becomes_own_with_landmarks() -> None:
    """Series under a default share its row; a registration gives the series a row of its own."""
    run = Run(type(limited())(limited().keys, (default("*", protection=PROTECTION, scheme=SKIP, value=COUNTS),)))
    run.feed_all(observation(series, 10, {"walk": 1}) for series in ("a", "b"))
    stored = [dict(rows.dump(run.rows[series], None)) for series in ("a", "b")]
    shared = [key for key in stored[0] if key.startswith(b"d")]
    assert len(shared) == 1
    assert stored[0][shared[0]] == stored[1][shared[0]]
    run.feed({"type": "landmarks", "series": "a", "add": [990]})
    table = dict(rows.dump(run.rows["a"], None))
    assert b"pa" in table
    again = rows.load(table.get, "a")
    assert again is not None
    assert again.state == run.rows["a"].state
