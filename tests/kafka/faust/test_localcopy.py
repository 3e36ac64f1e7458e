"""A partition's local copy under any damage: no row passes for absent, and a new copy can be made."""

import os
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import rocksdict

from stream_app.kafka.brokers import DamagedCopyError, LocalStateError
from stream_app.kafka.faust.table import StateStore
from stream_app.kafka.stops import files_exhausted
from tests.kafka.faust.conftest import MakeStore
from tests.kafka.faust.damage import DAMAGE, damage_copy, middle_flipped

ROWS = {b"s%04d" % number: os.urandom(200) for number in range(2_000)}


@pytest.fixture
def store(tmp_path: Path, store_in: MakeStore) -> StateStore:
    """A store whose partition 0 has half of its rows in a table and half in the write-ahead log."""
    store = store_in(tmp_path)
    rows = list(ROWS.items())
    store.write(0, rows[:1_000], 1)
    store._dbs[0].flush()  # noqa: SLF001
    for number in range(1_000, 2_000, 100):
        store.write(0, rows[number : number + 100], number)
    store.write(1, rows, 7)
    return store


@pytest.fixture
def killed(store: StateStore, tmp_path: Path, store_in: MakeStore) -> StateStore:
    """A store over files in the state that `kill -9` leaves."""
    (left := tmp_path / "left").mkdir()
    shutil.copytree(store.path, left / store.path.relative_to(tmp_path))
    return store_in(left)


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_copy_is_whole_up_to_its_offset_or_discarded(killed: StateStore, kind: str) -> None:
    """Whatever is done to its files, it holds what it claims to hold, or nothing; and it accepts rows again."""
    damage_copy(killed.partition_path(0), kind)
    try:
        killed.reopen(0)
        found = sum(killed.read(0, key) is not None for key in ROWS)
    except DamagedCopyError:
        assert killed.reopen(0) is not None
        found = sum(killed.read(0, key) is not None for key in ROWS)
    offset = killed.offset(0)
    assert found == (0 if offset is None else 1_000 if offset == 1 else offset + 100)
    killed.write(0, [(b"new", b"row")], 5_000)
    assert (killed.read(0, b"new"), killed.offset(0)) == (b"row", 5_000)
    assert (killed.reopen(1), killed.offset(1), len(list(killed.scan(1, b"s")))) == (None, 7, len(ROWS))


def test_a_copy_that_was_open_when_the_machine_ended_is_discarded(killed: StateStore) -> None:
    """Writes of the last minutes may be missing in its middle; a process that is killed leaves a whole copy."""
    assert killed.reopen(0) is None
    mark = killed.partition_path(0) / "open"
    killed.release(0)
    assert not mark.exists(), "closed, it has all in its tables"
    assert killed.reopen(0) is None
    left = mark.read_bytes()
    killed.release(0)
    for found in (left[:-2] + b"?\n", b""):
        mark.write_bytes(found)
        assert "the machine stopped" in str(killed.reopen(0))
        assert killed.offset(0) is None
        killed.write(0, ROWS.items(), 1)
        killed.release(0)


def test_an_earlier_log_of_writes_that_is_empty_is_a_hole(tmp_path: Path, store_in: MakeStore) -> None:
    """RocksDB would go on with the next log, as the control shows: at the newest offset, without rows between."""
    options = rocksdict.Options(raw_mode=True)
    options.set_write_buffer_size(1 << 20)
    options.set_max_write_buffer_number(10)
    options.set_min_write_buffer_number_to_merge(8)  # several logs at once, which a worker has for moments
    options.create_if_missing(True)  # noqa: FBT003
    store = store_in(tmp_path / "worker")
    path = store.partition_path(0)
    path.parent.mkdir(parents=True, exist_ok=True)
    database = rocksdict.Rdict(str(path), options=options)
    for number in range(40):
        for key in list(ROWS)[number * 50 : number * 50 + 50]:
            database.put(key, os.urandom(2_000))
        database.put(StateStore.offset_key, b"%d" % number)
    control = tmp_path / "control"
    shutil.copytree(path, control)
    shutil.copytree(path, tmp_path / "left")
    database.close()
    shutil.rmtree(path)
    (tmp_path / "left").rename(path)
    for folder in (control, path):
        first, *more = sorted(folder.glob("*.log"))
        assert more
        os.truncate(first, 0)
    opened = rocksdict.Rdict(str(control), options=options)
    assert opened.get(StateStore.offset_key) == b"39"
    assert opened.get(next(iter(ROWS))) is None
    assert "log of writes is empty" in str(store.reopen(0))
    assert store.offset(0) is None


@pytest.mark.parametrize("ask", ["read", "scan", "both"])
def test_damage_found_while_it_is_read(store: StateStore, ask: str) -> None:
    """No key passes for absent, no scan ends early, and nothing else is answered until the copy is reopened."""
    middle_flipped(next(store.partition_path(0).glob("*.sst")))

    def asked() -> None:
        if ask != "scan":
            assert all(store.read(0, key) == value for key, value in ROWS.items())
        assert sum(1 for _ in store.scan(0, b"s")) == len(ROWS)

    with pytest.raises(DamagedCopyError, match="checksum mismatch") as found:
        asked()
    assert found.value.cause == "corrupt"
    more: list[Callable[[], object]] = [asked, lambda: store.write(0, [(b"a", b"b")], 9), lambda: store.offset(0)]
    for again in more:
        with pytest.raises(DamagedCopyError):
            again()
    assert str(store.reopen(0)) == str(found.value)
    assert store.offset(0) is None
    assert len(list(store.scan(1, b"s"))) == len(ROWS), "the other partition has its own"


def test_damage_found_while_it_is_written(store: StateStore) -> None:
    """A vanished folder is noticed when rows are flushed from memory; the copy is made again."""
    shutil.rmtree(store.partition_path(0))
    with pytest.raises(DamagedCopyError) as found:
        store._asked(0, lambda database: database.flush())  # noqa: SLF001 (RocksDB does it by itself after megabytes)
    assert found.value.cause == "unreadable"
    assert store.reopen(0) is not None
    store.write(0, ROWS.items(), 3)
    assert store.offset(0) == 3


@contextmanager
def limited(which: int, most: int) -> Iterator[None]:
    """Lower a limit of this process inside the block."""
    before = resource.getrlimit(which)
    resource.setrlimit(which, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(which, before)


def test_a_full_disk_is_named(store: StateStore) -> None:
    """The write fails completely; once there is space again, the copy is as it was before."""
    written = [1_900]

    def fill() -> None:
        while True:
            store.write(0, ((key, os.urandom(900)) for key in list(ROWS)[:100]), written[-1] + 1)
            written.append(written[-1] + 1)

    with limited(resource.RLIMIT_FSIZE, 1_000_000), pytest.raises(LocalStateError) as found:
        fill()
    assert found.value.reason == "disk-full"
    assert "File too large" in found.value.found
    assert "bytes free" in found.value.found
    assert not found.value.passing
    assert store.reopen(0) is None
    assert len(written) > 1
    assert store.offset(0) == written[-1]
    assert len(list(store.scan(0, b"s"))) == len(ROWS)


def test_too_many_open_files_are_named(killed: StateStore) -> None:
    """The shortage may pass, so opening is tried again; nothing is discarded because of it."""
    killed.offset(1)
    assert files_exhausted() is None
    # No descriptor lies below 0. Below the first free one, any that is closed meanwhile would make room again.
    with limited(resource.RLIMIT_NOFILE, 0):
        with pytest.raises(LocalStateError) as found:
            killed.reopen(0)
        assert files_exhausted() is not None
    assert (found.value.reason, found.value.passing) == ("file-limit", True)
    assert killed.reopen(0) is None
    assert len(list(killed.scan(0, b"s"))) == len(ROWS)


def test_a_copy_that_another_process_holds_is_not_discarded(
    store: StateStore, tmp_path: Path, store_in: MakeStore
) -> None:
    """With two stores over one folder, the second is told about the lock, and the first loses nothing."""
    second = store_in(tmp_path)
    with pytest.raises(LocalStateError) as found:
        second.reopen(0)
    assert (found.value.reason, found.value.passing) == ("local-state", True)
    assert len(list(store.scan(0, b"s"))) == len(ROWS)


@pytest.mark.parametrize("kind", ["a folder that is no folder", "a mount that cannot be removed"])
def test_a_copy_that_cannot_be_removed_is_named(killed: StateStore, kind: str) -> None:
    """The path and the reason are named; nothing of the partition is answered."""
    undo: Callable[[], None] = {
        "a folder that is no folder": _file_for_folder,
        "a mount that cannot be removed": _immovable,
    }[kind](killed.partition_path(0))
    try:
        with pytest.raises(LocalStateError, match=r"state-0\.db") as found:
            killed.reopen(0)
    finally:
        undo()
    assert found.value.reason == "local-state"


def _file_for_folder(path: Path) -> Callable[[], None]:
    """Put a file in place of the folder of all copies."""
    shutil.rmtree(path.parent)
    path.parent.write_text("")
    return lambda: None


def _immovable(path: Path) -> Callable[[], None]:
    """Damage a copy whose folder only root could change; keeping root itself out takes a mount."""
    damage_copy(path, "CURRENT emptied")
    if os.geteuid() != 0:
        path.chmod(0o500)
        return lambda: path.chmod(0o700)
    if os.system(f"mount --bind {path} {path} 2>/dev/null") != 0:  # noqa: S605
        pytest.skip("root that may not mount: nothing keeps it from removing a folder")

    def unmount() -> None:
        os.system(f"umount {path}")  # noqa: S605

    return unmount
