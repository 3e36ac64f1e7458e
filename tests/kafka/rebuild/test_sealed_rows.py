"""Sealed rows while a partition is rebuilt: all of them are on disk in an unnamed file."""

import resource
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stream_app.deciding.units.sealed import SEALED_BYTES
from stream_app.formats import wire
from stream_app.kafka.brokers import LocalStateError
from stream_app.kafka.rebuild.open_units import FoundUnits
from stream_app.kafka.rebuild.sealed_rows import SealedRows
from tests.kafka.rebuild.test_open_units import TOPIC, Played
from tests.units import reading, units

BLOCKS = 3_750
"""The blocks of a series: 16 units each, six steps of 10,000 units."""
MOST_BYTES = 4_000_000


def test_what_is_open_is_not_held_in_memory() -> None:
    """22,500 rows were 14 MB when all of them stayed in memory until the last one was found."""
    names = [f"sugar-{nth}" for nth in range(6)]
    protection = {"step": 10_000, "unit": 1, "open_steps": 6}
    past = Played([units(series=name, protection=protection) for name in names])
    found = FoundUnits(past.told(), past.run.context.keys, TOPIC, [], 0, past.run.offset, partly=False)
    tracemalloc.start()
    for offset in range(past.run.offset, past.run.offset + BLOCKS * len(names)):
        nth, series = divmod(offset - past.run.offset, len(names))
        found.take(offset, wire.dump(reading(nth * 16, 1, names[series])), past.rejected)
        if offset % 500 == 0:
            found.settle()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < MOST_BYTES
    rows = dict(found.sealed())
    assert len(rows) == BLOCKS * len(names)
    assert {len(row or b"") for row in rows.values()} == {SEALED_BYTES}


def test_a_row_is_kept_or_deleted(tmp_path: Path) -> None:
    """Rows of others are deleted if nothing is kept under their key, and none of this has a file name."""
    rows = SealedRows(tmp_path)
    rows.delete([b"a", b"b"])
    rows.put({b"b": b"2", b"c": b"3", b"d": b"4"})
    rows.put({b"c": b"33", b"d": None})
    rows.delete([b"c", b"d"])
    assert (rows.read(b"a"), rows.read(b"b"), rows.read(b"c"), rows.read(b"e")) == (None, b"2", b"33", None)
    assert list(rows) == [(b"a", None), (b"b", b"2"), (b"c", b"33"), (b"d", None)]
    assert not list(tmp_path.iterdir())
    assert list(SealedRows(tmp_path / "none")) == []


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    """A row that does not fit raises an error that names the place."""
    rows, (soft, hard) = SealedRows(tmp_path), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        with pytest.raises(LocalStateError, match=str(tmp_path)) as caught:
            rows.put({nth.to_bytes(8, "big"): bytes(SEALED_BYTES) for nth in range(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.reason == "disk-full"


@pytest.mark.filterwarnings("error")
def test_they_are_closed_in_any_thread() -> None:
    """The garbage collector runs wherever something is allocated; in another thread the file used to stay open."""
    kept = [SealedRows()]
    kept[0].put({b"a": b"1"})
    handles = len(list(Path("/proc/self/fd").iterdir()))
    with ThreadPoolExecutor(1) as other:
        other.submit(kept.clear).result()
    assert len(list(Path("/proc/self/fd").iterdir())) < handles
