"""Prometheus and its promtool, as Debian's package has them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def program(name: str) -> str:
    """Return the path of a program of Debian's package ``prometheus``; in CI it must be there."""
    path = shutil.which(name)
    if path is None:
        lacking = f"{name} is missing: sudo apt-get install --yes prometheus"
        if os.environ.get("CI"):  # noqa: TID251 (CI says by it that nothing may be left out)
            pytest.fail(lacking)
        pytest.skip(lacking)
    return path


def promtool_failures(*words: str, folder: Path, stdin: bytes | None = None) -> str:
    """Run promtool; return what it objects to, and nothing where it objects to nothing."""
    command = [program("promtool"), *words]
    run = subprocess.run(command, input=stdin, cwd=folder, capture_output=True, check=False)
    return "" if run.returncode == 0 else (run.stdout + run.stderr).decode()
