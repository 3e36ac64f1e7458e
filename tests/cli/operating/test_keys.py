"""``keys``: make, show and erase, without ever showing a secret."""

import json
import stat
from pathlib import Path

import pytest

from stream_app.cli import main
from stream_app.heads.signing import SigningKey
from stream_app.setup import keyfile

DAY = "86400000"


def test_new_makes_a_private_file_and_refuses_to_overwrite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Mode 0600 whatever the umask; a second time is exit 2 and the key stays."""
    path = tmp_path / "key"
    assert main(["keys", "new", str(path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    ring = keyfile.load(path)
    assert shown == {"file": str(path), "fingerprint": ring.fingerprint, "first_epoch": 0}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    assert main(["keys", "new", str(path)]) == 2
    assert "overwriting" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_list_shows_names_and_epochs_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fingerprint and first epoch of each file, never the secret; an unreadable one is exit 2."""
    paths = [tmp_path / "one", tmp_path / "other"]
    rings = [keyfile.create(path) for path in paths]
    assert main(["keys", "list", *map(str, paths)]) == 0
    said = capsys.readouterr().out
    assert all(ring.fingerprint in said and ring.secret.hex() not in said for ring in rings)
    paths[0].chmod(0o644)
    assert main(["keys", "list", *map(str, paths)]) == 2
    assert "chmod 600" in capsys.readouterr().err


OFFLINE = ["--offline", "--epoch-ms", DAY]


def test_erase_offline_destroys_what_lies_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By epoch, by milliseconds, by a time, whose own epoch is kept; a key erased further already is exit 2."""
    path = tmp_path / "key"
    keyfile.create(path)
    erase = ["keys", "erase", str(path), *OFFLINE, "--json", "--before"]
    for before, epoch in (("5", 5), (f"{7 * int(DAY) + 1}", 7), ("1970-01-10T01:00+01:00", 9), ("9", 9)):
        assert main([*erase, before]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert (shown["before"], shown["first_epoch"], shown["erased"]) == (epoch, epoch, True)
        assert keyfile.load(path).first_epoch == epoch
    assert main([*erase, "8"]) == 2
    assert "erased already" in capsys.readouterr().err


def test_erase_tries_without_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--dry-run says what would be done."""
    path = tmp_path / "key"
    keyfile.create(path)
    before = path.read_bytes()
    assert main(["keys", "erase", str(path), "--before", "5", *OFFLINE, "--dry-run"]) == 0
    assert "nothing erased" in capsys.readouterr().out
    with keyfile.held(path), keyfile.held(path):
        assert main(["keys", "erase", str(path), "--before", "5", *OFFLINE, "--dry-run"]) == 0, "beside workers"
        assert "to erase, stop the workers" in capsys.readouterr().out
    assert path.read_bytes() == before
    assert main(["keys", "erase", str(path), "--before", "5", *OFFLINE]) == 0
    assert main(["keys", "erase", str(path), "--before", "4", *OFFLINE, "--dry-run"]) == 2, "as without it"


@pytest.mark.parametrize("words", [
    ["--before", "4000000000000000", *OFFLINE],  # the year 128,000
    ["--before", "2932896", *OFFLINE],  # the last epoch there is: all until then would be rejected
    ["--before", "-1", *OFFLINE],
    ["--before", "yesterday", *OFFLINE],
    ["--before", "2026-01-31T00:00", *OFFLINE],  # no offset
    ["--before", "5", "--offline"],  # no length of epochs
    ["--before", "5", "--epoch-ms", DAY],  # the configuration says it
    ["--before", "5"],  # one epoch for all time
])  # fmt: skip
def test_erase_refuses_what_makes_no_sense(
    tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time to come would reject everything until then; the key stays, the message names the member and the remedy."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "key"
    keyfile.create(path)
    before = path.read_bytes()
    assert main(["keys", "erase", str(path), *words]) == 2
    said = capsys.readouterr().err
    assert any(name in said for name in ("before", "epoch", "offset"))
    assert path.read_bytes() == before


def test_erase_leaves_the_key_of_a_running_worker_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It would go on with the erased keys."""
    path = tmp_path / "key"
    keyfile.create(path)
    before = path.read_bytes()
    with keyfile.held(path), keyfile.held(path):
        assert main(["keys", "erase", str(path), "--before", "5", *OFFLINE]) == 2
    assert "stop it first" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_signing_keys_are_made_listed_and_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As private as noise keys; `public` prints the public half alone, `list` tells the two sorts apart."""
    path, noise = tmp_path / "signing", tmp_path / "noise"
    assert main(["keys", "new", str(path), "--signing", "--json"]) == 0
    key = SigningKey.load(path)
    assert json.loads(capsys.readouterr().out) == {"file": str(path), "fingerprint": key.fingerprint, "signs": "heads"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert main(["keys", "new", str(path), "--signing"]) == 2
    assert main(["keys", "new", str(noise)]) == 0
    capsys.readouterr()
    assert main(["keys", "list", str(path), str(noise)]) == 0
    listed = capsys.readouterr().out
    assert f"{path}: signing key {key.fingerprint}" in listed
    assert f"{noise}: key {keyfile.load(noise).fingerprint}, first epoch 0" in listed
    assert main(["keys", "public", str(path)]) == 0
    public = capsys.readouterr().out
    assert public == key.public_pem()
    assert "PRIVATE" not in public
    assert main(["keys", "public", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["public"] == public
    assert main(["keys", "public", str(noise)]) == 2
    assert "--signing" in capsys.readouterr().err
