"""The seed of the runs with faults, and the version to upgrade from."""

from pathlib import Path

import pytest


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed from which every draw of a test starts."""
    return int(request.config.getoption("seed"))


@pytest.fixture
def older(request: pytest.FixtureRequest) -> Path:
    """Return a checkout of an older version; without one, there is nothing to upgrade from."""
    tree: Path | None = request.config.getoption("older")
    if tree is None:
        pytest.skip("needs a checkout of an older version: --older=FOLDER")
    return tree.resolve(strict=True)
