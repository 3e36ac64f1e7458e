"""The worker's log: one line an event, and nothing that a record holds."""

import logging
import sys

# PRIVACY: at debug level these write whole requests, answers and messages, raw values in them.
_TALKATIVE = ("aiokafka", "faust", "mode", "asyncio", "kafka")


def configure_logs(level: str) -> None:
    """Log to standard error at ``level``; the libraries never below info, whatever the level."""
    chosen = getattr(logging, level.upper())
    logging.basicConfig(
        stream=sys.stderr, level=chosen, format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True
    )
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(max(chosen, logging.INFO))
    for name in ("faust", "mode", "aiokafka"):
        if chosen >= logging.INFO:
            logging.getLogger(name).setLevel(logging.WARNING)
