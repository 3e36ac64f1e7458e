"""The compiled path of an event gives the same bytes as its source run by Python, and the compiled audit holds."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from stream_app.formats import wire
from stream_app.setup import keyfile
from tests.programs import program
from tests.run import ACCEPTING

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EVENTS = 400
KINDS: dict[str, tuple[dict[str, object], object]] = {
    "number": ({"kind": "number", "lower": -3, "upper": 10, "resolution": 0.01}, 4.237),
    "counts": ({"kind": "counts", "keys": ["walk", "ride"], "sensitivity": 2}, {"walk": 12}),
    "category": ({"kind": "category", "categories": ["home", "work", True]}, "work"),
    "vector": (
        {
            "kind": "vector",
            "parts": {
                "pulse": {"lower": 30, "upper": 220, "resolution": 1},
                "oxygen": {"lower": 0.7, "upper": 1, "resolution": 0.01},
            },
        },
        {"pulse": 71.4, "oxygen": 0.97},
    ),
    "location": (
        {
            "kind": "location",
            "radius": 150,
            "resolution": 1,
            "bounds": {"south": 47.0, "west": 8.0, "north": 47.9, "east": 9.0},
        },
        {"latitude": 47.3769, "longitude": 8.5417},
    ),
}
SCHEMES: tuple[dict[str, object], ...] = ({"name": "uniform"}, {"name": "adaptive"}, {"name": "balanced"})
WINDOW_SCHEMES: tuple[dict[str, object], ...] = ({"name": "bd"}, {"name": "ba", "dissimilarity": "private"})


def test_mypyc_takes_the_source(tmp_path: Path) -> None:
    """It writes C for every file of `setup.py`, with nothing installed but what `pyproject.toml` asks for to build.

    So it goes in an isolated build, as `pip install .` has. It checks types and classes more strictly than mypy.
    """
    tree = _tree(tmp_path)
    translate = "import runpy, setuptools; setuptools.setup = lambda **_: None; runpy.run_path('setup.py')"
    command = [str(_isolated(tmp_path / "isolated")), "-c", translate, "build_ext"]
    asked = _environment() | {"COMPILE_LANDMARK_STREAM": "1"}
    done = subprocess.run(command, cwd=tree, env=asked, check=False, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list((tree / "build").rglob("*.c"))


@pytest.mark.long
@pytest.mark.timeout(1700)
def test_compiled_and_interpreted_runs_write_the_same_bytes(tmp_path: Path) -> None:
    """Every kind under every scheme, filter on and off, comes out equal to the byte."""
    program("cc")
    events = tmp_path / "events.jsonl"
    events.write_bytes(b"".join(_events()))
    keyfile.create(tmp_path / "key")
    tree = _tree(tmp_path)
    interpreted = _replay(tree, events, tmp_path)
    assert not list(tree.rglob("*.so"))
    asked = {"COMPILE_LANDMARK_STREAM": "1"}
    build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(build, cwd=tree, env=_environment() | asked, check=True, timeout=1500)
    assert len(list((tree / "stream_app" / "privacy").glob("*.so"))) > 10
    # Of a compiled package any module may be the first that is imported, as `left` does.
    first = [sys.executable, "-c", "import stream_app.accounting.left"]
    subprocess.run(first, cwd=tree, env=_environment(), check=True)
    compiled = _replay(tree, events, tmp_path)
    assert compiled == interpreted
    assert interpreted["releases"].count(b"perturbed") > EVENTS
    code, report = _audit(tree, tmp_path / "out")
    assert (code, report["holds"], report["remarks"]) == (0, True, [])
    assert (report["series"], report["entries"]) == (34, 34 * (EVENTS + 1) + 30)
    ledger = tmp_path / "out" / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"landmark":true', b'"landmark":false', 1))
    code, report = _audit(tree, tmp_path / "out")
    assert (code, report["holds"]) == (1, False)


def _tree(folder: Path) -> Path:
    """Return a copy of the source in which nothing is compiled."""
    tree = folder / "tree"
    shutil.copytree(ROOT / "stream_app", tree / "stream_app", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for file in ("setup.py", "pyproject.toml"):
        shutil.copy(ROOT / file, tree)
    return tree


def _isolated(home: Path) -> Path:
    """Make an environment that has the requirements of a build, and theirs; return its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    (site,) = home.glob("lib/python*/site-packages")
    waiting, found = list(tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]), set()
    while waiting:
        asked, _, marker = waiting.pop().partition(";")
        name = re.split(r"[^\w.-]", asked)[0].lower()
        if name in found or "extra" in marker:
            continue
        found.add(name)
        try:
            package = distribution(name)
        except PackageNotFoundError:  # it is for another version of Python
            continue
        waiting += package.requires or []
        for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(str(package.locate_file(top)))
    return home / "bin" / "python"


def _events() -> list[bytes]:
    lines = []
    for kind, (value, raw) in KINDS.items():
        for scheme in SCHEMES:
            for level in ("none", "level"):
                series = f"{kind}-{scheme['name']}-{level}"
                policy = {
                    "type": "policy",
                    "series": series,
                    "version": 1,
                    "epsilon": 2.5,
                    "protection": {"level": "landmark", "landmarks": [[30, 60]], "step": 10, "spare": 1},
                    "scheme": scheme,
                    "filter": level,
                    "value": value,
                    "correlation": "household" if level == "none" else None,
                }
                lines.append(policy)
                lines += [{"series": series, "timestamp": 10 * step, "value": raw} for step in range(EVENTS)]
                lines.append({"type": "landmarks", "series": series, "add": [10 * EVENTS + 50]})
    for kind in ("number", "counts"):
        for scheme in WINDOW_SCHEMES:
            value, raw = KINDS[kind]
            series = f"{kind}-{scheme['name']}"
            members = {"protection": {"level": "w-event", "window": 9}, "scheme": scheme, "value": value}
            lines.append({"type": "policy", "series": series, "version": 1, "epsilon": 2.5, **members})
            lines += [{"series": series, "timestamp": step, "value": raw} for step in range(EVENTS)]
    return [wire.dump(line) + b"\n" for line in lines]


def _replay(tree: Path, events: Path, folder: Path) -> dict[str, bytes]:
    out = folder / "out"
    command = [
        sys.executable,
        "-m",
        "stream_app",
        "replay",
        *ACCEPTING,
        str(events),
        "--out",
        str(out),
        "--key",
        str(folder / "key"),
    ]
    subprocess.run(command, cwd=tree, env=_environment(), check=True, capture_output=True, timeout=300)
    return {name: (out / f"{name}.jsonl").read_bytes() for name in ("releases", "ledger", "rejects")}


def _audit(tree: Path, out: Path) -> tuple[int, dict[str, object]]:
    """Return the exit code and the report."""
    files = ["--ledger", str(out / "ledger.jsonl"), "--releases", str(out / "releases.jsonl")]
    command = [sys.executable, "-m", "stream_app", "audit", *files, "--json"]
    done = subprocess.run(command, cwd=tree, env=_environment(), check=False, capture_output=True, timeout=300)
    return done.returncode, json.loads(done.stdout)


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}  # noqa: TID251 - a child's
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1"}
