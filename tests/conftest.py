"""Parts shared by all tests: one real Kafka broker per run, and how much is drawn."""

import contextlib
import fcntl
import gc
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from stream_app.localbroker.broker import LocalBroker
from tests.command import Cli
from tests.stacks import pending_tasks
from tests.suite import ownhome, secondtry, sharedbroker, speeds

os.environ["PYTHONFAULTHANDLER"] = "1"  # noqa: TID251 (programs that tests start say where they hung: tests/stacks.py)

_BROKER_FOLDER = pytest.StashKey[Path]()
_HOME = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Select by speed, and choose where the run's broker lives: the run's starter chooses and tells the others."""
    speeds.choose(config)
    config.pluginmanager.register(secondtry)
    told = getattr(config, "workerinput", None)
    if told is None:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: the broker is stopped
        config.stash[_HOME] = ownhome.begin()  # before any other process of the run begins
    config.stash[_BROKER_FOLDER] = sharedbroker.new_folder() if told is None else Path(told["broker_folder"])


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Let one test process of a run compile all files before the others start, which then find them compiled.

    Meanwhile the garbage collector is off, and it never inspects the objects made then: all of them stay until the end.
    """
    gc.disable()
    try:
        with _compiling() if hasattr(session.config, "workerinput") else contextlib.nullcontext():
            found = yield
        gc.freeze()
    finally:
        gc.enable()
    return found


@contextlib.contextmanager
def _compiling() -> Iterator[None]:
    """Hold the others back in the first test process of a run; they continue once it has compiled all files."""
    with (Path.home() / "compiled").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        first = not os.fstat(lock.fileno()).st_size  # all opened it empty
        if not first:
            fcntl.flock(lock, fcntl.LOCK_UN)
        yield
        if first:
            lock.write("by the first process\n")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a pytest-xdist test process where the broker lives before the process starts."""
    node.workerinput["broker_folder"] = str(node.config.stash[_BROKER_FOLDER])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the markers that nobody has to write, and sort the files."""
    speeds.mark(config, items)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the broker at the end of the run, also after Ctrl-C; the test processes have ended by then."""
    if not hasattr(config, "workerinput"):
        sharedbroker.end_broker(config.stash[_BROKER_FOLDER])
        ownhome.end(config.stash[_HOME])


@pytest.fixture(scope="session")
def broker(pytestconfig: pytest.Config) -> LocalBroker:
    """Return the run's real broker on a free loopback port; tests create topics with their own names in it.

    Things that a module or process makes once also have the process in their name: fixture ``worker_id``.
    """
    return sharedbroker.shared_broker(pytestconfig.stash[_BROKER_FOLDER])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the event loop waited for to a failure report: the stack of a hung test ends there."""
    report = yield
    if report.failed and call.when == "call" and (tasks := pending_tasks()):
        report.sections.append(("asyncio tasks", tasks))
    return report


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare speed and amounts: ``pytest tests/privacy --draws 1000000``, ``pytest tests/audit --speed long``."""
    speeds.add_options(parser)
    parser.addoption("--queries", metavar="FILE", help="write what Prometheus was asked by tests/deploy, and answered")
    parser.addoption("--seed", type=int, default=1, help="seed of workloads, moments and records in tests/faults")
    parser.addoption("--table", type=Path, metavar="FILE", help="append the lines of test_late to a Markdown table")
    parser.addoption("--older", type=Path, help="a checkout of the version that test_upgrade begins with")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Return a function that runs a command and returns its output."""
    return Cli(capsys)


def _of(name: str) -> Any:
    """Return the fixture of an amount."""
    return pytest.fixture(scope="session", name=name)(lambda request: speeds.amount(request, name))


globals().update({f"amount_{name}": _of(name) for name in speeds.AMOUNTS})
