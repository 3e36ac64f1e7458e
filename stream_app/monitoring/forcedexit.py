"""Ends a process that does not exit on its own."""

import asyncio
import faulthandler
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, Self

logger = logging.getLogger(__name__)

_TELLING_SECONDS = 5.0
_STANDARD_ERROR = 2


class ForcedExit:
    """Ensures that a process that has begun to exit ends within the given time, even if something hangs.

    A forced exit is as safe as `kill -9`: uncommitted work is aborted and processed again with the same result. A
    worker that hangs would prevent its supervisor from starting another one.
    """

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def within(self, seconds: float) -> None:
        """Exit with code 1 after this many seconds, unless the block and all threads have ended by then.

        A thread logs what hangs, because faulthandler knows the stacks of threads but not what the tasks of an event
        loop wait for. If that thread hangs too, in the log or on the interpreter's lock, faulthandler ends the process.
        """
        loop: asyncio.AbstractEventLoop | None = None
        with suppress(RuntimeError):  # none runs
            loop = asyncio.get_running_loop()
        self._timer = threading.Timer(seconds, _exit, (seconds, loop))
        self._timer.daemon = True
        self._timer.start()
        faulthandler.dump_traceback_later(seconds + _TELLING_SECONDS, exit=True, file=_STANDARD_ERROR)

    def leave(self, code: int) -> NoReturn:
        """Exit at once, because the remaining work only waits for others, and its results do not count."""
        logging.shutdown()
        os._exit(code)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Cancel the forced exit, unless the interpreter would wait for a remaining thread."""
        waited_for = [thread for thread in threading.enumerate() if not thread.daemon]
        if self._timer is not None and waited_for == [threading.main_thread()]:
            self._timer.cancel()
            faulthandler.cancel_dump_traceback_later()


def _exit(seconds: float, loop: asyncio.AbstractEventLoop | None) -> None:
    logger.error(
        "did not exit within %.0f seconds; forcing the exit. Report this as a bug, with the stacks below", seconds
    )
    # PRIVACY: only files, lines and names of functions are logged, and no value of any variable.
    for task in asyncio.all_tasks(loop) if loop is not None else ():
        logger.error("a task is waiting at: %s", " > ".join(_places(task.get_coro())))
    faulthandler.dump_traceback(all_threads=True)
    os._exit(1)


def _places(waiting: Any) -> Iterator[str]:
    while (code := getattr(waiting, "cr_code", None)) is not None:
        frame = waiting.cr_frame
        yield f"{Path(code.co_filename).name}:{frame.f_lineno if frame else 0} {code.co_name}"
        waiting = waiting.cr_await
