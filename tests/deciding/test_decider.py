"""A batch decided record by record: its outputs, its counts, and the rows to store."""

from collections import Counter

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.deciding import rows
from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decider import INPUT_HEADER, MOST_BULK_BYTES, Decider, Headers, Outlets
from stream_app.deciding.decision import decide
from stream_app.deciding.outcome import ProcessedRecord, RejectedRecord
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.encoding import SealedEntry
from stream_app.formats.records import InputRecord
from tests.run import ADAPTIVE, KEYS, Record, default, observation, policy

CONTEXT = Context(KEYS, (default("home-*"),), Limits(lifetime_nano=10**12))


class Topic:
    """Keeps what is appended."""

    def __init__(self) -> None:
        """Hold nothing."""
        self.records: list[tuple[bytes | None, bytes, int, Headers]] = []

    def append(self, key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:
        """Keep a record."""
        self.records.append((key, value, timestamp_ms, headers))

    def values(self) -> list[bytes]:
        """Return the records' values."""
        return [value for _, value, _, _ in self.records]


class Desk:
    """A decider with three topics, over a table."""

    def __init__(self, known: dict[str, SeriesRow] | None = None) -> None:
        """Begin a batch over ``known`` rows."""
        self.known = known or {}
        self.asked: Counter[str] = Counter()
        self.settled: list[tuple[bytes, tuple[SealedEntry, ...]]] = []
        self.ledger, self.releases, self.rejects = Topic(), Topic(), Topic()
        outlets = Outlets(self.ledger.append, self.releases.append, self.rejects.append, self.settle)
        self.decider = Decider(CONTEXT, self.find, outlets, Collection(bytes(32)))

    def settle(self, key: bytes, entries: tuple[SealedEntry, ...]) -> None:
        """Keep what would be compared."""
        self.settled.append((key, entries))

    def find(self, series: str) -> SeriesRow | None:
        """Return a row, and count that it was asked for."""
        self.asked[series] += 1
        return self.known.get(series)


def records(*events: Record | bytes, start: int = 0) -> list[InputRecord]:
    """Return input records of consecutive offsets."""
    values = [event if isinstance(event, bytes) else orjson.dumps(event) for event in events]
    return [InputRecord("events", 0, offset, 7, None, value) for offset, value in enumerate(values, start)]


EVENTS = (
    observation("home-1", 1, 1.0),
    observation("home-2", 1, 2.0),
    b"no record",
    observation("home-1", 1, 3.0),
    observation("home-1", 2, 4.0),
    {"type": "landmarks", "series": "home-1", "add": [9]},
    observation("bus-1", 1, 1.0),
)


def test_what_comes_out_is_what_each_record_alone_came_to() -> None:
    """Outputs follow the order of their input, which each one names; later records see earlier rows."""
    desk, alone, collection = Desk(), dict[str, SeriesRow](), Collection(bytes(32))
    desk.decider.decide(records(*EVENTS))
    for record in records(*EVENTS):
        outcome = decide(CONTEXT, alone.get, collection, record)
        headers = [(INPUT_HEADER, b"%d" % record.offset)]
        if isinstance(outcome, RejectedRecord):
            assert desk.rejects.records.pop(0) == (outcome.key, outcome.value, record.timestamp_ms, headers)
            continue
        assert isinstance(outcome, ProcessedRecord)
        alone[outcome.row.series] = outcome.row
        key = orjson.loads(record.value or b"")["series"].encode()
        asked, entries = desk.settled.pop(0)
        assert (asked, [entry.value for entry in entries]) == (key, [entry.value for entry in outcome.entries])
        for entry in outcome.entries:
            step_ms = orjson.loads(entry.value).get("timestamp", record.timestamp_ms)
            assert entry.timestamp_ms == step_ms
            assert desk.ledger.records.pop(0) == (key, entry.value, step_ms, headers)
        if outcome.release is not None:
            step_ms = orjson.loads(outcome.release)["timestamp"]
            assert desk.releases.records.pop(0) == (key, outcome.release, step_ms, headers)
    assert not desk.ledger.records + desk.releases.records + desk.rejects.records
    assert desk.decider.changed == alone


def test_what_is_counted() -> None:
    """Decisions by scheme, rejects by reason and the spend are counted; a missing row is looked up only once."""
    desk = Desk()
    desk.decider.decide(records(*EVENTS))
    decided = desk.decider.decisions
    assert sum(decided.values()) == 4
    own, shared = "", CONTEXT.defaults[0].digest
    assert decided["control", "uniform", own] == 1
    assert desk.decider.rejected == {"malformed": 1, "duplicate": 1, "no-policy": 1}
    assert desk.asked == {"home-1": 1, "home-2": 1, "bus-1": 1}
    spent = sum(orjson.loads(entry).get("epsilon_nano", 0) for entry in desk.ledger.values())
    assert sum(desk.decider.spent.values()) == spent > 0
    assert desk.decider.spent.keys() == {("uniform", own), ("uniform", shared)}


def test_growth_of_the_budget_in_use() -> None:
    """Over batches, it adds up to the usage of each version; policies that cannot be used up do not count."""
    known: dict[str, SeriesRow] = {}
    grown: Counter[tuple[str, str]] = Counter()
    used: Counter[tuple[str, str]] = Counter()
    for nth in range(8):
        desk = Desk(known)
        batch: list[Record | bytes] = [observation(f"home-{place}", nth + 1, 1.0) for place in range(3)]
        batch.append(observation("bus-1", nth + 1, 1.0))
        if nth == 0:
            batch.insert(0, policy("bus-1", protection={"level": "event"}))
        if nth == 4:
            batch.append(policy("home-1", 2, epsilon=0.5, protection={"level": "landmark", "landmarks": [[6, 9]]}))
        desk.decider.decide(records(*batch))
        if nth == 4:
            used["uniform", known["home-1"].default] = known["home-1"].state.guard.used_nano
        known |= desk.decider.changed
        grown.update(desk.decider.used())
    for row in known.values():
        if row.series != "bus-1":
            used["uniform", row.default] += row.state.guard.used_nano
    assert ("uniform", "") in used, "the second version ruled"
    assert known["bus-1"].state.guard.used_nano > 0
    assert grown == used


def test_growth_under_versions_of_one_batch() -> None:
    """If one version follows another in a batch, the growth of each counts, as with one batch per record."""
    batch = records(
        observation("home-1", 1, 1.0),
        policy("home-1", 2, epsilon=0.5, scheme=ADAPTIVE),
        observation("home-1", 2, 2.0),
        policy("home-1", 3, protection={"level": "event"}),
        observation("home-1", 3, 3.0),
        policy("home-1", 4, epsilon=0.25),
        observation("home-1", 4, 4.0),
    )
    one_by_one = Counter[tuple[str, str]]()
    for known in (1, 0):
        before, at_once = Desk(), Desk()
        before.decider.decide(batch[:known])
        at_once.known = dict(before.decider.changed)
        at_once.decider.decide(batch[known:])
        rows_so_far = dict(before.decider.changed)
        one_by_one.clear()
        for record in batch[known:]:
            alone = Desk(dict(rows_so_far))
            alone.decider.decide([record])
            one_by_one.update(alone.decider.used())
            rows_so_far |= alone.decider.changed
        assert at_once.decider.used() == one_by_one
        assert at_once.decider.used() == at_once.decider.used(), "asking changes nothing"
    assert one_by_one.keys() == {("uniform", CONTEXT.defaults[0].digest), ("adaptive", ""), ("uniform", "")}
    assert min(one_by_one.values()) > 0


def test_rows_to_store() -> None:
    """Each changed series is stored once, a shared default policy once, and nothing for rejects."""
    desk = Desk()
    desk.decider.decide(records(*EVENTS))
    kinds = Counter(key[:1] for key, _ in desk.decider.stored())
    assert kinds == {b"s": 2, b"p": 1, b"d": 1}, "home-1 has landmarks of its own by now"
    table = dict(desk.decider.stored())
    assert rows.load(table.get, "home-1", {}) == desk.decider.changed["home-1"]
    again = Desk(dict(desk.decider.changed))
    again.decider.decide(records(observation("home-2", 2, 1.0)))
    assert [key for key, _ in again.decider.stored()] == [b"shome-2"], "its policy is stored already"


def test_an_entry_that_differs_ends_the_batch_before_it_is_written() -> None:
    """An error from ``settle`` is raised, and neither the entry nor its release is sent."""

    class DiffersError(Exception):
        """Two entries for one place."""

    def refuse(_key: bytes, _entries: tuple[SealedEntry, ...]) -> None:
        raise DiffersError

    desk = Desk()
    outlets = Outlets(desk.ledger.append, desk.releases.append, desk.rejects.append, refuse)
    with pytest.raises(DiffersError):
        Decider(CONTEXT, desk.find, outlets, Collection(bytes(32))).decide(records(*EVENTS))
    assert not desk.ledger.records + desk.releases.records


@given(st.lists(st.tuples(st.sampled_from(["home-1", "home-2"]), st.integers(0, 9)), max_size=30), st.data())
def test_slices_change_nothing(sent: list[tuple[str, int]], data: st.DataObject) -> None:
    """Any division of a batch into slices produces the same bytes."""
    events = records(*(observation(series, step, 1.0) for series, step in sent))
    whole, cut = Desk(), Desk()
    whole.decider.decide(events)
    while events:
        size = data.draw(st.integers(1, len(events)))
        cut.decider.decide(events[:size])
        events = events[size:]
    assert whole.ledger.records == cut.ledger.records
    assert whole.releases.records == cut.releases.records
    assert whole.decider.stored() == cut.decider.stored()


def test_watermarks_fill_a_batch() -> None:
    """Watermarks close thousands of steps: a batch ends after the one that fills it, and the rest stays whole."""
    wards = [f"ward-{nth}" for nth in range(4)]
    plain: dict[str, object] = {"kind": "counts", "keys": ["walk"]}
    collect = {"neighbours": "replace", "open_steps": 1}
    events: list[Record] = [policy(ward, value=plain, collect=collect) for ward in wards]
    for end in (0, 10_000):
        events += [{"type": "watermark", "series": ward, "timestamp": end, "seed": "5e" * 32} for ward in wards]
    desk = Desk()
    left = iter(records(*events))
    assert not desk.decider.decide(left)
    waiting = list(left)
    assert 0 < len(waiting) < len(wards)
    size = sum(map(len, desk.ledger.values() + desk.releases.values()))
    assert MOST_BULK_BYTES <= size < MOST_BULK_BYTES + 10_000_000
    assert len(desk.releases.records) == 10_000 * (len(wards) - len(waiting))
    assert Desk().decider.decide(records(*EVENTS)), "an ordinary batch is never full"
