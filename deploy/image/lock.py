# ruff: noqa: INP001 (a script, part of no package)
"""Write the image's hashed locks beside this file, per machine: for running the worker and building it.

They list each package required by pyproject.toml, directly or indirectly, in its version from constraints.txt. Each has
the SHA-256 of the wheel that pip would take for the image, as the index gives it. The few packages that have no wheel
for a machine have the hash of their sources. Run it with the image's version of Python; ``install`` reads the files.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GLIBC = ("manylinux2014", "manylinux_2_17", "manylinux_2_24", "manylinux_2_27", "manylinux_2_28", "manylinux_2_34")
"""Versions up to that of Debian 12 (glibc 2.36)."""
MACHINES = ("x86_64", "aarch64")
"""Docker's linux/amd64 and linux/arm64.

The needs of the first are looked up, and all have wheels; the others need the same.
"""
SOURCES = {"aarch64": ("faust-streaming",)}
"""Packages that have no wheel for a machine (in November 2026) and are built from source there."""
SOURCE_TOOLS = ("cython", "setuptools", "setuptools-scm", "wheel")
"""What builds these."""

Found = list[dict[str, Any]]


def main() -> None:
    """Write the files.

    Raises:
        subprocess.CalledProcessError: if a required package has no wheel for a machine.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    tools = project["build-system"]["requires"]
    for machine in MACHINES:
        sources = SOURCES.get(machine, ())
        pinned = [_pin(item) for item in _wheels(MACHINES[0], *project["project"]["dependencies"])]
        in_wheels = [pin for pin in pinned if pin.partition("==")[0] not in sources]
        _write(f"requirements-{machine}", _wheels(machine, *in_wheels))
        _write(f"build-requirements-{machine}", _wheels(machine, *tools, *(SOURCE_TOOLS if sources else ())))
        if sources:
            wanted = [pin for pin in pinned if pin not in in_wheels]
            _write(f"source-requirements-{machine}", _asked("--no-binary", ":all:", "--no-deps", *wanted))


def _wheels(machine: str, *wanted: str) -> Found:
    platforms = [word for glibc in GLIBC for word in ("--platform", f"{glibc}_{machine}")]
    return _asked("--only-binary", ":all:", *platforms, *wanted)


def _asked(*words: str) -> Found:
    """Return what pip would install."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run"]
        command += ["--ignore-installed", "--target", folder, "--report", str(report)]
        subprocess.run([*command, "--constraint", str(ROOT / "constraints.txt"), *words], check=True)
        found: Found = json.loads(report.read_text())["install"]
    return found


def _pin(item: dict[str, Any]) -> str:
    return f"{item['metadata']['name']}=={item['metadata']['version']}"


def _write(name: str, found: Found) -> None:
    lines = [
        f"{_pin(item)} --hash=sha256:{item['download_info']['archive_info']['hashes']['sha256']}\n"
        for item in sorted(found, key=lambda item: str(item["metadata"]["name"]).lower())
    ]
    (HERE / f"{name}.txt").write_text("# Made by `make hashes`; read by deploy/image/install.\n" + "".join(lines))


if __name__ == "__main__":
    main()
