"""Work beside the decisions that is done time and again, and goes on whatever befalls it once."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from stream_app.kafka.evidence.trouble import told

logger = logging.getLogger(__name__)


async def recur(what: str, work: Callable[[], Awaitable[None]], every_seconds: float, most_share: float = 1.0) -> None:
    """Do ``work`` every so many seconds, seldomer when it takes more than a share of the time, until cancelled.

    What it raises is told in the log, where ``what`` names the work, and the next turn comes all the same.
    """
    while True:
        started = time.perf_counter()
        try:
            await work()
        except Exception as error:  # noqa: BLE001 (one turn's trouble must not end those after it)
            logger.warning("%s failed, and will be tried again: %s", what, told(error))
        took = time.perf_counter() - started
        await asyncio.sleep(max(every_seconds, took / most_share))
