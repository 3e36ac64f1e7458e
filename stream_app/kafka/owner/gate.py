"""The gate before each batch of a partition: shut while the group rebalances, open otherwise."""

import asyncio


class Gate:
    """Open at first; who comes to it while it is shut waits, with nothing of a batch under way."""

    def __init__(self) -> None:
        """Be open."""
        self._opened = asyncio.Event()
        self._opened.set()
        self._waited_at = asyncio.Event()

    @property
    def shut(self) -> bool:
        """Whether nobody gets through."""
        return not self._opened.is_set()

    def close(self) -> None:
        """Let nobody through until `open`."""
        self._opened.clear()
        self._waited_at.clear()

    def open(self) -> None:
        """Let go on who waits."""
        self._opened.set()

    async def passed(self) -> None:
        """Wait until it is open, and let `reached` know."""
        self._waited_at.set()
        await self._opened.wait()

    async def reached(self, task: "asyncio.Task[None]", seconds: float) -> None:
        """Wait until somebody waits at the gate or ``task`` ended, not longer than ``seconds``."""
        waiter = asyncio.create_task(self._waited_at.wait())
        await asyncio.wait({task, waiter}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        waiter.cancel()
