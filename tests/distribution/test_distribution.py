"""The shipped files: a source distribution, the wheel built from it, and that wheel in its own environment."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import stream_app
from stream_app.cli import main
from tests.deploy import ROOT

pytestmark = pytest.mark.slow

EVENTS = "".join(f'{{"series":"home-7","timestamp":{hour * 3_600_000},"value":{hour % 5}}}\n' for hour in range(20))
POLICY = (
    '{"series":"home-*","epsilon":1.0,"protection":{"level":"landmark","landmarks":[18000000],"step":3600000},'
    '"scheme":{"name":"uniform"},"value":{"kind":"number","lower":0,"upper":10,"resolution":0.001}}\n'
)
EXAMPLES = ("README.md", "python/release.py", "kcat/produce.sh", "java/ConsumeReleases.java", "registry/register.py")
PACKAGES = ("stream_app", "landmark_stream")
OURS = ("*.egg-info", "__pycache__", "build", "dist", ".*_cache", ".venv", ".git", ".hypothesis", ".landmark-stream")
"""Files that work leaves in a checkout and nobody ships."""
BUILD = "from setuptools import build_meta; import sys; print(build_meta.{}(sys.argv[1]))"


def built(what: str, source: Path, out: Path) -> Path:
    """Build a distribution from a tree directly with the backend, which fetches nothing; return its file."""
    done = subprocess.run(
        [sys.executable, "-c", BUILD.format(what), str(out)], cwd=source, capture_output=True, check=True
    )
    return out / done.stdout.decode().splitlines()[-1]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source distribution from a copy of the tree."""
    folder = tmp_path_factory.mktemp("sdist")
    shutil.copytree(ROOT, folder / "tree", ignore=shutil.ignore_patterns(*OURS))
    return built("build_sdist", folder / "tree", folder)


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the unpacked source distribution, which is complete."""
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder)  # noqa: S202 (our own; Python 3.11.2 knows no filter)
    return built("build_wheel", folder / sdist.name.removesuffix(".tar.gz"), folder)


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an empty environment that borrows our dependencies; return the command."""
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = str(home / "bin" / "python")
    install = ["install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *install, str(wheel)], check=True)
    own = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    # A path file of a path file is not followed: our own editable checkout stays out.
    paths = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    Path(own.stdout.strip(), "borrowed.pth").write_text("".join(f"{path}\n" for path in paths))
    return home / "bin" / "landmark-stream"


def answer(program: Path, folder: Path, *words: str, told: str = "") -> str:
    """Run the installed command in a folder, without our paths, and return its output.

    It must exit with 0 and write ``told`` on standard error.
    """
    inherited = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME"}}  # noqa: TID251
    done = subprocess.run(
        [str(program), *words], cwd=folder, env=inherited, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, told)
    return done.stdout


def test_a_source_distribution_holds_the_tree(sdist: Path) -> None:
    """It has everything for build, tests and deployment, but no bytecode and no private file."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("schemas/policy.v1.schema.json", "deploy/prometheus/rules.yml", "docs/guarantee.md", "SECURITY.md"):
        assert name in names
    for name in (
        "constraints.txt",
        "Makefile",
        "benchmarks/__main__.py",
        "tests/distribution/test_distribution.py",
        "tests/schemas/vendor/README.md",
    ):
        assert name in names
    assert not [name for name in names if name.endswith((".pyc", ".so", ".key", ".pem")) or ".git/" in name]


def test_a_wheel_holds_the_package_and_its_files(wheel: Path) -> None:
    """It has all files of both packages, with data, schemas, dashboards and rules, but no tests or benchmarks."""
    names = zipfile.ZipFile(wheel).namelist()
    found = (file for package in PACKAGES for file in (ROOT / package).rglob("*") if file.is_file())
    files = {str(file.relative_to(ROOT)) for file in found if file.suffix not in {".pyc", ".so"}}
    assert files == {name for name in names if name.startswith(tuple(f"{package}/" for package in PACKAGES))}
    assert {f"{package}/py.typed" for package in PACKAGES} <= files
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {*PACKAGES}
    shared = f"landmark_stream-{stream_app.__version__}.data/data/share/landmark-stream"
    shipped = {name.removeprefix(f"{shared}/") for name in names if name.startswith(shared)}
    assert {f"schemas/{file.name}" for file in (ROOT / "schemas").iterdir() if file.is_file()} <= shipped
    assert {f"examples/{file}" for file in EXAMPLES} <= shipped
    assert {"grafana/operation.json", "prometheus/rules.yml"} <= shipped


def test_an_installed_wheel_decides_and_audits(program: Path, tmp_path: Path) -> None:
    """Outside any checkout, replay works, and so do audit, explain and check of its output."""
    (tmp_path / "events.jsonl").write_text(EVENTS)
    (tmp_path / "policies.jsonl").write_text(POLICY)
    assert answer(program, tmp_path, "--version") == f"landmark-stream {stream_app.__version__}\n"
    answer(program, tmp_path, "check", "policies.jsonl")
    met = (
        "landmark-stream replay: 1 of 1 landmark steps have an event: the events are from 1970-01-01T00:00Z to "
        "1970-01-01T19:00Z, and the landmarks are from 1970-01-01T05:00Z to 1970-01-01T06:00Z\n"
    )
    made_up = ["events.jsonl", "--accept", "times"]
    answer(program, tmp_path, "replay", *made_up, "--policies", "policies.jsonl", "--out", "out", told=met)
    files = ["--ledger", "out/ledger.jsonl", "--releases", "out/releases.jsonl"]
    verdict = json.loads(answer(program, tmp_path, "audit", *files, "--json"))
    assert (verdict["holds"], verdict["series"], verdict["entries"]) == (True, 1, 21)
    assert "18000000): perturbed" in answer(program, tmp_path, "explain", "home-7", "18000000", *files)


def test_an_installed_wheel_has_the_library_under_its_own_name(program: Path, tmp_path: Path) -> None:
    """Outside of any checkout `landmark_stream` is imported from the environment, and has the library's names."""
    code = "import landmark_stream as ls, stream_app.api; print(ls.__file__, ls.Policy is stream_app.api.Policy)"
    file, same = answer(program.with_name("python"), tmp_path, "-c", code).split()
    assert Path(file).is_relative_to(program.parents[1])
    assert same == "True"


def test_an_installed_wheel_tells_its_files(program: Path, tmp_path: Path) -> None:
    """Schemas, dashboards and rules are those of the repository, byte for byte, within the environment."""
    folders = json.loads(answer(program, tmp_path, "files", "--json"))
    for name, place, file in (
        ("schemas", "schemas", "release.v1.schema.json"),
        ("examples", "examples", "README.md"),
        ("grafana", "deploy/grafana/dashboards", "operation.json"),
        ("prometheus", "deploy/prometheus", "rules.yml"),
        ("docs", "docs", "alerts/LandmarkNoWorker.md"),
    ):
        assert Path(folders[name]).is_relative_to(program.parents[1])
        assert Path(folders[name], file).read_bytes() == (ROOT / place / file).read_bytes()


def test_an_installed_wheel_has_the_docs_that_messages_name(program: Path, tmp_path: Path) -> None:
    """Every page below docs/, including pictures, is in the folder that messages say how to find."""
    folder = Path(json.loads(answer(program, tmp_path, "files", "--json"))["docs"])
    written = (file for file in (ROOT / "docs").rglob("*") if file.is_file() and file.suffix not in {".py", ".pyc"})
    pages = {file.relative_to(ROOT / "docs") for file in written}
    assert pages == {file.relative_to(folder) for file in folder.rglob("*") if file.is_file()}


def test_the_image_builds_without_what_it_leaves_out() -> None:
    """The image's context has no schemas or dashboards: patterns may match nothing, but named files must exist."""
    places = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["data-files"]
    for pattern in (pattern for patterns in places.values() for pattern in patterns):
        assert "*" in pattern
        assert list(ROOT.glob(pattern))


def test_a_checkout_tells_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a wheel the folders of the repository are named."""
    assert main(["files", "schemas"]) == 0
    assert capsys.readouterr().out == f"{ROOT / 'schemas'}\n"
