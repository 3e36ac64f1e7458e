"""Where a hung program stopped: the stacks of its threads and asyncio tasks, for a failure report."""

import asyncio
import gc
import io
import signal
from pathlib import Path
from typing import Protocol

_WORDS = 12_000


def pending_tasks() -> str:
    """Return the stacks of all asyncio tasks of this process that have not ended."""
    told = io.StringIO()
    for task in [found for found in gc.get_objects() if isinstance(found, asyncio.Task) and not found.done()]:
        task.print_stack(file=told)
    return told.getvalue()


class Program(Protocol):
    """A running program: a `subprocess.Popen`, or a forked process (tests/kafka/forked.py)."""

    @property
    def pid(self) -> int:
        """Its process id."""

    def poll(self) -> int | None:
        """Return its exit code, or None."""

    def wait(self) -> int:
        """Wait until it ended."""

    def send_signal(self, number: int, /) -> None:
        """Send a signal."""


def last_words(process: Program, log: Path) -> str:
    """End a Python program that writes errors into ``log``, and return the log's end, with all threads' stacks.

    It must have been started with ``PYTHONFAULTHANDLER`` in its environment, where tests/conftest.py puts it.
    """
    state = "ended"
    if process.poll() is None:
        state = _state(process.pid)
        process.send_signal(signal.SIGCONT)  # who sleeps hears nothing
        process.send_signal(signal.SIGABRT)
        process.wait()
    return f"({state}) {log.read_text(errors='replace')[-_WORDS:]}"


def _state(process: int) -> str:
    """Return the system's state for a process: running, sleeping, stopped."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(line for line in lines if line.startswith("State:"))
