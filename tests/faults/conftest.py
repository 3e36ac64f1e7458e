"""Options of the full runs."""

from pathlib import Path

import pytest

SHORT = {"kills": 5, "events": 20_000, "fuzz": 8_000, "seed": 1, "scale": 0}
MEANING = {
    "kills": "how often test_kills kills a worker",
    "events": "how many events test_kills sends",
    "fuzz": "how many records test_fuzz sends",
    "scale": "up to how many workers the long runs of test_scale start; 0 skips them",
    "seed": "seed of workloads, moments and records",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add one option a figure; the defaults are the short run's."""
    for name, text in MEANING.items():
        parser.addoption(f"--{name}", type=int, default=SHORT[name], help=f"{text} (default: {SHORT[name]})")
    parser.addoption("--older", type=Path, help="a checkout of the version that test_upgrade begins with")


def figure(request: pytest.FixtureRequest, name: str) -> int:
    """Return an option's figure, the short run's when pytest was started above this folder."""
    return int(request.config.getoption(f"--{name}", SHORT[name]))


@pytest.fixture
def kills(request: pytest.FixtureRequest) -> int:
    """How often to kill."""
    return figure(request, "kills")


@pytest.fixture
def events(request: pytest.FixtureRequest) -> int:
    """How many events to send."""
    return figure(request, "events")


@pytest.fixture
def fuzz(request: pytest.FixtureRequest) -> int:
    """How many fuzzed records to send."""
    return figure(request, "fuzz")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """What every draw of a test begins with."""
    return figure(request, "seed")


@pytest.fixture
def scale(request: pytest.FixtureRequest) -> int:
    """Up to how many workers to start in long runs."""
    return figure(request, "scale")


@pytest.fixture
def older(request: pytest.FixtureRequest) -> Path:
    """Return a checkout of an older version; without one there is nothing to upgrade from."""
    tree: Path | None = request.config.getoption("--older", None)
    if tree is None:
        pytest.skip("needs a checkout of an older version: --older=FOLDER")
    return tree.resolve(strict=True)
