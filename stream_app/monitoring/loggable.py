"""The loggable part of errors: the kind and place of each, and its message only if it contains no raw values.

The message of any other error may quote its input: ``could not convert string to float: '6.2'``. Libraries put such
errors into their log lines, and Python appends their tracebacks; both are filtered here.
"""

import logging
import traceback
from collections.abc import Iterable, Mapping
from copy import copy
from pathlib import Path
from types import TracebackType
from typing import Final, cast

_MOST_FRAMES: Final = 40  # innermost places of an error; endless recursion has a thousand


class LoggableError(Exception):
    """An error whose message contains no raw value, so that a log may contain the whole message."""


def loggable(error: BaseException) -> str:
    """Return the part of an error that a log may contain: all of it, or its class and the place where it was raised."""
    from aiokafka.errors import KafkaError  # noqa: PLC0415 - a client of Kafka takes seconds to load

    if isinstance(error, KafkaError | LoggableError):
        return repr(error)
    # PRIVACY: the message of any other error can hold a raw value, so only its kind and place are logged.
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


def traced(error: BaseException) -> str:
    """Return one line with an error, the errors that led to it, and the places that each passed through."""
    told: list[str] = []
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        frames = traceback.extract_tb(at.__traceback__, limit=-_MOST_FRAMES)
        places = " > ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
        within = at.exceptions if isinstance(at, BaseExceptionGroup) else ()
        held = f" of [{', '.join(map(traced, within))}]" if within else ""
        told.append(f"{loggable(at)}{held}{f' ({places})' if places else ''}")
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    return ", which followed ".join(told)


class Formatter(logging.Formatter):
    """Formats tracebacks as `traced` does."""

    def formatException(  # noqa: N802 - logging's name
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        """Return an error's kinds and places, without any message that may hold a raw value."""
        return "" if ei[1] is None else traced(ei[1])


def of_library(record: logging.LogRecord) -> logging.LogRecord:
    """Return a library's log record with its errors reduced to their loggable parts."""
    # PRIVACY: asyncio writes errors into the lines after its first line, which says what happened and is kept; all
    # other libraries pass errors as arguments, which are replaced. Nothing else that they log, at warning level and
    # above, contains a message's content. Warnings are followed by a source line.
    kept = copy(record)
    if isinstance(record.args, Mapping):
        kept.args = {name: _told(value) for name, value in record.args.items()}
    elif record.args:
        kept.args = tuple(_told(value) for value in record.args)
    if record.name in {"asyncio", "py.warnings"}:
        kept.msg, kept.args = kept.getMessage().partition("\n")[0], ()
    kept.exc_text = None  # another handler may have kept a traceback there
    return kept


class _ErrorText(str):
    """The loggable part of an error, without quotes even under ``%r``."""

    __slots__ = ()
    __repr__ = str.__str__


def _told(value: object) -> object:
    """Return a value in which each error, also inside lists and mappings, is reduced to its loggable part."""
    if isinstance(value, BaseException):
        return _ErrorText(loggable(value))
    if type(value) in {list, tuple, set, frozenset}:
        return [_told(each) for each in cast("Iterable[object]", value)]
    return {name: _told(each) for name, each in value.items()} if type(value) is dict else value


def _without_bytes(record: logging.LogRecord) -> bool:
    """Remove a request's content from a log record, but still say what failed."""
    # PRIVACY: aiohttp logs a request that is not HTTP as a traceback with its bytes, so an event sent to this port by
    # mistake would appear in the log.
    if record.exc_info and record.exc_info[1] is not None:
        record.msg, record.args = f"{record.getMessage()}: {loggable(record.exc_info[1])}", ()
        record.exc_info = None
    return True


REQUESTS: Final = logging.getLogger(f"{__name__}.requests")  # for HTTP servers: no content of a request is logged
REQUESTS.addFilter(_without_bytes)
