"""Rows of the state table: a run with rows stored as bytes equals the run with rows in memory."""

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from stream_app.deciding import rows
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.outcome import Outcome, ProcessedRecord
from stream_app.deciding.rows import SeriesRow
from stream_app.privacy.policy import Policy
from tests.privacy.guarantee.traces import SERIES, TRACES, Move, Version, play
from tests.run import COUNTS, FILTERS, KEYS, NUMBER, SAMPLES, SCHEMES, Record, Run, default, observation, policy
from tests.suite.speeds import scaled


class TableRun(Run):
    """A run that keeps nothing but the bytes of its table."""

    def __init__(self, context: Context | None = None) -> None:
        """Begin with an empty table."""
        super().__init__(context)
        self.table: dict[bytes, bytes] = {}
        self.defaults: dict[str, Policy] = {}
        self.written = 0

    def lookup(self, series: str) -> SeriesRow | None:
        """Read the row from the table's bytes."""
        return rows.load(self.table.get, series, self.defaults)

    def feed(self, record: Record | bytes | None, *, key: bytes | None = None, appended_ms: int = 0) -> Outcome:
        """Decide one record and write its row as the worker does: only the changes."""
        before = None if not isinstance(record, dict) else self.lookup(str(record.get("series")))
        outcome = super().feed(record, key=key, appended_ms=appended_ms)
        if isinstance(outcome, ProcessedRecord):
            pairs = rows.dump(outcome.row, before, set())
            self.written += sum(len(value) for _, value in pairs)
            self.table.update(pairs)
            assert self.lookup(outcome.row.series) == outcome.row
        return outcome


def records(kind: str, scheme: str, filtered: str) -> list[dict[str, object]]:
    """Return a log of one series with versions, registrations, late events, gaps and a close."""
    protection: dict[str, object] = {"level": "landmark", "landmarks": [50, [70, 80]], "spare": 2, "step": 10}
    sample = SAMPLES[kind]
    values = (*sample.accepted, *sample.invalid)
    parts: dict[str, Any] = {"scheme": SCHEMES[scheme], "filter": filtered, "value": sample.declared}
    events: list[dict[str, object]] = [policy("größe", protection=protection, epsilon=2.0, **parts)]
    for nth, ms in enumerate([5, 15, 18, 30, 41, 55, 9, 75, 90, 800, 811, 823, 840]):
        events.append(observation("größe", ms, values[nth % len(values)]))
        if nth == 4:
            events.append({"type": "landmarks", "series": "größe", "add": [30, [120, 140]]})
    user: dict[str, object] = {"level": "user", "length": 9, "step": 7}
    level = user if scheme in {"uniform", "adaptive"} else {"level": "event", "step": 7}
    events.append(policy("größe", 5, protection=level, epsilon=0.5, **parts))
    events += [observation("größe", 860 + 7 * nth, values[0]) for nth in range(12)]
    return [*events, {"type": "close", "series": "größe"}, observation("größe", 9999, 1)]


@pytest.mark.parametrize("scheme", list(SCHEMES))
@pytest.mark.parametrize(("kind", "filtered"), FILTERS)
def test_rows_as_bytes_change_nothing(kind: str, scheme: str, filtered: str) -> None:
    """For every kind, scheme and filter, each row reads back equal, and every later byte is the same."""
    context = Context(KEYS, limits=Limits(lifetime_nano=10**10))
    table = TableRun(context)
    log = records(kind, scheme, filtered)
    assert table.feed_all(log).outputs == Run(context).feed_all(log).outputs
    assert len(table.releases) > 15


@settings(max_examples=scaled(40), suppress_health_check=list(HealthCheck))
@given(TRACES)
def test_long_logs_as_bytes(trace: tuple[Version, list[Move], float | None, bool]) -> None:
    """The rows of long random logs read back equal at their end."""
    run = play(trace).run
    for row in run.rows.values():
        table = dict(rows.dump(row, None, set()))
        assert rows.load(table.get, SERIES, {}) == row


def test_a_default_policy_is_stored_once() -> None:
    """Series under one default policy share its bytes; a registered landmark makes it the series' own."""
    context = Context(KEYS, (default("*", protection={"level": "landmark", "landmarks": [10**6]}),))
    run = TableRun(context)
    for nth in range(20):
        run.feed(observation(f"home-{nth}", 5, 1))
    assert Counter(key[:1] for key in run.table) == {b"s": 20, b"d": 1}
    run.feed({"type": "landmarks", "series": "home-3", "add": [10**6]})
    assert [key for key in run.table if key[:1] == b"p"] == [b"phome-3"]
    before = run.lookup("home-4")
    run.feed(observation("home-4", 6, 1))
    assert before is not None
    after = run.lookup("home-4")
    assert after is not None
    assert [key for key, _ in rows.dump(after, before, set())] == [b"shome-4"]


def test_what_is_missing_is_said() -> None:
    """A missing row is None; a row without its policy gives an error with the remedy, not a guess."""
    empty: dict[bytes, bytes] = {}
    assert rows.load(empty.get, "a", {}) is None
    own = dict(rows.dump(Run().feed_all([policy("a")]).rows["a"], None, set()))
    del own[b"pa"]
    with pytest.raises(LookupError, match="recover"):
        rows.load(own.get, "a", {})
    shared = dict(
        rows.dump(Run(Context(KEYS, (default("*"),))).feed_all([observation("a", 1, 1)]).rows["a"], None, set())
    )
    shared = {key: value for key, value in shared.items() if key[:1] != b"d"}
    with pytest.raises(LookupError, match="recover"):
        rows.load(shared.get, "a", {})


def test_a_row_holds_no_raw_value() -> None:
    """No byte of the table contains the distinctive raw values of any kind."""
    run = TableRun()
    for nth, value in enumerate((7.654, 3.21)):
        series = f"s{nth}"
        run.feed(policy(series, value={**NUMBER, "resolution": 1e-6}))
        run.feed_all([observation(series, step, value) for step in range(1, 9)])
    run.feed(policy("c", value=COUNTS, epsilon=0.001))
    run.feed(observation("c", 1, {"walk": 987_654}))
    table = json.dumps([value.decode() for value in run.table.values()])
    for canary in ("7.654,", "7654000", "3.21,", "3210000", "987654"):
        assert canary not in table
