"""The end by force of a process that does not end by itself."""

import asyncio
import faulthandler
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, Self

logger = logging.getLogger(__name__)

_TELLING_SECONDS = 5.0


class ForcedExit:
    """Inside the block, a process that began to end has ended within the time given, whatever hangs.

    An end by force is safe, as `kill -9` is: what was not committed is aborted, and decided again alike. A worker that
    hangs instead keeps its supervisor from starting another one.
    """

    def __init__(self) -> None:
        """Let the process live."""
        self._timer: threading.Timer | None = None

    def within(self, seconds: float) -> None:
        """Exit with code 1 in so many seconds, unless the block and all threads have ended by then."""
        self._timer = threading.Timer(seconds, _exit, (seconds, _running_loop()))
        self._timer.daemon = True
        self._timer.start()

    def leave(self, code: int) -> NoReturn:
        """Exit at once: what is still under way waits for others, and nothing of it counts."""
        logging.shutdown()
        os._exit(code)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Take it back, but while a thread is left for which the interpreter would wait."""
        waited_for = [thread for thread in threading.enumerate() if not thread.daemon]
        if self._timer is not None and waited_for == [threading.main_thread()]:
            self._timer.cancel()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _exit(seconds: float, loop: asyncio.AbstractEventLoop | None) -> None:
    telling = threading.Thread(target=_tell, args=(seconds, loop), daemon=True)
    telling.start()
    telling.join(_TELLING_SECONDS)  # whoever reads the log may hang as well
    os._exit(1)


def _tell(seconds: float, loop: asyncio.AbstractEventLoop | None) -> None:
    logger.error("did not end within %.0f seconds: ends by force. Report this as a bug, with the stacks below", seconds)
    # PRIVACY: files, lines and names of functions; no value of any variable.
    for task in asyncio.all_tasks(loop) if loop is not None else ():
        logger.error("waits: %s", " > ".join(_places(task.get_coro())))
    faulthandler.dump_traceback(all_threads=True)


def _places(waiting: Any) -> Iterator[str]:
    """Yield where a coroutine waits, from outside in."""
    while (code := getattr(waiting, "cr_code", None)) is not None:
        frame = waiting.cr_frame
        yield f"{Path(code.co_filename).name}:{frame.f_lineno if frame else 0} {code.co_name}"
        waiting = waiting.cr_await
