"""Prometheus and its promtool, as Debian's package has them."""

import subprocess
from pathlib import Path

from tests.programs import program


def promtool_failures(*words: str, folder: Path, stdin: bytes | None = None) -> str:
    """Run promtool; return what it objects to, and nothing where it objects to nothing."""
    command = [program("promtool"), *words]
    run = subprocess.run(command, input=stdin, cwd=folder, capture_output=True, check=False)
    return "" if run.returncode == 0 else (run.stdout + run.stderr).decode()
