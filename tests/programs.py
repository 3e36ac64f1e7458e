"""Programs that some tests run besides Python, Java and Maven: the only list, which CI installs from.

`python3 tests/programs.py` prints the name and Debian package of each, one per line. With a folder it fills that folder
with links to everything on PATH except these programs. The tests must pass there too, as on a machine without them
(`.ci/run`).
"""

import os
import shutil
import sys
from pathlib import Path

PACKAGES = {
    "bwrap": "bubblewrap",
    "fish": "fish",
    "javac": "openjdk-17-jdk-headless",
    "jq": "jq",
    "kcat": "kcat",
    "node": "nodejs",
    "npm": "npm",
    "openssl": "openssl",
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "systemd-analyze": "systemd",
    "zsh": "zsh",
}
"""Debian's package of each program; CI has them all."""
ELSEWHERE = {
    "alertmanager": "go install github.com/prometheus/alertmanager/cmd/alertmanager@latest",
    "amtool": "go install github.com/prometheus/alertmanager/cmd/amtool@latest",
    "dashboard-linter": "go install github.com/grafana/dashboard-linter@latest",
    "kubectl": "kustomize comes with it, which no package of CI has",
}
"""How to install the other programs; they may be missing in CI too."""


def program(name: str) -> str:
    """Return a program's path; if it is missing, skip the test, or fail in CI if Debian has the program."""
    import pytest  # noqa: PLC0415 - CI reads the list before anything is installed

    path = shutil.which(name)
    if path is None:
        remedy = ELSEWHERE.get(name) or f"sudo apt-get install --yes {PACKAGES.get(name, name)}"
        lacking = f"{name} is missing: {remedy}"
        if name in PACKAGES and os.environ.get("CI"):  # noqa: TID251 (CI says by it that nothing may be left out)
            pytest.fail(lacking)
        pytest.skip(lacking)
    return path


def link_others(folder: Path) -> None:
    """Fill an empty folder with links to all other programs on PATH; the first of a name counts."""
    for place in map(Path, os.environ["PATH"].split(os.pathsep)):  # noqa: TID251 (of whoever runs it)
        for found in sorted(place.iterdir()) if place.is_dir() else ():
            link = folder / found.name
            if found.name not in PACKAGES | ELSEWHERE and not link.is_symlink():
                link.symlink_to(found.absolute())


if __name__ == "__main__":
    if sys.argv[1:]:
        link_others(Path(sys.argv[1]))
    else:
        print(*(f"{name} {package}" for name, package in PACKAGES.items()), sep="\n")
