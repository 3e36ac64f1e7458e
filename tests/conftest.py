"""What all tests share: one real Kafka broker a run, and how much is drawn."""

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from stream_app.localbroker.broker import LocalBroker
from tests.stacks import pending_tasks
from tests.suite import sharedbroker
from tests.suite.markers import needs_broker

os.environ["PYTHONFAULTHANDLER"] = "1"  # noqa: TID251 (programs that tests start say where they hung: tests/stacks.py)


_BROKER_FOLDER = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Choose where the run's broker lives: the process that the run began with chooses, the others are told."""
    told = getattr(config, "workerinput", None)
    config.stash[_BROKER_FOLDER] = sharedbroker.make_folder() if told is None else Path(told["broker_folder"])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a test process of pytest-xdist, before it starts, where the broker lives."""
    node.workerinput["broker_folder"] = str(node.config.stash[_BROKER_FOLDER])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that has a real broker, so that nobody has to."""
    for item in items:
        if isinstance(item, pytest.Function) and needs_broker(item):
            item.add_marker("broker")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the broker at the end of the run, after Ctrl-C too; the test processes have ended by then."""
    if not hasattr(config, "workerinput"):
        sharedbroker.end_broker(config.stash[_BROKER_FOLDER])


@pytest.fixture(scope="session")
def broker(pytestconfig: pytest.Config) -> LocalBroker:
    """Return the run's real broker on a free loopback port; tests make topics of their own names in it.

    What a module or a process makes once has the process in its name too: fixture ``worker_id``.
    """
    return sharedbroker.shared_broker(pytestconfig.stash[_BROKER_FOLDER])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell of a failure what the event loop waited for: the stack of a hung test ends in it."""
    report = yield
    if report.failed and call.when == "call" and (tasks := pending_tasks()):
        report.sections.append(("asyncio tasks", tasks))
    return report


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare how much is drawn: ``pytest tests/privacy --draws 1000000``, ``pytest tests/audit --ledgers 1000``."""
    parser.addoption("--draws", type=int, default=20_000, help="draws decided by both paths (1000000 takes minutes)")
    parser.addoption(
        "--ledgers", type=int, default=250, help="true ledgers that an audit must find true (1000: minutes)"
    )
    parser.addoption(
        "--matrices", type=int, default=500, help="correlations solved by enumeration and programs (5000: minutes)"
    )
    parser.addoption("--long", action="store_true", help="plant every fault in every scheme and kind (an hour)")
    parser.addoption("--queries", metavar="FILE", help="write what Prometheus was asked by tests/deploy, and answered")


@pytest.fixture
def draws(request: pytest.FixtureRequest) -> int:
    """Return how many draws to compare."""
    return int(request.config.getoption("--draws"))


@pytest.fixture
def many_matrices(request: pytest.FixtureRequest) -> int:
    """Return how many transition matrices to compare."""
    return int(request.config.getoption("--matrices"))


@pytest.fixture(scope="session")
def ledgers(request: pytest.FixtureRequest) -> int:
    """Return how many true ledgers to draw."""
    return int(request.config.getoption("--ledgers"))
