"""The worker's log: one line an event, equal lines once a minute with their count, and nothing that a record holds.

A line is text, or one JSON object (`JsonLines`).
"""

import logging
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, Literal, TextIO

import orjson
from aiokafka.errors import GroupCoordinatorNotAvailableError, RebalanceInProgressError

from stream_app.monitoring.loggable import Formatter, of_library, traced

# PRIVACY: at debug level these write whole requests, answers and messages, raw values in them. Faust's services log
# under the names of our modules that derive from them.
_TALKATIVE = (
    "aiokafka",
    "asyncio",
    "faust",
    "mode",
    "stream_app.kafka.faust.app",
    "stream_app.kafka.faust.consumer",
    "stream_app.kafka.faust.consumerthread",
    "stream_app.kafka.faust.table",
)

_OWN = "stream_app."

NO_BOOTSTRAP: Final = 'Unable connect to "%s:%s": %s'
"""What aiokafka logs of each address before it raises that there is no broker."""
NO_COORDINATOR: Final = "Group Coordinator Request failed: %s"
REBALANCING: Final = "Heartbeat failed for group %s because it is rebalancing"
NO_COMMIT: Final = "OffsetCommit failed for group %s due to group error (%s), will rejoin"
PATIENCE: Final = 100
"""Refusals of a coordinator, ten a second, that are no news: fresh brokers make their topic of offsets meanwhile."""

MINUTE_SECONDS: Final = 60.0  # how long a line that was written is counted instead of written again
MOST_LINES: Final = 1_000
"""Lines that are counted at a time: about 1 MB; with more of them the one that began first is written out."""

_NUMBER = re.compile(r"(?:0x)?[0-9a-f]{8,}|\d+")  # ids in hexadecimal among them
_MOST_CHARACTERS = 500  # of a line that is compared


@dataclass(slots=True)
class _Repeated:
    """A line that was written, and how often it came since."""

    until: float
    count: int = 0
    last: str = ""


class Lines(logging.StreamHandler[TextIO]):
    """Writes a line at most once a minute; when the minute is over, how often it came again. ``clock`` only grows.

    Without brokers or without file descriptors the libraries log what failed ten times a second. Lines of libraries are
    equal whatever numbers they hold; our own when they are the same in full, since they name partitions.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream)
        self._clock = clock
        self._repeated: dict[tuple[str, int, str], _Repeated] = {}  # in the order of their ends

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or count it; logging has this handler's lock."""
        if not _is_own(record):
            record = of_library(record)
        self._write_counts(self._clock())
        text = record.getMessage()
        sameness = text if _is_own(record) else _NUMBER.sub("#", text)[:_MOST_CHARACTERS]
        key = record.name, record.levelno, sameness
        known = self._repeated.get(key)
        if known is not None:
            known.count += 1
            known.last = text
            return
        if len(self._repeated) >= MOST_LINES:
            self._end(next(iter(self._repeated)))
        self._repeated[key] = _Repeated(self._clock() + MINUTE_SECONDS)
        super().emit(record)

    def write_counts(self) -> None:
        """Write the counts of lines whose minute is over; without a call they wait for the next line."""
        with self._held():
            self._write_counts(self._clock())

    def close(self) -> None:
        """Write all counts."""
        with self._held():
            for key in list(self._repeated):
                self._end(key)
        super().close()

    def _held(self) -> AbstractContextManager[object]:
        return self.lock or nullcontext()

    def _write_counts(self, now: float) -> None:
        while self._repeated:
            key, first = next(iter(self._repeated.items()))
            if first.until > now:
                return
            self._end(key)
            if first.count:
                # It is still counted: an endless flood is one line a minute.
                self._repeated[key] = _Repeated(now + MINUTE_SECONDS)

    def _end(self, key: tuple[str, int, str]) -> None:
        repeated = self._repeated.pop(key)
        if repeated.count:
            name, level, _ = key
            times = "once more" if repeated.count == 1 else f"{repeated.count} times more"
            told = f"{repeated.last} … repeated {times} in the last minute"
            line = logging.LogRecord(name, level, "", 0, told, None, None)
            line.repeated = repeated.count
            super().emit(line)


def _is_own(record: logging.LogRecord) -> bool:
    return record.name.startswith(_OWN) and record.name not in _TALKATIVE


def write_repeated_counts() -> None:
    """Write the counts of repeated lines whose minute is over."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, Lines):
            handler.write_counts()


class _HealthyGroup(logging.Filter):
    """Drops what a healthy group logs: the first refusals of a coordinator that is being made, and rebalances.

    More refusals are trouble, and show. A heartbeat that fails for a rebalance is how a member learns of it, and a
    commit that fails for one is made again by the partition's next owner; the worker logs what it owns after it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen = 0

    def filter(self, record: logging.LogRecord) -> bool:
        why = record.args[-1] if isinstance(record.args, tuple) and record.args else None
        if record.msg == REBALANCING or (record.msg == NO_COMMIT and isinstance(why, RebalanceInProgressError)):
            return False
        if record.msg != NO_COORDINATOR or not isinstance(why, GroupCoordinatorNotAvailableError):
            return True
        self._seen += 1
        return self._seen > PATIENCE


@contextmanager
def without_bootstrap_errors() -> Iterator[None]:
    """Keep aiokafka from logging that no broker answers, for callers whose own error says so with the remedy."""

    def is_news(record: logging.LogRecord) -> bool:
        return record.msg != NO_BOOTSTRAP

    logger = logging.getLogger("aiokafka")
    logger.addFilter(is_news)
    try:
        yield
    finally:
        logger.removeFilter(is_news)


_STANDARD: Final = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"})
_LINE_ENDS: Final = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}
"""Line ends to some readers, which JSON may hold as they are."""


class JsonLines(Formatter):
    """Writes a line as one JSON object: time, level, logger, message, fields of our own errors, exception."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object; whatever a text holds, it stays one line of UTF-8."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _utf8(record.getMessage()),
        }
        # PRIVACY: what libraries hang on a record may hold a message; what our own lines add is named where they are.
        if _is_own(record):
            added = {name: value for name, value in vars(record).items() if name not in _STANDARD}
            line |= {name: _plain(value) for name, value in added.items() if name not in line}
        elif (repeated := getattr(record, "repeated", None)) is not None:
            line["repeated"] = repeated
        if record.exc_info:
            line["exception"] = _utf8(self.formatException(record.exc_info))
        if record.stack_info:
            line["stack"] = _utf8(record.stack_info)
        return orjson.dumps(line).decode().translate(_LINE_ENDS)


def in_json() -> bool:
    """Tell whether lines are JSON objects, so that nothing else may be written beside them."""
    return any(isinstance(handler.formatter, JsonLines) for handler in logging.getLogger().handlers)


def _plain(value: object) -> object:
    return value if isinstance(value, bool | int | float | None) else _utf8(str(value))


def _utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def configure_logs(level: str, form: Literal["text", "json"] = "text") -> None:
    """Log to standard error at ``level``; the libraries their warnings, and at debug level what they call info."""
    chosen = getattr(logging, level.upper())
    handler = Lines(sys.stderr)
    text = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    handler.setFormatter(JsonLines() if form == "json" else Formatter(text))
    logging.basicConfig(handlers=[handler], level=chosen, force=True)
    logging.captureWarnings(capture=True)
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda ended: _log_uncaught(ended.exc_type, ended.exc_value, ended.exc_traceback)
    sys.unraisablehook = lambda ended: _log_uncaught(ended.exc_type, ended.exc_value, ended.exc_traceback)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.INFO if chosen == logging.DEBUG else max(chosen, logging.WARNING))
    logging.getLogger("aiokafka.consumer.group_coordinator").filters[:] = [_HealthyGroup()]


def _log_uncaught(kind: type[BaseException], error: BaseException | None, frames: TracebackType | None) -> None:
    """Log what ends the process or a thread; Python would print many lines, with whatever the error holds."""
    told = kind.__name__ if error is None else traced(error.with_traceback(frames))
    logging.getLogger(f"{_OWN}uncaught").critical("exiting because of an error: %s", told)
