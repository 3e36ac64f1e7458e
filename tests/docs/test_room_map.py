"""The architecture page knows every room, and no room that is gone."""

import re
import tomllib

from tests.deploy import ROOT

PACKAGE = ROOT / "stream_app"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
ROOMS = PAGE.partition("## Room map")[2].partition("```\n")[2].partition("```")[0]
LAYERS = PAGE.partition("## Layers")[2].partition("```mermaid\n")[2].partition("```")[0]
"""What the diagram of the layers says."""


def _named(ending: str, text: str) -> set[str]:
    return set(re.findall(rf"([a-z_]+){re.escape(ending)}(?![a-z_])", text))


def test_every_package_is_in_the_map() -> None:
    """A folder of modules that was added stands in the map."""
    packages = {path.parent.name for path in PACKAGE.rglob("__init__.py")} | {"schemas", "deploy", "docs", "tests"}
    assert packages - _named("/", ROOMS) == set()


def test_every_module_at_the_top_is_in_the_map() -> None:
    """So does a module beside the packages, by its file's name."""
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert modules - _named(".py", ROOMS) == set()


def test_nothing_in_the_map_is_gone() -> None:
    """What the page names is there: files in the map, folders, and files with their folder in the text."""
    files = {path.stem for path in PACKAGE.rglob("*.py")}
    folders = {path.name for path in [*ROOT.iterdir(), *ROOT.glob("docs/*"), *PACKAGE.rglob("*")] if path.is_dir()}
    assert _named(".py", ROOMS) - files == set()
    assert _named("/", ROOMS) - folders == set()
    paths = re.findall(r"(?:kafka|privacy)/[a-z_]+\.py", PAGE)
    assert [path for path in paths if not (PACKAGE / path).exists()] == []


def test_layers_are_those_that_are_checked() -> None:
    """The diagram has the layers of import-linter, from the top down."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    wanted = [set(re.findall(r"\w+", layer)) for layer in contract["layers"]]
    labels = dict(re.findall(r'(\w+)\["([^"]+)"\]', LAYERS))
    steps = re.findall(r"^\s*(\w+) --> (\w+)", LAYERS, re.MULTILINE)
    chain = [steps[0][0], *(below for _, below in steps)]
    assert [above for above, _ in steps] == chain[:-1]
    assert [set(re.findall(r"\w+", labels.get(name, name).replace("<br/>", " "))) for name in chain] == wanted
