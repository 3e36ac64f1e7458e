"""What the log omits: what a fresh broker always says, for a while, and what our own errors say better."""

import ast
import importlib
import io
import logging
import pkgutil
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiokafka import client
from aiokafka.consumer import group_coordinator
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    GroupCoordinatorNotAvailableError,
    IllegalGenerationError,
    RebalanceInProgressError,
)
from mode import Service

import stream_app.kafka
from stream_app.kafka.stops import PartitionStoppedError
from stream_app.monitoring.logs import (
    MINUTE_SECONDS,
    MOST_LINES,
    NO_BOOTSTRAP,
    NO_COMMIT,
    NO_COORDINATOR,
    PATIENCE,
    REBALANCING,
    JsonLines,
    Lines,
    configure_logs,
    without_bootstrap_errors,
)


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    """Leave the logs as they were."""
    root, own = logging.getLogger(), group_coordinator.log
    before = root.handlers[:], root.level, own.filters[:]
    root.handlers[:] = []  # `configure_logs` closes those that it finds
    yield
    root.handlers[:], root.level, own.filters[:] = before


def test_the_library_says_what_is_kept_out() -> None:
    """A newer library with other words would show these lines again."""
    assert NO_BOOTSTRAP in Path(client.__file__).read_text()
    tree = ast.parse(Path(group_coordinator.__file__).read_text())
    said = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert {NO_COORDINATOR, REBALANCING, NO_COMMIT} <= said


def test_a_coordinator_that_is_being_made_is_no_news(capsys: pytest.CaptureFixture[str]) -> None:
    """A coordinator that is never created is reported, and so are every other reason and every other line."""
    configure_logs("info")
    logger = group_coordinator.log
    for _ in range(PATIENCE):
        logger.error(NO_COORDINATOR, GroupCoordinatorNotAvailableError())
    assert capsys.readouterr().err == ""
    logger.error(NO_COORDINATOR, GroupAuthorizationFailedError("group"))
    logger.error(NO_COORDINATOR, GroupCoordinatorNotAvailableError())
    logger.error("another line")
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_a_rebalance_is_no_news(capsys: pytest.CaptureFixture[str]) -> None:
    """A member learns of a rebalance this way; a group that forgot it or a lost coordinator is logged."""
    configure_logs("info")
    logger = group_coordinator.log
    logger.warning(REBALANCING, "group")
    logger.error(NO_COMMIT, "group", RebalanceInProgressError("group"))
    assert capsys.readouterr().err == ""
    logger.error(NO_COMMIT, "group", IllegalGenerationError("group"))
    logger.warning("Heartbeat failed: local member_id was not recognized; resetting and re-joining group")
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_brokers_that_do_not_answer_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    """The library is silent if the caller reports them; brokers lost later, and all else, are logged."""
    configure_logs("info")
    with without_bootstrap_errors():
        client.log.error(NO_BOOTSTRAP, "127.0.0.1", 1, "refused")
        assert capsys.readouterr().err == ""
        client.log.error("Unable connect to node with id %s: %s", 1, "refused")
        assert "node with id 1" in capsys.readouterr().err
    client.log.error(NO_BOOTSTRAP, "127.0.0.1", 1, "refused")
    assert "Unable connect" in capsys.readouterr().err


def test_what_faust_logs_under_our_names_is_kept_down() -> None:
    """A Faust service logs whole messages at debug level, under the name of the module that derives from it."""
    services = {
        kind
        for module in pkgutil.walk_packages(stream_app.kafka.__path__, "stream_app.kafka.")
        for kind in vars(importlib.import_module(module.name)).values()
        if isinstance(kind, type) and issubclass(kind, Service) and kind.__module__ == module.name
    }
    assert len(services) >= 7
    configure_logs("debug")
    for name in {kind.__module__ for kind in services}:
        assert not logging.getLogger(name).isEnabledFor(logging.DEBUG), name


class Written:
    """A log of its own, under a clock that only the test moves."""

    def __init__(self) -> None:
        """Begin at second 0."""
        self.now = 0.0
        self._stream = io.StringIO()
        self.handler = Lines(self._stream, lambda: self.now)

    def log(self, text: str, *arguments: object, name: str = "aiokafka", level: int = logging.WARNING) -> None:
        """Log a line."""
        self.handler.handle(logging.LogRecord(name, level, "", 0, text, arguments, None))

    @property
    def lines(self) -> list[str]:
        """Return what was written."""
        return self._stream.getvalue().splitlines()


def test_a_line_is_written_once_a_minute_with_its_count() -> None:
    """A line is written once whatever numbers a library puts into it, and again for as long as it comes."""
    written = Written()
    for number in range(600):
        written.now = number / 10
        written.log("Unable connect to node with id %s: %s", number, "refused")
    assert written.lines == ["Unable connect to node with id 0: refused"]
    for number in range(600, 1_260):
        written.now = number / 10
        written.log("Unable connect to node with id %s: %s", number, "refused")
    assert written.lines[1:] == [
        "Unable connect to node with id 599: refused … repeated 599 times more in the last minute",
        "Unable connect to node with id 1199: refused … repeated 600 times more in the last minute",
    ]


def test_a_count_is_told_when_nothing_follows() -> None:
    """`write_counts` reports it at the minute's end, `close` at the process's end; single lines come once."""
    written = Written()
    for line in ("one", "two", "two"):
        written.log(line)
    written.handler.write_counts()
    assert written.lines == ["one", "two"]
    written.now = MINUTE_SECONDS
    written.handler.write_counts()
    assert written.lines[2:] == ["two … repeated once more in the last minute"]
    written.log("one")
    written.log("two")
    written.handler.close()
    assert written.lines[3:] == ["one", "two … repeated once more in the last minute"]


def test_what_differs_is_written() -> None:
    """Lines differ by logger, level and text; our own differ by every figure because these name partitions."""
    written = Written()
    for partition in range(3):
        written.log("%s", f"partition {partition} stopped", name="stream_app.kafka.owner.partition")
        written.log("partition %d: will ask again", partition, name="stream_app.kafka.client.eventstopic")
    written.log("refused", level=logging.ERROR)
    written.log("refused")
    written.log("refused", name="faust")
    for why in (ConnectionRefusedError(), TimeoutError()):
        written.log("Unable connect to node with id %s: %r", 1, why)
    assert len(written.lines) == 11
    # Faust's services log under the names of our modules, with numbers that grow.
    written.log("generation 1", name="stream_app.kafka.faust.app")
    written.log("generation 2", name="stream_app.kafka.faust.app")
    assert len(written.lines) == 12


def test_lines_without_end_are_counted_in_bounded_memory() -> None:
    """The line that began first is reported early."""
    written = Written()
    for _ in range(3):
        written.log("first")
    for number in range(MOST_LINES):
        written.log(str(number), name="stream_app.kafka.owner.partition")
    assert len(written.handler._repeated) == MOST_LINES  # noqa: SLF001
    assert "first … repeated 2 times more in the last minute" in written.lines


def in_json(written: Written) -> list[dict[str, Any]]:
    """Return the lines as objects."""
    return [orjson.loads(line) for line in written.lines]


def test_a_line_in_json_is_one_object() -> None:
    """This holds whatever the text contains; the time is in UTC, and the level as the settings spell it."""
    written = Written()
    written.handler.setFormatter(JsonLines())
    written.log("two\nlines, \u2028 and \udc80 of a path: %s", '"quoted"', level=logging.ERROR)
    (line,) = in_json(written)
    assert set(line) == {"time", "level", "logger", "message"}
    assert (line["level"], line["logger"]) == ("error", "aiokafka")
    assert line["message"] == 'two\nlines, \u2028 and \\udc80 of a path: "quoted"'
    moment = datetime.fromisoformat(line["time"])
    assert moment.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - moment) < timedelta(hours=1)


def test_repeated_lines_in_json_have_their_count() -> None:
    """The count is a member, for those who sum it."""
    written = Written()
    written.handler.setFormatter(JsonLines())
    for name in ("aiokafka", "stream_app.kafka.worker"):
        for _ in range(3):
            written.log("again", name=name)
    written.now = MINUTE_SECONDS
    written.handler.write_counts()
    assert [line.get("repeated") for line in in_json(written)] == [None, None, 2, 2]


def test_fields_of_our_errors_are_members_and_those_of_libraries_are_not() -> None:
    """PRIVACY: a library may attach a whole message to its record."""
    written = Written()
    written.handler.setFormatter(JsonLines())
    stop = PartitionStoppedError(3, "input-lost", asked="offset 7", found="offset 9")
    for name in ("stream_app.kafka.owner.partition", "faust.agents", "stream_app.kafka.faust.consumer"):
        record = logging.LogRecord(name, logging.ERROR, "", 0, "%s", (stop,), None)
        vars(record).update(stop.fields)
        written.handler.handle(record)
    ours, *theirs = in_json(written)
    assert (ours["partition"], ours["reason"]) == (3, "input-lost")
    assert (ours["asked"], ours["found"], ours["remedy"]) == ("offset 7", "offset 9", stop.remedy)
    assert ours["message"] == str(stop)
    assert all(set(line) == {"time", "level", "logger", "message"} for line in theirs)


def test_an_exception_is_one_member() -> None:
    """Its lines stay within the object."""
    written = Written()
    written.handler.setFormatter(JsonLines())
    try:
        raise GroupAuthorizationFailedError("group")  # noqa: TRY301 (what a library does)
    except GroupAuthorizationFailedError:
        record = logging.LogRecord("aiokafka", logging.ERROR, "", 0, "Unhandled", (), sys.exc_info())
    written.handler.handle(record)
    (line,) = in_json(written)
    assert line["exception"].startswith("GroupAuthorizationFailedError('group') (test_logs.py:")
