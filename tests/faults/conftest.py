"""Amounts of the runs with faults, their seed, and the version to upgrade from."""

from pathlib import Path

import pytest

from tests.suite.speeds import amount


@pytest.fixture
def kills(request: pytest.FixtureRequest) -> int:
    """How often to kill."""
    return amount(request, "kills")


@pytest.fixture
def events(request: pytest.FixtureRequest) -> int:
    """How many events to send."""
    return amount(request, "events")


@pytest.fixture
def late(request: pytest.FixtureRequest) -> int:
    """How many events to send through what goes wrong."""
    return amount(request, "late")


@pytest.fixture
def fuzz(request: pytest.FixtureRequest) -> int:
    """How many fuzzed records to send."""
    return amount(request, "fuzz")


@pytest.fixture
def scale(request: pytest.FixtureRequest) -> int:
    """Up to how many workers to start in long runs."""
    return amount(request, "scale")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """What every draw of a test begins with."""
    return int(request.config.getoption("seed"))


@pytest.fixture
def older(request: pytest.FixtureRequest) -> Path:
    """Return a checkout of an older version; without one there is nothing to upgrade from."""
    tree: Path | None = request.config.getoption("older")
    if tree is None:
        pytest.skip("needs a checkout of an older version: --older=FOLDER")
    return tree.resolve(strict=True)
