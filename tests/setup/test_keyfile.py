"""Key files: private, never overwritten, and one-way."""

import json
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from stream_app.deciding.context import Context
from stream_app.deciding.outcome import RejectedRecord
from stream_app.deciding.rebuild import rebuild
from stream_app.heads.signing import SigningKey
from stream_app.privacy.noise.key import KeyRing
from stream_app.setup import keyfile
from tests.run import Run, observation, policy

DAY_MS = 86_400_000
OBSERVED = """
import resource, sys
from stream_app.cli import main
_, hard = resource.getrlimit(resource.RLIMIT_CORE)
resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
code = main(sys.argv[1:])
print(f"ended with {code}, dumps up to {resource.getrlimit(resource.RLIMIT_CORE)[0]} bytes")
"""


def erase_before(path: Path, epoch: int) -> KeyRing:
    """Erase in a key file that nobody is using."""
    with keyfile.claimed(path, DAY_MS) as key:
        return key.erase_before(epoch)


def test_a_new_key_is_private_and_is_never_overwritten(tmp_path: Path) -> None:
    """The mode is 0600, and a second `create` leaves the first key unchanged."""
    path = tmp_path / "key"
    ring = keyfile.create(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(keyfile.KeyFileError, match="already exists"):
        keyfile.create(path)
    assert keyfile.load(path) == ring
    assert ring.secret.hex() not in repr(ring)


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    """The error names the mode and the remedy, but no secret."""
    path = tmp_path / "key"
    ring = keyfile.create(path)
    path.chmod(0o640)
    with pytest.raises(keyfile.KeyFileError, match="0640") as refused:
        keyfile.load(path)
    assert ring.secret.hex() not in str(refused.value)


@pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_CORE)[1] == 0, reason="whoever started the tests forbade core dumps for good"
)
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("replay events.jsonl --out fresh", 0),  # makes a key
        ("replay events.jsonl --out out --key noise.key", 0),
        ("keys list signing.key", 0),
        ("worker", 2),  # reads its key, then finds no broker
    ],
)
def test_whoever_has_a_key_leaves_no_core_dump(tmp_path: Path, words: str, code: int) -> None:
    """A process that was allowed dumps of any size has forbidden them when the command ends."""
    keyfile.create(tmp_path / "noise.key")
    SigningKey.create(tmp_path / "signing.key")
    (tmp_path / "landmark-stream.toml").write_text('bootstrap_servers = "127.0.0.1:1"\nkey_file = "noise.key"\n')
    (tmp_path / "events.jsonl").write_text("")
    command = [sys.executable, "-c", OBSERVED, *words.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == [f"ended with {code}, dumps up to 0 bytes"], done.stderr


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"format":1,"fingerprint":"00","epoch":0,"secret":"00"}'])
def test_what_is_no_key_is_refused(tmp_path: Path, content: bytes) -> None:
    """Everything except a complete key in the known format is refused."""
    path = tmp_path / "key"
    path.touch(mode=0o600)
    path.write_bytes(content)
    with pytest.raises(keyfile.KeyFileError, match="not a key file"):
        keyfile.load(path)


def test_erasing_goes_one_way(tmp_path: Path) -> None:
    """Later epochs keep their keys, earlier ones are gone, and the old secret is no longer in the folder."""
    path = tmp_path / "key"
    before = keyfile.create(path)
    later = keyfile.load(path, DAY_MS).secret_of(9)
    erased = erase_before(path, 7)
    assert erased.fingerprint == before.fingerprint
    assert (erased.secret_of(6), erased.secret_of(9)) == (None, later)
    assert keyfile.load(path, DAY_MS) == erased
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not [file for file in tmp_path.iterdir() if before.secret.hex().encode() in file.read_bytes()]
    with pytest.raises(keyfile.KeyFileError, match="already erased"):
        erase_before(path, 3)


def test_noise_of_later_epochs_is_unchanged_by_erasing(tmp_path: Path) -> None:
    """After erasure, events of kept epochs decide to the same bytes, and those of erased epochs are rejected."""
    path = tmp_path / "key"
    keyfile.create(path)
    log = [policy("a", protection={"level": "landmark", "step": 1000})]
    log += [observation("a", day * DAY_MS + 5000, 3.3) for day in range(3, 15)]
    before = Run(Context(keyfile.load(path, DAY_MS))).feed_all(log)
    erase_before(path, 9)
    after = Run(Context(keyfile.load(path, DAY_MS)))
    outcomes = [after.feed(record) for record in log]
    reasons = [outcome.reason for outcome in outcomes if isinstance(outcome, RejectedRecord)]
    assert reasons == ["key-erased"] * 6
    again = Run(Context(keyfile.load(path, DAY_MS)))
    again.rows = rebuild(before.context, before.ledger[:7], before.releases)
    again.feed_all(log[7:])
    assert again.releases == before.releases[6:]
    assert again.ledger == before.ledger[7:]
    assert {json.loads(entry)["epoch"] for entry in again.ledger} == set(range(9, 15))
    assert {json.loads(entry)["key"] for entry in again.ledger} == {before.context.keys.fingerprint}


def test_erasing_destroys_the_old_file_too(tmp_path: Path) -> None:
    """A second name of the old file, such as a backup by link, contains zeros afterwards."""
    path, link = tmp_path / "key", tmp_path / "link"
    keyfile.create(path)
    link.hardlink_to(path)
    erase_before(path, 1)
    assert set(link.read_bytes()) == {0}
    assert not (tmp_path / "key.new").exists()


def test_a_link_leads_to_the_file_that_is_erased(tmp_path: Path) -> None:
    """The link stays, and its target contains the kept key, not zeros: others may name the target directly."""
    path, folder = tmp_path / "real" / "key", tmp_path / "links"
    path.parent.mkdir()
    folder.mkdir()
    keyfile.create(path)
    (folder / "first").symlink_to(path)
    (folder / "second").symlink_to("first")
    with keyfile.held(folder / "first"), pytest.raises(keyfile.KeyFileError, match="stop the worker first"):
        erase_before(folder / "second", 4)
    erased = erase_before(folder / "second", 4)
    assert erased.first_epoch == 4
    assert (folder / "second").is_symlink()
    assert (folder / "first").is_symlink()
    assert not path.is_symlink()
    assert keyfile.load(path, DAY_MS) == keyfile.load(folder / "second", DAY_MS) == erased
    (folder / "loop").symlink_to("loop")
    (folder / "nowhere").symlink_to("gone")
    for name in ("loop", "nowhere"):
        with (
            pytest.raises(keyfile.KeyFileError, match=r"there is no such file|it cannot be read"),
            keyfile.held(folder / name),
        ):
            pass


def test_a_folder_that_cannot_be_written_keeps_the_key(tmp_path: Path) -> None:
    """Nothing is half erased, and the error says what to do."""
    path = tmp_path / "key"
    before = keyfile.create(path)
    (tmp_path / "key.new").mkdir()  # in the way of everybody, whatever they may write
    with pytest.raises(keyfile.KeyFileError, match="folder writable"):
        erase_before(path, 2)
    assert keyfile.load(path) == before


def test_an_interrupted_erasure_is_taken_up_again(tmp_path: Path) -> None:
    """A file left behind by a crash before the replacement does no harm."""
    path = tmp_path / "key"
    ring = keyfile.create(path)
    (tmp_path / "key.new").write_bytes(b"half a key")
    assert erase_before(path, 2).fingerprint == ring.fingerprint


def test_a_key_is_erased_only_while_nobody_holds_it(tmp_path: Path) -> None:
    """Workers share the key; erasing needs it exclusively, and holds off anyone who would start meanwhile."""
    path = tmp_path / "key"
    keyfile.create(path)
    with keyfile.held(path), keyfile.held(path):
        with pytest.raises(keyfile.KeyFileError, match="stop the worker first"), keyfile.claimed(path, DAY_MS):
            pass
        assert keyfile.load(path).first_epoch == 0
    with keyfile.claimed(path, DAY_MS) as key:
        with pytest.raises(keyfile.KeyFileError, match="being erased"), keyfile.held(path):
            pass
        key.erase_before(3)
        with (
            keyfile.held(path),
            pytest.raises(keyfile.KeyFileError, match="stop the worker first"),
            keyfile.claimed(path, DAY_MS),
        ):
            pass
    with keyfile.claimed(path, DAY_MS) as key:
        assert key.ring.first_epoch == 3


def test_a_look_is_free_beside_workers(tmp_path: Path) -> None:
    """It shares the file with them, reports what an erasure would leave, and meanwhile holds one off."""
    path = tmp_path / "key"
    ring = keyfile.create(path)
    with keyfile.held(path), keyfile.looked_at(path, DAY_MS) as key:
        assert key.ring.secret == key.without(0).secret == ring.secret
        assert key.without(3).first_epoch == 3
    with keyfile.looked_at(path, DAY_MS), pytest.raises(keyfile.KeyFileError, match="stop the worker first"):
        erase_before(path, 3)
    with (
        keyfile.claimed(path, DAY_MS),
        pytest.raises(keyfile.KeyFileError, match="being erased"),
        keyfile.looked_at(path, DAY_MS),
    ):
        pass
    erase_before(path, 3)
    with keyfile.looked_at(path, DAY_MS) as key, pytest.raises(keyfile.KeyFileError, match="already erased"):
        key.without(2)


def test_keys_differ_and_load_with_their_epochs(tmp_path: Path) -> None:
    """Two new keys have neither secret nor name in common; epochs shorter than a day are refused."""
    one, other = keyfile.create(tmp_path / "one"), keyfile.create(tmp_path / "other")
    assert one.secret != other.secret
    assert one.fingerprint != other.fingerprint
    assert len(one.fingerprint) == 16
    assert keyfile.load(tmp_path / "one", DAY_MS).epoch_of(DAY_MS) == 1
    with pytest.raises(keyfile.KeyFileError, match="a day"):
        keyfile.load(tmp_path / "one", DAY_MS - 1)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    """A key that is missing or cannot be written is an error with its path and the remedy."""
    with pytest.raises(keyfile.KeyFileError, match="keys new"):
        keyfile.load(tmp_path / "none")
    with pytest.raises(keyfile.KeyFileError, match="writable folder"):
        keyfile.create(tmp_path / "none" / "key")
