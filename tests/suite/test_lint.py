"""Style, types, layers and docstrings, beside the other tests: `make lint` as one of them."""

import subprocess

import pytest

from tests.deploy import ROOT


@pytest.mark.slow
def test_lint() -> None:
    """All that `make lint` checks holds; the environment is taken as it is."""
    command = ["make", "--no-print-directory", "--assume-old=.venv/.installed-test", "lint"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
