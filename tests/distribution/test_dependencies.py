"""Every dependency has its reason in one table and is pinned, and the table names no other."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from typing import Any

import pytest

from tests.deploy import ROOT

NAME = re.compile(r"[A-Za-z0-9._-]+")
OURS = ("stream_app", "landmark_stream")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    """Return the project's table."""
    content: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return content


def plain(name: str) -> str:
    """Return a package's name in the form that registries compare (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[str]) -> list[str]:
    """Return the names of requirements."""
    found = [NAME.match(requirement) for requirement in requirements]
    return [plain(match[0]) for match in found if match is not None]


def test_the_table_is_complete(project: dict[str, Any]) -> None:
    """Each dependency has one row, under its purpose, with a reason."""
    text = (ROOT / "docs" / "dependencies.md").read_text()
    _, running, demo, notebook, test = text.split("\n## ")
    extras = project["optional-dependencies"]
    optional = ((demo, extras["demo"]), (notebook, extras["notebook"]), (test, extras["test"]))
    for section, requirements in ((running, project["dependencies"]), *optional):
        rows = re.findall(r"^\| `([^`]+)` \| (.+?) \|", section, re.MULTILINE)
        assert sorted(plain(name) for name, _ in rows) == sorted(names(requirements))
        assert all(reason.strip() for _, reason in rows)


@pytest.mark.slow
def test_the_pins_import_together(project: dict[str, Any]) -> None:
    """They do so in one environment: Faust holds click back, so the others must work with that."""
    extras = project["optional-dependencies"].values()
    wanted = {*names(project["dependencies"]), *(name for extra in extras for name in names(extra))}
    found = {
        module
        for module, packages in packages_distributions().items()
        if wanted & set(map(plain, packages)) and module.isidentifier() and not module.startswith("_")
    }
    assert {"faust", "check_jsonschema", "rich", "pytest"} <= found
    done = subprocess.run(
        [sys.executable, "-c", "".join(f"import {module}\n" for module in sorted(found))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_what_is_imported_is_declared(project: dict[str, Any]) -> None:
    """No package is present only because another dependency needs it; Faust's own are named with Faust."""
    imported = {
        name.partition(".")[0]
        for package in OURS
        for file in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names])
    } - {*OURS, *sys.stdlib_module_names}
    optional = project["optional-dependencies"]
    declared = {*names(project["dependencies"]), *names(optional["demo"]), *names(optional["notebook"])}
    found = {plain(each) for name in imported for each in packages_distributions()[name]}
    assert found - declared == {"mode-streaming", "rocksdict"}


def test_every_dependency_is_pinned(project: dict[str, Any]) -> None:
    """One version for all who install under the constraints; setuptools belongs to the build."""
    lines = (ROOT / "constraints.txt").read_text().split()
    pins = {plain(line.partition("==")[0]): line.partition("==")[2] for line in lines}
    assert all(pins.values())
    wanted = {*names(project["dependencies"])}.union(*map(names, project["optional-dependencies"].values()))
    assert wanted - {"setuptools"} <= set(pins)


def locked(name: str) -> dict[str, str]:
    """Return the pins of an image's lock, with versions; every line has a hash."""
    lines = [line for line in (ROOT / "deploy" / "image" / name).read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+ --hash=sha256:[0-9a-f]{64}", line) for line in lines)
    return {plain(line.partition("==")[0]): line.partition("==")[2].partition(" ")[0] for line in lines}


def test_the_images_locks_agree(project: dict[str, Any]) -> None:
    """The images of both machines have the same versions, equal to the constraints, and everything needed."""
    here = locked("requirements-x86_64.txt")
    there, of_sources = locked("requirements-aarch64.txt"), locked("source-requirements-aarch64.txt")
    assert not there.keys() & of_sources.keys()
    assert {**there, **of_sources} == here
    lines = (ROOT / "constraints.txt").read_text().split()
    pins = {plain(line.partition("==")[0]): line.partition("==")[2] for line in lines}
    assert here.items() <= pins.items()
    assert set(names(project["dependencies"])) <= set(here)
    tools = locked("build-requirements-x86_64.txt")
    assert tools.items() <= locked("build-requirements-aarch64.txt").items()
