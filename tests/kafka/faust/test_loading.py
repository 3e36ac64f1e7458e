"""Rows that are read back are loaded as a separate table: they rule as written ones do, whatever happens."""

import shutil
from pathlib import Path

import pytest
import rocksdict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.kafka.brokers import DamagedCopyError
from tests.kafka.faust.conftest import MakeStore
from tests.kafka.faust.damage import middle_flipped
from tests.kafka.faust.test_localcopy import ROWS
from tests.suite.speeds import scaled


@given(
    written=st.lists(
        st.tuples(
            st.booleans(),
            st.dictionaries(st.integers(0, 12), st.none() | st.binary(max_size=3), min_size=1, max_size=8),
        ),
        max_size=6,
    )
)
@settings(max_examples=scaled(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_that_are_loaded_rule_as_written_ones_do(
    written: list[tuple[bool, dict[int, bytes | None]]], tmp_path_factory: pytest.TempPathFactory, store_in: MakeStore
) -> None:
    """This holds if loaded over written ones or written over loaded ones, singly or with very many others."""
    store, expected = store_in(tmp_path_factory.mktemp("copy")), dict[bytes, bytes]()
    for offset, (loads, numbered) in enumerate(written):
        rows = {b"s%03d" % number: value for number, value in numbered.items()}
        if loads:
            rows |= {b"t" + key: value for key, value in ROWS.items()}
            store.load(0, rows, offset)
        else:
            store.write(0, rows.items(), offset)
        for key, value in rows.items():
            expected.pop(key, None)
            if value is not None:
                expected[key] = value
        assert store.offset(0) == offset
    for again in range(2):
        assert list(store.scan(0, b"s")) == [expected[key] for key in sorted(expected) if key[:1] == b"s"], again
        assert all(store.read(0, key) == value for key, value in expected.items())
        store.release(0)
        assert store.reopen(0) is None


def test_what_was_loaded_outlives_a_killed_process(tmp_path: Path, store_in: MakeStore) -> None:
    """A table holds rows and offset together; nothing is known of a table that was not taken in."""
    store, rows = store_in(tmp_path / "worker"), list(ROWS.items())
    store.load(0, dict(rows[:1_500]), 1)
    store.write(0, rows[1_500:1_600], 2)
    (store.partition_path(0) / "incoming").write_bytes(b"half of a table")
    (left := tmp_path / "left").mkdir()
    shutil.copytree(store.path, left / store.path.relative_to(tmp_path / "worker"))
    killed = store_in(left)
    assert killed.reopen(0) is None
    assert (killed.offset(0), len(list(killed.scan(0, b"s")))) == (2, 1_600)
    killed.load(0, ROWS, 3)
    assert (killed.offset(0), len(list(killed.scan(0, b"s")))) == (3, len(ROWS))
    assert not (killed.partition_path(0) / "incoming").exists()
    killed.release(0)
    for table in killed.partition_path(0).glob("*.sst"):
        middle_flipped(table)
    with pytest.raises(DamagedCopyError, match="checksum mismatch"):
        list(killed.scan(0, b"s"))


def test_a_table_that_cannot_be_made_is_trouble_of_the_copy(tmp_path: Path, store_in: MakeStore) -> None:
    """Nothing of it exists, and the copy answers nothing more until it is reopened."""
    store = store_in(tmp_path)
    store.write(0, [(b"s", b"row")], 1)
    (store.partition_path(0) / "incoming").mkdir()
    with pytest.raises(DamagedCopyError):
        store.load(0, ROWS, 2)
    with pytest.raises(DamagedCopyError):
        store.read(0, b"s")
    assert store.reopen(0) is not None
    store.load(0, ROWS, 2)
    assert (store.offset(0), len(list(store.scan(0, b"s")))) == (2, len(ROWS))


def test_rows_packed_by_snappy_are_read_and_new_ones_are_packed_by_lz4(tmp_path: Path, store_in: MakeStore) -> None:
    """A copy of an earlier version, which used RocksDB's default, continues with both in it."""
    store, rows = store_in(tmp_path), list(ROWS.items())
    path = store.partition_path(0)
    path.mkdir(parents=True)
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)  # noqa: FBT003
    options.set_compression_type(rocksdict.DBCompressionType.snappy())
    earlier = rocksdict.Rdict(str(path), options=options)
    for key, value in rows[:500]:
        earlier[key] = value
    earlier.flush()
    earlier.close()
    store.load(0, dict(rows[500:]), 1)
    assert list(store.scan(0, b"s")) == [value for _, value in sorted(rows)]
    store.release(0)
    tables = [table.read_bytes() for table in path.glob("*.sst")]
    assert {name for name in (b"Snappy", b"LZ4") if any(name in table for table in tables)} == {b"Snappy", b"LZ4"}
