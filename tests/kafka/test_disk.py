"""Data on a disk is found wherever it is, even between holes, and a broker may delete files meanwhile."""

from pathlib import Path

from tests.kafka.seized import disk_of

MEGABYTE = 2**20


def test_everything_but_holes(tmp_path: Path) -> None:
    """Nested folders, an empty file, and data after ten megabytes of holes are covered; holes are not read."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "plain").write_bytes(b"plain")
    (tmp_path / "a" / "empty").touch()
    with (tmp_path / "sparse").open("wb") as sparse:
        sparse.write(b"first")
        sparse.seek(10 * MEGABYTE)
        sparse.write(b"second")
        sparse.truncate(20 * MEGABYTE)
    *plain, held = sorted(disk_of(tmp_path), key=len)
    assert plain == [b"", b"plain"]
    assert held.startswith(b"first")
    assert b"second" in held
    assert len(held) < MEGABYTE


def test_what_is_deleted_meanwhile_is_passed_over(tmp_path: Path) -> None:
    """The remaining files are read all the same."""
    for name in "abc":
        (tmp_path / name).write_text(name)
    reading = disk_of(tmp_path)
    first = next(reading).decode()
    gone, left = sorted({"a", "b", "c"} - {first})
    (tmp_path / gone).unlink()
    assert [content.decode() for content in reading] == [left]
