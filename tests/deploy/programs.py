"""Programs of Debian's packages that tests run."""

import os
import shutil

import pytest


def program(name: str, package: str) -> str:
    """Return the path of a program; without it the test is skipped, but in CI, where it must be there."""
    path = shutil.which(name)
    if path is None:
        lacking = f"{name} is missing: sudo apt-get install --yes {package}"
        if os.environ.get("CI"):  # noqa: TID251 (CI says by it that nothing may be left out)
            pytest.fail(lacking)
        pytest.skip(lacking)
    return path
