"""Threads of a command: importing numpy starts none for linear algebra."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.mistakes.mistake import policy

STATUS = Path("/proc/self/status")
ASKED = f"""
import sys
from pathlib import Path
from stream_app.cli import main
assert main(["check", sys.argv[1]]) == 0
assert "numpy" in sys.modules
print([line.split()[1] for line in Path("{STATUS}").read_text().splitlines() if line.startswith("Threads:")])
"""


@pytest.mark.skipif(not STATUS.exists(), reason="only Linux lists a process's threads here")
def test_a_command_has_one_thread(tmp_path: Path) -> None:
    """With one thread for each core, the import of numpy would take twice as long."""
    file = tmp_path / "policies.jsonl"
    file.write_text(policy())
    found = subprocess.run(
        [sys.executable, "-c", ASKED, str(file)],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.splitlines()[-1] == "['1']"
