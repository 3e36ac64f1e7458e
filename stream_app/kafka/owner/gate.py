"""The gate before each batch of a partition: it blocks new batches during a rebalance."""

import asyncio


class Gate:
    """Open at first. The partition's task waits at a closed gate, with nothing of a batch under way."""

    def __init__(self) -> None:
        self._opened = asyncio.Event()
        self._opened.set()
        self._waited_at = asyncio.Event()

    @property
    def shut(self) -> bool:
        """Whether new batches are blocked."""
        return not self._opened.is_set()

    def close(self) -> None:
        """Block new batches until `open`."""
        self._opened.clear()
        self._waited_at.clear()

    def open(self) -> None:
        """Let batches begin again."""
        self._opened.set()

    async def passed(self) -> None:
        """Return once the gate is open; meanwhile `reached` returns."""
        self._waited_at.set()
        await self._opened.wait()

    async def reached(self, task: "asyncio.Task[None]", seconds: float) -> None:
        """Return once somebody waits in `passed`, or ``task`` ended, after ``seconds`` at the latest."""
        waiter = asyncio.create_task(self._waited_at.wait())
        await asyncio.wait({task, waiter}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        waiter.cancel()
