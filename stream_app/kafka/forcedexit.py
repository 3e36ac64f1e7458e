"""The end by force of a process that does not end by itself."""

import faulthandler
import logging
import os
import threading
from typing import Self

logger = logging.getLogger(__name__)


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
        self._timer = threading.Timer(seconds, _exit, (seconds,))
        self._timer.daemon = True
        self._timer.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Take it back, but while a thread is left for which the interpreter would wait."""
        waited_for = [thread for thread in threading.enumerate() if not thread.daemon]
        if self._timer is not None and waited_for == [threading.main_thread()]:
            self._timer.cancel()


def _exit(seconds: float) -> None:
    logger.error("did not end within %.0f seconds: ends by force. Report this as a bug, with the stacks below", seconds)
    # PRIVACY: files, lines and names of functions; no value of any variable.
    faulthandler.dump_traceback(all_threads=True)
    os._exit(1)
