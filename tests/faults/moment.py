"""The moment for which the tail rule exists: a worker dies between its ledger entries and their commit."""

import asyncio
import time

from tests.faults.fleet import Worker
from tests.faults.topics import Topics
from tests.patience import PATIENCE_SECONDS

_SETTLE_SECONDS = 0.3
"""Time for requests that were in flight when the worker froze."""


async def freeze_with_tail(worker: Worker, topics: Topics, seconds: float = PATIENCE_SECONDS) -> int:
    """Freeze a worker with an open transaction and ledger entries in the log; return how many.

    The worker must be busy: if it is frozen without such a tail, it is woken and the next attempt follows.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        worker.pause()
        await asyncio.sleep(_SETTLE_SECONDS)
        behind = sum(await topics.ends("ledger")) - sum(await topics.ends("ledger", "read_committed"))
        if behind > 0:
            return behind
        worker.wake()
        await asyncio.sleep(0.02)
    raise AssertionError("never at work with an open transaction")
