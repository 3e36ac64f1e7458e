"""What all tests share: one real Kafka broker a session."""

import os
from collections.abc import Generator, Iterator

import pytest

from stream_app.localbroker.broker import LocalBroker
from tests.stacks import pending_tasks

os.environ["PYTHONFAULTHANDLER"] = "1"  # noqa: TID251 (programs that tests start say where they hung: tests/stacks.py)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    """Run a real broker on a free loopback port; tests make topics of their own names in it."""
    with LocalBroker.start(tmp_path_factory.mktemp("kafka")) as running:
        yield running


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
