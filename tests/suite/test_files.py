"""The sizes of files and folders that CONTRIBUTING.md names: who looks for something reads little."""

from pathlib import Path

import pytest

from tests.deploy import ROOT

MOST_LINES, MOST_FILES = 300, 18


@pytest.mark.parametrize("room", ["stream_app", "benchmarks", "tests"])
def test_files_and_folders_stay_small(room: str) -> None:
    """A file has 300 lines at most, a folder 18 files of Python."""
    files: dict[Path, list[Path]] = {}
    for file in (ROOT / room).rglob("*.py"):
        files.setdefault(file.parent, []).append(file)
    assert {str(folder): len(found) for folder, found in files.items() if len(found) > MOST_FILES} == {}
    long = {str(file): text.count("\n") for found in files.values() for file in found if (text := file.read_text())}
    assert {name: lines for name, lines in long.items() if lines > MOST_LINES} == {}
