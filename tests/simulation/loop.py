"""An event loop in virtual time: it jumps to the next timer, and runs ready callbacks in a seeded order.

There is no I/O and no thread: a run is a function of its seed. Every callback belongs to the process in whose context
it was made. The callbacks of a frozen process are kept until it is woken; those of a killed process never run again.
"""

import asyncio
import heapq
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from random import Random  # noqa: TID251 (orders and schedules, no noise; a draw costs a tenth of numpy's)
from typing import Any, Literal, TypeVar

_T = TypeVar("_T")

MOST_STEPS = 1_000_000
"""The number of callbacks after which a run counts as never ending."""


class NeverEndsError(Exception):
    """Nothing more can happen although somebody waits, or things keep happening for ever."""


class Process:
    """A unit that dies, freezes and wakes as one."""

    def __init__(self, name: str) -> None:
        """Run from now on."""
        self.name = name
        self.state: Literal["runs", "frozen", "dead"] = "runs"
        self.kept: list[events.Handle] = []
        self.tasks: list[asyncio.Task[Any]] = []

    def __repr__(self) -> str:
        return f"<{self.name} {self.state}>"


_PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)


def current_process() -> Process | None:
    """Return the process whose callback is running, or None for the surrounding world."""
    return _PROCESS.get()


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs callbacks one by one; its time passes only if none is ready."""

    # Attributes of the base class that its stubs do not name.
    _ready: deque[events.Handle]
    _scheduled: list[events.TimerHandle]
    _stopping: bool

    def __init__(self, order: Random) -> None:
        """Begin at time 0; ``order`` draws which of the ready callbacks runs first."""
        super().__init__()
        self._order = order
        self._now = 0.0
        self._around = Process("around")
        self.steps = 0
        self.unhandled: list[dict[str, Any]] = []
        self.set_exception_handler(lambda _, context: self.unhandled.append(context))
        self.set_task_factory(self._make_task)

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._now

    def start(self, process: Process, coroutine: Coroutine[Any, Any, _T]) -> "asyncio.Task[_T]":
        """Run a coroutine as part of a process."""
        context = copy_context()
        context.run(_PROCESS.set, process)
        return context.run(self.create_task, coroutine)

    def freeze(self, process: Process) -> None:
        """Keep everything a process would do from now on."""
        process.state = "frozen"

    def wake(self, process: Process) -> None:
        """Let a frozen process continue: everything that fell due meanwhile is ready immediately."""
        process.state = "runs"
        self._ready.extend(process.kept)
        process.kept.clear()

    def kill(self, process: Process) -> None:
        """Stop everything of a process for good."""
        process.state = "dead"

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., _T], *args: Any
    ) -> "asyncio.Future[_T]":
        """Run immediately what would run in a thread: a thread's time passes on no virtual clock."""
        del executor
        done: asyncio.Future[_T] = self.create_future()
        done.set_result(func(*args))
        return done

    def _make_task(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **named: Any) -> "asyncio.Task[Any]":
        task = asyncio.Task(coroutine, loop=loop, **named)
        process = _PROCESS.get()
        (self._around if process is None else process).tasks.append(task)
        return task

    def _run_once(self) -> None:
        self._fall_due()
        due = list(self._ready)
        self._ready.clear()
        if len(due) > 1:
            self._order.shuffle(due)
        for handle in due:
            if handle.cancelled():
                continue
            process = handle._context.get(_PROCESS)  # type: ignore[attr-defined]  # noqa: SLF001 (no public name)
            if process is None or process.state == "runs":
                self.steps += 1
                handle._run()  # noqa: SLF001 (what the base class does)
            else:
                process.kept.append(handle)
        if self.steps > MOST_STEPS:
            raise NeverEndsError(f"{self.steps} callbacks by {self._now:.3f} s, and no end")

    def _fall_due(self) -> None:
        """Make due timers ready; if nothing else is ready, the next timer becomes due now."""
        timers = self._scheduled
        while timers and timers[0].cancelled():
            heapq.heappop(timers)
        if not self._ready and not self._stopping:
            if not timers:
                raise NeverEndsError(f"at {self._now:.3f} s nothing can happen any more")
            self._now = max(self._now, timers[0].when())
        while timers and timers[0].when() <= self._now:
            self._ready.append(heapq.heappop(timers))

    def _timer_handle_cancelled(self, handle: events.TimerHandle) -> None:
        """Do nothing: cancelled timers are dropped when they are due."""

    def _process_events(self, event_list: Any) -> None:
        """Do nothing: there is no I/O."""

    def _write_to_self(self) -> None:
        """Do nothing: no other thread makes calls."""

    def dismantle(self, processes: list[Process]) -> None:
        """Cancel whatever is left of the processes, so that no complaints about them follow."""
        processes = [*processes, self._around]
        self._scheduled.clear()
        self.steps = 0
        for process in processes:
            self.wake(process)
        for _ in range(50):
            left = [task for process in processes for task in process.tasks if not task.done()]
            if not left:
                break
            for task in left:
                task.cancel()
            for _ in range(20):
                if not self._ready:
                    break
                self._stopping = True
                self._run_once()
            self._stopping = False
            self._scheduled.clear()
        for process in processes:
            for task in process.tasks:
                task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001 (no public name)
                task._log_traceback = False  # noqa: SLF001 (no public name)
            process.tasks.clear()


@contextmanager
def virtual_loop(seed: object) -> Iterator[VirtualLoop]:
    """Yield a loop whose order of callbacks is drawn from ``seed``, and close it."""
    loop = VirtualLoop(Random(f"order {seed}"))
    try:
        yield loop
    finally:
        loop.close()


def run(seed: object, main: Callable[[VirtualLoop], Coroutine[Any, Any, _T]]) -> _T:
    """Run a coroutine to its end in virtual time."""
    with virtual_loop(seed) as loop:
        return loop.run_until_complete(main(loop))
