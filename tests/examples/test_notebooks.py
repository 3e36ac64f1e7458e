"""The notebooks run from top to bottom, twice in one folder, and reproduce their committed outputs."""

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.deploy import ROOT

READ: Any = nbformat.read  # it has no types
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def runs(path: Path, folder: Path) -> Generator[Any, None, None]:
    """Run a notebook in a folder as often as requested, in one kernel; yield it without its committed outputs.

    Raises if a cell does.
    """
    notebook = READ(path, as_version=4)
    where = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources=where)
    with client.setup_kernel():
        while True:
            for index, cell in enumerate(notebook.cells):
                if cell.cell_type == "code":
                    cell.outputs = []
                client.execute_cell(cell, index)
            yield notebook


def kinds(notebook: Any) -> list[list[set[str]]]:
    """Return the kinds of outputs of each cell: tables, pictures, text."""
    return [
        [set(output.get("data", {output.output_type: 0})) for output in cell.get("outputs", [])]
        for cell in notebook.cells
    ]


def test_there_are_some() -> None:
    """One notebook is on energy, one on blood sugar."""
    assert [path.stem for path in NOTEBOOKS] == ["energy", "glucose"]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_run(path: Path, tmp_path: Path) -> None:
    """Every cell succeeds; a second run finds the first one's folders and does not change a byte in them."""
    committed = READ(path, as_version=4)
    nbformat.validate(committed)
    run = runs(path, tmp_path)
    assert kinds(next(run)) == kinds(committed)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.jsonl")}
    assert kinds(next(run)) == kinds(committed)
    run.close()
    assert before == {file: file.read_bytes() for file in tmp_path.rglob("*.jsonl")}
    assert len(before) >= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_committed(path: Path) -> None:
    """Anyone who only looks sees the verdict and pictures; no private folder and no error is in them."""
    committed = READ(path, as_version=4)
    text = path.read_text()
    assert "HOLDS: no findings" in text
    assert text.count('"image/png"') >= 1
    assert not any(output.output_type == "error" for cell in committed.cells for output in cell.get("outputs", []))
    assert "Traceback" not in text
    assert "/tmp" not in text  # noqa: S108 - where a run was
    assert len(text) < 400_000


def test_each_has_folders_of_its_own() -> None:
    """Notebooks run side by side do not find each other's ledgers, and git ignores what they write."""
    named = [set(re.findall(r'\bout=f?\\"([a-z-]+)', path.read_text())) for path in NOTEBOOKS]
    assert all(named)
    assert not set.intersection(*named)
    assert "examples/notebooks/*/" in (ROOT / ".gitignore").read_text().splitlines()
