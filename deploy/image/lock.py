# ruff: noqa: INP001 (a script, part of no package)
"""Print a requirements file with hashes, of what the worker runs with or is built with: ``lock.py runtime|build``.

For each package that the requirements of pyproject.toml come to, in the versions of constraints.txt: the SHA-256 of the
wheel that pip takes for the image, as the index states it. Run it with the image's version of Python.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLATFORMS = ("manylinux2014", "manylinux_2_17", "manylinux_2_24", "manylinux_2_27", "manylinux_2_28", "manylinux_2_34")
"""Up to what Debian 12 has (glibc 2.36)."""
MACHINE = "x86_64"
"""For aarch64 not every dependency has a wheel (faust-streaming's, in November 2026)."""


def main(which: str) -> None:
    """Print the file.

    Raises:
        subprocess.CalledProcessError: if something needed has no wheel for the image.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    asked = project["project"]["dependencies"] if which == "runtime" else project["build-system"]["requires"]
    platforms = [word for glibc in PLATFORMS for word in ("--platform", f"{glibc}_{MACHINE}")]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run"]
        command += ["--ignore-installed", "--target", folder, "--only-binary", ":all:", "--report", str(report)]
        subprocess.run([*command, "--constraint", str(ROOT / "constraints.txt"), *platforms, *asked], check=True)
        found = json.loads(report.read_text())["install"]
    print("# Made by `make hashes`; read by deploy/image/install.")
    for item in sorted(found, key=lambda item: item["metadata"]["name"].lower()):
        digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
        print(f"{item['metadata']['name']}=={item['metadata']['version']} --hash=sha256:{digest}")


if __name__ == "__main__":
    main(*sys.argv[1:])
