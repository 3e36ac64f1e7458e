"""Key files: private, never overwritten, and one way."""

import stat
from pathlib import Path

import pytest

from stream_app import keyfile

DAY_MS = 86_400_000


def test_a_new_key_is_private_and_is_never_overwritten(tmp_path: Path) -> None:
    """Mode 0600, and a second `create` leaves the first key as it was."""
    path = tmp_path / "key"
    ring = keyfile.create(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(keyfile.KeyFileError, match="exists already"):
        keyfile.create(path)
    assert keyfile.load(path) == ring
    assert ring.secret.hex() not in repr(ring)


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    """The error names the mode and the remedy, and no secret."""
    path = tmp_path / "key"
    ring = keyfile.create(path)
    path.chmod(0o640)
    with pytest.raises(keyfile.KeyFileError, match="0640") as refused:
        keyfile.load(path)
    assert ring.secret.hex() not in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"format":1,"fingerprint":"00","epoch":0,"secret":"00"}'])
def test_what_is_no_key_is_refused(tmp_path: Path, content: bytes) -> None:
    """Anything but a whole key of the known format is refused."""
    path = tmp_path / "key"
    path.touch(mode=0o600)
    path.write_bytes(content)
    with pytest.raises(keyfile.KeyFileError, match="no key file"):
        keyfile.load(path)


def test_erasing_goes_one_way(tmp_path: Path) -> None:
    """Later epochs keep their keys, earlier ones are gone, and the old secret is not in the folder any more."""
    path = tmp_path / "key"
    before = keyfile.create(path)
    later = keyfile.load(path, DAY_MS).secret_of(9)
    erased = keyfile.erase_before(path, 7, DAY_MS)
    assert erased.fingerprint == before.fingerprint
    assert (erased.secret_of(6), erased.secret_of(9)) == (None, later)
    assert keyfile.load(path, DAY_MS) == erased
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not [file for file in tmp_path.iterdir() if before.secret.hex().encode() in file.read_bytes()]
    with pytest.raises(keyfile.KeyFileError, match="erased already"):
        keyfile.erase_before(path, 3, DAY_MS)
