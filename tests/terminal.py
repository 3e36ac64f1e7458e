"""Programs on a real terminal: what they show, and what they do when keys are pressed."""

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.patience import PATIENCE_SECONDS

CONTROL = "\x1b"
"""The beginning of every control sequence."""


class Terminal:
    """A program that runs on a terminal, and its output."""

    def __init__(self, words: tuple[str, ...], environment: dict[str, str]) -> None:
        """Start."""
        self.text = ""
        self._side, other = pty.openpty()
        known = {"PATH", "HOME", "PYTHONPATH", "PYTHONPYCACHEPREFIX", "LANG"}
        inherited = {name: value for name, value in os.environ.items() if name in known}  # noqa: TID251 (the child's)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "stream_app", *words],
            stdin=other,
            stdout=other,
            stderr=other,
            env={**inherited, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40", **environment},
            start_new_session=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509 - Ctrl-C reaches whoever has the terminal
        )
        os.close(other)

    def until(self, wanted: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Read on until a text appears."""
        deadline = time.monotonic() + seconds
        while wanted not in self.text:
            assert time.monotonic() < deadline, self.text
            if not self._read():
                raise AssertionError(self.text)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._side, keys.encode())

    def end(self) -> int:
        """Read to the end; return the exit code."""
        while self._read():
            pass
        return self.process.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        """Give everything back."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._side)

    def _read(self) -> bool:
        try:
            found = os.read(self._side, 65536)
        except OSError:  # the other side was closed
            return False
        self.text += found.decode(errors="replace")
        return bool(found)


def _take_terminal() -> None:
    """Act like a program started by a terminal: one in the background would pass on that it ignores Ctrl-C."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def terminal(*words: str, **environment: str) -> Iterator[Terminal]:
    """Run a command on a terminal of 100 columns."""
    shown = Terminal(words, environment)
    try:
        yield shown
    finally:
        shown.close()
