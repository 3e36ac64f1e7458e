"""Commands that need the extra ``demo``: without it, the message has a command that works anywhere."""

import sys
from pathlib import Path

import pytest

from tests.command import Cli


@pytest.mark.parametrize("missing", ["bokeh_sampledata", "matplotlib"])
def test_what_is_missing_is_told_at_once(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """The exit code is 2, before anything is started or written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, missing, None)
    said = cli("demo", code=2).err
    assert said.endswith("pip install matplotlib bokeh_sampledata\n")
    assert "landmark-stream[" not in said
    assert list(tmp_path.iterdir()) == []
