"""Work that is done at intervals and continues after an error."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from stream_app.monitoring.loggable import loggable

logger = logging.getLogger(__name__)


async def run_periodically(
    what: str, work: Callable[[], Awaitable[None]], every_seconds: float, most_share: float = 1.0
) -> None:
    """Do ``work`` every ``every_seconds`` until cancelled, or less often to stay within ``most_share``.

    An error in ``work`` is logged under the name ``what``, and the work is repeated anyway.
    """
    while True:
        started = time.perf_counter()
        try:
            await work()
        except Exception as error:  # noqa: BLE001 (an error in one turn must not end the later ones)
            logger.warning("%s failed; it will be tried again: %s", what, loggable(error))
        took = time.perf_counter() - started
        await asyncio.sleep(max(every_seconds, took / most_share))
