"""The audit is a second implementation: it shares no arithmetic with what writes the ledger."""

import ast
from pathlib import Path

import stream_app.audit

ROOM = Path(stream_app.audit.__file__).parent
SHARED = (
    "stream_app.audit",
    "stream_app.files",
    "stream_app.pictures",
    "stream_app.words",
    "stream_app.calendar.words",
)
"""Their contents decide nothing: picture styles, opening of files, words for amounts, times and promises."""


def imports(path: Path) -> set[str]:
    """Return the modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            whole = node.module == "stream_app"
            found |= {f"stream_app.{alias.name}" for alias in node.names} if whole else {node.module or ""}
    return found


def test_no_file_imports_what_it_checks() -> None:
    """Of the program, only the audit's files, canvas and plain words are imported; one file alone knows JSON."""
    files = sorted(ROOM.rglob("*.py"))
    assert len(files) > 40
    for path in files:
        own = {module for module in imports(path) if module.startswith("stream_app")}
        assert all(module.startswith(SHARED) for module in own), path.name
    assert [path.name for path in files if {"orjson", "json"} & imports(path)] == ["reader.py"]
