"""An auditor who has only the ledger, the heads and the public key, in an otherwise empty folder."""

import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.audit.heads.signed import Signer, tell_story

ARGUMENTS = ("--ledger", "ledger.jsonl", "--heads", "heads.jsonl", "--public-key", "signer.pem")
UNNEEDED = (
    "aiokafka",
    "faust",
    "numpy",
    "pydantic",
    "matplotlib",
    "rich",
    "stream_app.setup.settings",
    "stream_app.privacy",
)
PROBE = """
import sys
from stream_app.cli import main
code = main(["audit", *sys.argv[1:]])
print("loaded:", *sorted(sys.modules), file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that holds these three files and nothing else."""
    story, signer = tell_story(), Signer()
    (tmp_path / "ledger.jsonl").write_bytes(b"".join(line + b"\n" for line in story.ledger()))
    (tmp_path / "heads.jsonl").write_bytes(b"".join(line + b"\n" for line in story.sign(signer)))
    key = signer.private.public_key()
    (tmp_path / "signer.pem").write_bytes(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return tmp_path


def audit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a program that sees only the folder; a configuration in its environment would stop it."""
    settings = {"LANDMARK_STREAM_BOOTSTRAP_SERVERS": "127.0.0.1:1", "LANDMARK_STREAM_NO_SUCH_FIELD": "1"}
    command = [sys.executable, "-c", PROBE, *arguments]
    environment = {**settings, "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_three_files_are_enough(folder: Path) -> None:
    """The verdict needs no broker, noise key or configuration: none of their code is even loaded."""
    done = audit(folder, *ARGUMENTS)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "HOLDS: no findings"), done.stderr
    loaded = set(done.stderr.rpartition("loaded:")[2].split())
    assert not {name for name in loaded if name.startswith(UNNEEDED)}
    assert sorted(path.name for path in folder.iterdir()) == ["heads.jsonl", "ledger.jsonl", "signer.pem"]


def test_a_cut_ledger_shows(folder: Path) -> None:
    """The same three files show that something signed is missing."""
    ledger = folder / "ledger.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-20]))
    done = audit(folder, *ARGUMENTS)
    assert done.returncode == 1
    assert "signed-missing" in done.stdout


def test_a_configuration_counts_once_it_is_named(folder: Path) -> None:
    """Its faults are reported only then; a configuration that is merely present is not read."""
    (folder / "landmark-stream.toml").write_text("nonsense = 1\n")
    assert audit(folder, *ARGUMENTS).returncode == 0
    done = audit(folder, *ARGUMENTS, "--config", "landmark-stream.toml")
    assert done.returncode == 2
    assert "nonsense" in done.stderr
