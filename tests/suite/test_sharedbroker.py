"""A run of several processes has one broker, which ends with the run however the run ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stream_app.processes import Process
from tests.deploy import ROOT

pytestmark = pytest.mark.broker  # which its inner run starts

SUITE = """
import os, signal, time
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range(4))
def test_asks(broker, worker_id, number):
    assert broker.answers()
    Path(f"seen-{number}").write_text(f"{worker_id} {broker.pid} {broker.folder}")
    if number == 3 and Path("end").exists():
        os.kill(os.getppid(), signal.SIGTERM)
        time.sleep(600)
"""


def outside() -> dict[str, str]:
    """Return the environment without what this run of pytest put there."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}  # noqa: TID251


@pytest.mark.parametrize("ended", [False, True])
def test_one_broker_a_run(tmp_path: Path, *, ended: bool) -> None:
    """Two processes see the same broker; when pytest has ended, or was ended, it and its folder are gone."""
    (tmp_path / "test_suite.py").write_text(SUITE)
    if ended:
        (tmp_path / "end").touch()
    words = "-p tests.conftest -p no:cacheprovider -c /dev/null --numprocesses 2 --rootdir . test_suite.py"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *words.split()],
        cwd=tmp_path,
        env=outside() | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == (2 if ended else 0), run.stdout + run.stderr
    seen = [file.read_text().split() for file in tmp_path.glob("seen-*")]
    assert ended or len({worker for worker, _, _ in seen}) == 2
    ((pid, folder),) = {(pid, folder) for _, pid, folder in seen}
    assert Process.of(int(pid)) is None
    assert not Path(folder).parent.exists()
