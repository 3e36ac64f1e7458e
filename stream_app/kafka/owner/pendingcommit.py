"""The commit under way of one partition: at most one, beside which the next batch is decided."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

_DROP_SECONDS = 10.0


class Flight:
    """Holds the running commit until somebody learns how it ended."""

    def __init__(self, landed: Callable[[], None]) -> None:
        """Hold nothing; ``landed`` is called whenever one ended."""
        self._landed = landed
        self._task: asyncio.Task[None] | None = None

    @property
    def empty(self) -> bool:
        """Whether none runs, and the end of the last one is known."""
        return self._task is None

    @property
    def over(self) -> bool:
        """Whether one ended and nobody knows how."""
        return self._task is not None and self._task.done()

    def begin(self, commit: Coroutine[Any, Any, None]) -> None:
        """Run a commit; the one before must have landed."""
        self._task = asyncio.create_task(commit)
        self._task.add_done_callback(lambda _: self._landed())

    async def land(self) -> None:
        """Wait for the end of the running one, if there is one; raises what went wrong."""
        task, self._task = self._task, None
        if task is not None:
            await task

    async def drop(self) -> None:
        """Let the running one end, whatever comes of it; cut short, it would leave its transaction open."""
        task, self._task = self._task, None
        if task is not None:
            await asyncio.wait({task}, timeout=_DROP_SECONDS)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def cancel(self) -> None:
        """Cut the running one short; whoever takes the partition over ends its transaction."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
