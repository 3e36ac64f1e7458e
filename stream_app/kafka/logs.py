"""The worker's log: one line an event, and nothing that a record holds."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from aiokafka.errors import GroupCoordinatorNotAvailableError

# PRIVACY: at debug level these write whole requests, answers and messages, raw values in them. Faust's services log
# under the names of our modules that derive from them.
_TALKATIVE = (
    "aiokafka",
    "asyncio",
    "faust",
    "mode",
    "stream_app.kafka.app",
    "stream_app.kafka.consumer",
    "stream_app.kafka.consumerthread",
    "stream_app.kafka.recovery",
    "stream_app.kafka.table",
)

NO_BOOTSTRAP: Final = 'Unable connect to "%s:%s": %s'
"""What aiokafka logs of each address before it raises that there is no broker."""
NO_COORDINATOR: Final = "Group Coordinator Request failed: %s"
PATIENCE: Final = 100
"""Refusals of a coordinator, ten a second, that are no news: fresh brokers make their topic of offsets meanwhile."""


class _Coordinator(logging.Filter):
    """Keeps the first refusals of a coordinator that is being made to itself; more of them are trouble, and show."""

    def __init__(self) -> None:
        super().__init__()
        self._seen = 0

    def filter(self, record: logging.LogRecord) -> bool:
        why = record.args[0] if isinstance(record.args, tuple) and record.args else None
        if record.msg != NO_COORDINATOR or not isinstance(why, GroupCoordinatorNotAvailableError):
            return True
        self._seen += 1
        return self._seen > PATIENCE


@contextmanager
def told_otherwise() -> Iterator[None]:
    """Keep aiokafka from logging that no broker answers: for callers whose own error says it, with the remedy."""

    def is_news(record: logging.LogRecord) -> bool:
        return record.msg != NO_BOOTSTRAP

    logger = logging.getLogger("aiokafka")
    logger.addFilter(is_news)
    try:
        yield
    finally:
        logger.removeFilter(is_news)


def configure_logs(level: str) -> None:
    """Log to standard error at ``level``; the libraries their warnings, and at debug level what they call info."""
    chosen = getattr(logging, level.upper())
    logging.basicConfig(
        stream=sys.stderr, level=chosen, format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True
    )
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.INFO if chosen == logging.DEBUG else max(chosen, logging.WARNING))
    logging.getLogger("aiokafka.consumer.group_coordinator").filters[:] = [_Coordinator()]
