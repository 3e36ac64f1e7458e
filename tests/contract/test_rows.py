"""The local rows, in memory and in RocksDB: what a partition's owner writes, reads and loses."""

from pathlib import Path

import numpy as np
import pytest

from stream_app.kafka.brokers import DamagedCopyError, Rows
from tests.cluster.rows import DiskRows
from tests.kafka.faust.conftest import MakeStore
from tests.kafka.faust.damage import damage_copy


@pytest.fixture(params=["memory", "rocksdb"])
def rows(request: pytest.FixtureRequest, tmp_path: Path, store_in: MakeStore) -> Rows:
    """Return both kinds of rows in turn."""
    return DiskRows() if request.param == "memory" else store_in(tmp_path)


def test_rows_hold_what_was_written_last(rows: Rows) -> None:
    """Rows are kept by partition; None as a value deletes, and None as an offset changes nothing."""
    assert rows.reopen(0) is None
    assert rows.offset(0) is None
    assert rows.read(0, b"a") is None
    rows.write(0, [(b"a", b"1"), (b"b", b"2"), (b"a", b"3")], 7)
    rows.write(1, [(b"a", b"other")], 9)
    assert (rows.read(0, b"a"), rows.read(0, b"b"), rows.offset(0)) == (b"3", b"2", 7)
    rows.write(0, [(b"a", None), (b"c", b"")], None)
    assert (rows.read(0, b"a"), rows.read(0, b"c"), rows.offset(0)) == (None, b"", 7)
    rows.write(0, [], 11)
    assert (rows.offset(0), rows.offset(1), rows.read(1, b"a")) == (11, 9, b"other")


def test_the_last_row_of_a_key_rules_in_any_order_of_keys(rows: Rows) -> None:
    """One write has many rows of few keys, some deleted, like a changelog before compaction."""
    drawn = np.random.default_rng(16)
    for offset in range(20):
        pairs = drawn.integers(0, (40, 2), (200, 2)).tolist()
        written = [(b"%d" % key, b"%d" % at if stays else None) for at, (key, stays) in enumerate(pairs)]
        rows.write(0, iter(written), offset)
        last = dict(written)
        assert {key: rows.read(0, key) for key in last} == last


def test_rows_are_scanned_by_prefix_in_the_order_of_keys(rows: Rows) -> None:
    """The scan finds every key with the prefix, and no other."""
    rows.write(0, [(b"s\xff", b"3"), (b"t", b"-"), (b"s", b"1"), (b"r\xff", b"-"), (b"s\x00", b"2")], 1)
    assert list(rows.scan(0, b"s")) == [b"1", b"2", b"3"]
    assert list(rows.scan(0, b"u")) == []
    assert list(rows.scan(1, b"s")) == []


def test_discarded_rows_are_gone_and_others_stay(rows: Rows) -> None:
    """The partition begins anew."""
    for partition in (0, 1):
        rows.write(partition, [(b"a", b"1")], 5)
    rows.discard(0)
    assert (rows.read(0, b"a"), rows.offset(0)) == (None, None)
    assert (rows.read(1, b"a"), rows.offset(1)) == (b"1", 5)
    rows.write(0, [(b"a", b"2")], 0)
    assert (rows.read(0, b"a"), rows.offset(0)) == (b"2", 0)


@pytest.mark.parametrize("kind", ["memory", "rocksdb"])
def test_damaged_rows_answer_nothing_until_they_are_opened_again(
    kind: str, tmp_path: Path, store_in: MakeStore
) -> None:
    """Then they are empty, and the damage is reported once."""
    rows = _damaged(kind, tmp_path, store_in)
    for _ in range(2):
        with pytest.raises(DamagedCopyError):
            rows.read(0, b"s")
    with pytest.raises(DamagedCopyError):
        rows.offset(0)
    with pytest.raises(DamagedCopyError):
        list(rows.scan(0, b"s"))
    with pytest.raises(DamagedCopyError):
        rows.write(0, [(b"s", b"2")], 2)
    assert isinstance(rows.reopen(0), DamagedCopyError)
    assert (rows.read(0, b"s"), rows.offset(0)) == (None, None)
    assert rows.reopen(0) is None
    rows.write(0, [(b"s", b"2")], 0)
    assert rows.read(0, b"s") == b"2"


def _damaged(kind: str, folder: Path, store_in: MakeStore) -> Rows:
    if kind == "memory":
        memory = DiskRows()
        memory.write(0, [(b"s", b"1")], 1)
        memory.damage(0)
        return memory
    store = store_in(folder)
    store.write(0, [(b"s", b"1")], 1)
    store.release(0)
    damage_copy(store.partition_path(0), "MANIFEST flipped")
    return store


def test_rows_in_memory_lose_their_last_writes() -> None:
    """Like a disk that lost power, they return to their earlier state."""
    rows = DiskRows()
    rows.write(0, [(b"a", b"1")], 1)
    rows.write(0, [(b"a", b"2"), (b"b", b"2")], 3)
    rows.write(0, [(b"a", None)], 5)
    rows.lose_last(0)
    assert (rows.read(0, b"a"), rows.read(0, b"b"), rows.offset(0)) == (b"2", b"2", 3)
    rows.lose_last(0, 9)
    assert (rows.read(0, b"a"), rows.read(0, b"b"), rows.offset(0)) == (None, None, None)
