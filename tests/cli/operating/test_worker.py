"""``worker``: conditions that prevent its start."""

import subprocess
import sys
from pathlib import Path

import pytest

from stream_app.cli.operating.worker import claimed
from stream_app.setup import keyfile


def test_brokers_that_do_not_answer_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with other commands, the code is 2, and the only line has setting and remedy; there is no traceback."""
    monkeypatch.setenv("LANDMARK_STREAM_BOOTSTRAP_SERVERS", "127.0.0.1:1")  # nothing listens there
    keyfile.create(tmp_path / "landmark.key")
    command = [sys.executable, "-m", "stream_app", "worker"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    (only,) = done.stderr.splitlines()
    assert only.startswith("landmark-stream worker: brokers at 127.0.0.1:1 (bootstrap_servers)")
    assert "kafka start" in only


def test_a_data_folder_has_one_worker(tmp_path: Path) -> None:
    """A second worker in a running worker's folder exits with 2 and is told what it needs for itself."""
    keyfile.create(tmp_path / "landmark.key")
    command = [sys.executable, "-m", "stream_app", "worker"]
    with claimed(tmp_path / "landmark-data"):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("landmark-stream worker: data_folder landmark-data: is in use by another worker; ")
    assert "http_port = 0" in done.stderr
    with claimed(tmp_path / "landmark-data"):
        """Whoever had it gave it free."""
