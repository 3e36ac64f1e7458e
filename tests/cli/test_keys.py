"""``keys``: make, show and erase, without ever showing a secret."""

import json
import stat
from io import StringIO
from pathlib import Path

import pytest

from stream_app import keyfile
from stream_app.cli import main
from stream_app.signing import SigningKey

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


def test_erase_goes_on_only_when_told_that_all_is_settled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --settled it asks, and no answer or a no erases nothing."""
    path = tmp_path / "key"
    keyfile.create(path)
    before = path.read_bytes()
    words = ["keys", "erase", str(path), "--before", "5", "--epoch-ms", DAY]
    for answer in ("n\n", "\n"):
        monkeypatch.setattr("sys.stdin", StringIO(answer))
        assert main(words) == 2
        assert "nothing erased" in capsys.readouterr().err
        assert path.read_bytes() == before
    assert main([*words, "--settled"]) == 0
    assert keyfile.load(path).first_epoch == 5
    assert main([*words[:4], "4", *words[5:], "--settled"]) == 2
    assert "erased already" in capsys.readouterr().err


def test_erase_without_a_terminal_does_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody can answer, as in a script, nothing is erased and the way is named."""
    path = tmp_path / "key"
    keyfile.create(path)
    before = path.read_bytes()
    monkeypatch.setattr("sys.stdin", StringIO(""))
    assert main(["keys", "erase", str(path), "--before", "5", "--epoch-ms", DAY]) == 2
    assert "--settled" in capsys.readouterr().err
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
