"""Style, types, layers, docstrings and spelling, beside the other tests: the parts of `make lint`."""

import re
import subprocess
from typing import Final

import pytest

from tests.deploy import ROOT

PARTS: Final = re.findall(r"^lint: (.+?)  ##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[0].split()
TYPED: Final = (
    "stream_app/privacy stream_app/audit stream_app/calendar",
    "stream_app landmark_stream",
    "benchmarks examples",
)
"""The modules type-checked first: `types` uses mypy's cache of the answer, and no test takes long."""


@pytest.mark.slow
@pytest.mark.parametrize("part", [*(f"types TYPED={folders}" for folders in TYPED), *PARTS])
def test_lint(part: str) -> None:
    """Everything that `make lint` checks holds; the environment is used as it is."""
    command = ["make", "--no-print-directory", "--assume-old=.venv/.installed-test", *part.split(maxsplit=1)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
