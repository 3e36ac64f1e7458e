"""``keys``: create, show and erase keys, without ever showing a secret."""

import stat
from pathlib import Path

import pytest

from stream_app.cli import main
from stream_app.heads.signing import SigningKey
from stream_app.setup import keyfile
from tests.command import Cli

DAY = "86400000"


def test_new_makes_a_private_file_and_refuses_to_overwrite(tmp_path: Path, cli: Cli) -> None:
    """The mode is 0600 whatever the umask; a second attempt exits with 2 and keeps the key."""
    path = tmp_path / "key"
    shown = cli("keys", "new", path, "--json").document
    ring = keyfile.load(path)
    assert shown == {"file": str(path), "fingerprint": ring.fingerprint, "first_epoch": 0}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    assert "overwritten" in cli("keys", "new", path, code=2).err
    assert path.read_bytes() == before


def test_list_shows_names_and_epochs_only(tmp_path: Path, cli: Cli) -> None:
    """It shows each file's fingerprint and first epoch, never the secret; an unreadable file exits with 2."""
    paths = [tmp_path / "one", tmp_path / "other"]
    rings = [keyfile.create(path) for path in paths]
    said = cli("keys", "list", *paths).out
    assert all(ring.fingerprint in said and ring.secret.hex() not in said for ring in rings)
    paths[0].chmod(0o644)
    assert "chmod 600" in cli("keys", "list", *paths, code=2).err


OFFLINE = ["--offline", "--epoch-ms", DAY]


def test_erase_offline_destroys_what_lies_before(tmp_path: Path, cli: Cli) -> None:
    """An epoch, milliseconds or a time, whose epoch is kept, can be named; a key erased further exits with 2."""
    path = tmp_path / "key"
    keyfile.create(path)
    erase = ["keys", "erase", str(path), *OFFLINE, "--json", "--before"]
    for before, epoch in (("5", 5), (f"{7 * int(DAY) + 1}", 7), ("1970-01-10T01:00+01:00", 9), ("9", 9)):
        shown = cli(*erase, before).document
        assert (shown["before"], shown["first_epoch"], shown["erased"]) == (epoch, epoch, True)
        assert keyfile.load(path).first_epoch == epoch
    assert "already erased" in cli(*erase, "8", code=2).err


def test_erase_tries_without_a_trace(tmp_path: Path, cli: Cli) -> None:
    """--dry-run says what would be done."""
    path = tmp_path / "key"
    keyfile.create(path)
    before = path.read_bytes()
    assert "nothing erased" in cli("keys", "erase", path, "--before", "5", *OFFLINE, "--dry-run").out
    with keyfile.held(path), keyfile.held(path):
        assert "to erase, stop the workers" in cli("keys", "erase", path, "--before", "5", *OFFLINE, "--dry-run").out
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
    tmp_path: Path, words: list[str], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A future time would reject everything before it; the key stays, and the message has member and remedy."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "key"
    keyfile.create(path)
    before = path.read_bytes()
    said = cli("keys", "erase", path, *words, code=2).err
    assert any(name in said for name in ("before", "epoch", "offset"))
    assert path.read_bytes() == before


def test_erase_leaves_the_key_of_a_running_worker_alone(tmp_path: Path, cli: Cli) -> None:
    """The command refuses, because the worker would continue with the erased keys."""
    path = tmp_path / "key"
    keyfile.create(path)
    before = path.read_bytes()
    with keyfile.held(path), keyfile.held(path):
        assert main(["keys", "erase", str(path), "--before", "5", *OFFLINE]) == 2
    assert "stop the worker first" in cli.said().err
    assert path.read_bytes() == before


def test_signing_keys_are_made_listed_and_exported(tmp_path: Path, cli: Cli) -> None:
    """They are as private as noise keys; `public` prints only the public half, `list` distinguishes the kinds."""
    path, noise = tmp_path / "signing", tmp_path / "noise"
    assert main(["keys", "new", str(path), "--signing", "--json"]) == 0
    key = SigningKey.load(path)
    assert cli.said().document == {"file": str(path), "fingerprint": key.fingerprint, "signs": "heads"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert main(["keys", "new", str(path), "--signing"]) == 2
    cli("keys", "new", noise)
    listed = cli("keys", "list", path, noise).out
    assert f"{path}: signing key {key.fingerprint}" in listed
    assert f"{noise}: key {keyfile.load(noise).fingerprint}, first epoch 0" in listed
    public = cli("keys", "public", path).out
    assert public == key.public_pem()
    assert "PRIVATE" not in public
    assert cli("keys", "public", path, "--json").document["public"] == public
    assert "--signing" in cli("keys", "public", noise, code=2).err
