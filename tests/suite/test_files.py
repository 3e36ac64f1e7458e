"""The sizes of files and folders that CONTRIBUTING.md names, and the order of its imports."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from stream_app.cli import COMMANDS
from tests.deploy import ROOT

MOST_LINES, MOST_FILES = 300, 18


@pytest.mark.parametrize("room", ["stream_app", "landmark_stream", "benchmarks", "tests"])
def test_files_and_folders_stay_small(room: str) -> None:
    """A file has at most 300 lines, and a folder at most 18 Python files."""
    files: dict[Path, list[Path]] = {}
    for file in (ROOT / room).rglob("*.py"):
        files.setdefault(file.parent, []).append(file)
    assert {str(folder): len(found) for folder, found in files.items() if len(found) > MOST_FILES} == {}
    long = {str(file): text.count("\n") for found in files.values() for file in found if (text := file.read_text())}
    assert {name: lines for name, lines in long.items() if lines > MOST_LINES} == {}


def test_no_file_imports_itself_through_others() -> None:
    """Files do not import each other in a circle; imports within functions and only for types count too."""
    TopologicalSorter(_imports()).prepare()  # it names the files of a circle


def test_every_file_is_used_by_the_program() -> None:
    """Files that only tests or benchmarks import are kept with them, and not in the wheel."""
    imports = _imports()
    commands = (f"stream_app.cli.{command.room}.{name}" for name, command in COMMANDS.items())
    seen, ahead = set[str](), {"stream_app.__main__", "stream_app.api", *commands}
    while ahead:
        seen |= ahead
        ahead = {found for name in ahead for found in imports[name]} - seen
    assert {name for name in imports.keys() - seen if not ROOT.joinpath(*name.split(".")).is_dir()} == set()


def _imports() -> dict[str, set[str]]:
    """Return the files of the package that each of them imports, by their modules' names."""
    files = {_module(file): file for file in (ROOT / "stream_app").rglob("*.py")}
    return {name: {found for found in _imported(file) if found in files} - {name} for name, file in files.items()}


def _module(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _imported(file: Path) -> Iterator[str]:
    """Yield the names of a file's imports that may be modules; a package counts if a name is its own."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if _is_module(inner) else node.module


def _is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()
