"""Runs the experiments' command in this process."""

import pytest

from experiments.__main__ import main
from tests.command import Cli


@pytest.fixture(name="cli")
def made_cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Return a function that runs the experiments with given arguments."""
    return Cli(capsys, main)
