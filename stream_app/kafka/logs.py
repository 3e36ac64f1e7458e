"""The worker's log: one line an event, and nothing that a record holds."""

import logging
import sys

# PRIVACY: at debug level these write whole requests, answers and messages, raw values in them. Faust's services log
# under the names of our modules that derive from them.
_TALKATIVE = (
    "aiokafka",
    "asyncio",
    "faust",
    "mode",
    "stream_app.kafka.app",
    "stream_app.kafka.consumer",
    "stream_app.kafka.recovery",
    "stream_app.kafka.table",
)


def configure_logs(level: str) -> None:
    """Log to standard error at ``level``; the libraries their warnings, and at debug level what they call info."""
    chosen = getattr(logging, level.upper())
    logging.basicConfig(
        stream=sys.stderr, level=chosen, format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True
    )
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.INFO if chosen == logging.DEBUG else max(chosen, logging.WARNING))
