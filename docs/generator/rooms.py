"""The page about modules: every folder and file with its first sentence, and the layers that are checked."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

from docs.generator.markdown import code, pages_top, table
from tests.deploy import ROOT

PACKAGE, NAME = ROOT / "stream_app", ROOT / "landmark_stream"
TOP = """\
A folder is a room and tells one story: the sentence under its name. A room imports from those in a lower row of this
table, never from a higher one nor from its neighbours in the row (`make lint` checks it):

"""


def page() -> str:
    """Return the page: the layers, then a table of files for each folder, from the top layer down."""
    layers = _layers()
    rows = [(" ".join(code(_written(name)) for name in layer),) for layer in layers]
    order = [NAME, PACKAGE, *(PACKAGE / name for layer in layers for name in layer)]
    found = "".join(_room(folder) for first in order for folder in _folders(first))
    top = pages_top("Rooms", "the first sentence of each file of both packages")
    return top + TOP + table(("rooms",), rows) + found


def _layers() -> list[list[str]]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract.get("containers") == ["stream_app"])
    return [[name.strip() for name in layer.replace(":", "|").split("|")] for layer in layers]


def _written(name: str) -> str:
    return f"{name}/" if (PACKAGE / name).is_dir() else f"{name}.py"


def _folders(top: Path) -> Iterator[Path]:
    if top == PACKAGE or (top / "__init__.py").exists():
        yield top
    if top != PACKAGE:
        yield from sorted(init.parent for init in top.glob("*/**/__init__.py"))


def _room(folder: Path) -> str:
    files = [file for file in sorted(folder.glob("*.py")) if file.stem != "__init__"]
    rows = [(code(file.name), _summary(file)) for file in files]
    said = _summary(folder / "__init__.py")
    listed = "\n" + table(("file", "what stands in it"), rows) if rows else ""
    return f"\n## {folder.relative_to(ROOT)}/\n\n{said}\n{listed}"


def _summary(file: Path) -> str:
    """Return the first paragraph of a file's docstring, which is a sentence or two."""
    said = ast.get_docstring(ast.parse(file.read_text())) or ""
    return " ".join(said.split("\n\n")[0].split())
