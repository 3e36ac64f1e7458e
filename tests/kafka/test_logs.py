"""What is kept out of the log: what a fresh broker always says, for a while, and what our own errors say better."""

import importlib
import logging
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import client
from aiokafka.consumer import group_coordinator
from aiokafka.errors import GroupAuthorizationFailedError, GroupCoordinatorNotAvailableError
from mode import Service

import stream_app.kafka
from stream_app.kafka.logs import NO_BOOTSTRAP, NO_COORDINATOR, PATIENCE, configure_logs, told_otherwise


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    """Leave the logs as they were."""
    root, own = logging.getLogger(), group_coordinator.log
    before = root.handlers[:], root.level, own.filters[:]
    root.handlers[:] = []  # `configure_logs` closes those that it finds
    yield
    root.handlers[:], root.level, own.filters[:] = before


def test_the_library_says_what_is_kept_out() -> None:
    """A newer one with other words would show them again."""
    assert NO_BOOTSTRAP in Path(client.__file__).read_text()
    assert NO_COORDINATOR in Path(group_coordinator.__file__).read_text()


def test_a_coordinator_that_is_being_made_is_no_news(capsys: pytest.CaptureFixture[str]) -> None:
    """One that is never made is, and so is every other reason, and every other line."""
    configure_logs("info")
    logger = group_coordinator.log
    for _ in range(PATIENCE):
        logger.error(NO_COORDINATOR, GroupCoordinatorNotAvailableError())
    assert capsys.readouterr().err == ""
    logger.error(NO_COORDINATOR, GroupAuthorizationFailedError("group"))
    logger.error(NO_COORDINATOR, GroupCoordinatorNotAvailableError())
    logger.error("another line")
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_brokers_that_do_not_answer_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Where the caller tells of them the library does not; brokers lost later, and all else, are logged."""
    configure_logs("info")
    with told_otherwise():
        client.log.error(NO_BOOTSTRAP, "127.0.0.1", 1, "refused")
        assert capsys.readouterr().err == ""
        client.log.error("Unable connect to node with id %s: %s", 1, "refused")
        assert "node with id 1" in capsys.readouterr().err
    client.log.error(NO_BOOTSTRAP, "127.0.0.1", 1, "refused")
    assert "Unable connect" in capsys.readouterr().err


def test_what_faust_logs_under_our_names_is_kept_down() -> None:
    """A service of Faust's logs whole messages at debug level, under the name of the module that derives from it."""
    services = {
        kind.__module__
        for module in pkgutil.iter_modules(stream_app.kafka.__path__, "stream_app.kafka.")
        for kind in vars(importlib.import_module(module.name)).values()
        if isinstance(kind, type) and issubclass(kind, Service) and kind.__module__ == module.name
    }
    assert len(services) >= 5
    configure_logs("debug")
    for name in services:
        assert not logging.getLogger(name).isEnabledFor(logging.DEBUG), name
