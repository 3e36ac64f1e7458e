"""The worker's log: one line per event, without record contents; equal lines appear once a minute, with a count.

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

# PRIVACY: at debug level these loggers write whole requests, answers and messages, including raw values. Faust's
# services log under the names of our modules that derive from them.
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
"""The message that aiokafka logs for each address before it raises its error that no broker is available."""
NO_COORDINATOR: Final = "Group Coordinator Request failed: %s"
REBALANCING: Final = "Heartbeat failed for group %s because it is rebalancing"
NO_COMMIT: Final = "OffsetCommit failed for group %s due to group error (%s), will rejoin"
PATIENCE: Final = 100
"""The normal number of coordinator refusals, ten a second, while new brokers create their offsets topic."""

MINUTE_SECONDS: Final = 60.0  # how long repeats of a written line are only counted
MOST_LINES: Final = 1_000
"""The maximum number of lines counted at a time, about 1 MB; beyond it, the oldest counted line is written out."""

_NUMBER = re.compile(r"(?:0x)?[0-9a-f]{8,}|\d+")  # including hexadecimal ids
_MOST_CHARACTERS = 500  # compared part of a line


@dataclass(slots=True)
class _Repetition:
    """A written line, and how often it has been repeated since."""

    until: float
    count: int = 0
    last: str = ""


class Lines(logging.StreamHandler[TextIO]):
    """Writes equal lines at most once a minute, and then how often each was repeated. ``clock`` must be monotonic.

    Without brokers or file descriptors, the libraries log the failure ten times a second. Lines from libraries are
    equal if they differ only in numbers; our own lines must be identical, because they name partitions.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream)
        self._clock = clock
        self._repeated: dict[tuple[str, int, str], _Repetition] = {}  # in order of their ends

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line or count it, while logging holds this handler's lock."""
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
        self._repeated[key] = _Repetition(self._clock() + MINUTE_SECONDS)
        super().emit(record)

    def write_counts(self) -> None:
        """Write the counts of lines whose minute has ended; without this, they wait until the next line arrives."""
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
                # Counting continues, so an endless flood produces one line a minute.
                self._repeated[key] = _Repetition(now + MINUTE_SECONDS)

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
    """Write the counts of repeated lines whose minute has ended."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, Lines):
            handler.write_counts()


class _HealthyGroup(logging.Filter):
    """Drops the log lines of a healthy group: a new coordinator's first refusals, and rebalances.

    Further refusals mean trouble and are shown. Members learn of a rebalance from a failed heartbeat. If a rebalance
    makes a commit fail, the partition's next owner repeats it, and the worker logs which partitions it owns afterwards.
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
    """Suppress aiokafka's log lines saying that no broker answers; the caller's error says this, with the remedy."""

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
"""Characters that end a line for some readers, although JSON may contain them unescaped."""


class JsonLines(Formatter):
    """Writes a line as one JSON object: time, level, logger, message, fields of our own errors, and exception."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the JSON object as one line of UTF-8, whatever its texts contain."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _utf8(record.getMessage()),
        }
        # PRIVACY: fields that libraries add to a record may contain a message; the fields of our own lines are named
        # where they are logged.
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
    """Return whether lines are JSON objects, so that nothing else may be written among them."""
    return any(isinstance(handler.formatter, JsonLines) for handler in logging.getLogger().handlers)


def _plain(value: object) -> object:
    return value if isinstance(value, bool | int | float | None) else _utf8(str(value))


def _utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def configure_logs(level: str, form: Literal["text", "json"] = "text") -> None:
    """Log to standard error at ``level``.

    Libraries log warnings and, at debug level, their info lines as well.
    """
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
    """Log an uncaught error without its full contents, which Python's own hook would print."""
    told = kind.__name__ if error is None else traced(error.with_traceback(frames))
    logging.getLogger(f"{_OWN}uncaught").critical("exiting because of an error: %s", told)
