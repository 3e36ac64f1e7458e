"""Where something hung stands: the stacks of its threads and of its asyncio tasks, for the report of a failure."""

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
    """What runs: a `subprocess.Popen`, or what was forked (tests/kafka/forked.py)."""

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
    """End a Python program that writes errors into ``log``, and return its end, with the stacks of all its threads.

    It must have been started with ``PYTHONFAULTHANDLER`` in its environment, which tests/conftest.py puts there.
    """
    state = "ended"
    if process.poll() is None:
        state = _state(process.pid)
        process.send_signal(signal.SIGCONT)  # who sleeps hears nothing
        process.send_signal(signal.SIGABRT)
        process.wait()
    return f"({state}) {log.read_text(errors='replace')[-_WORDS:]}"


def _state(process: int) -> str:
    """Return what the system says of a process: running, sleeping, stopped."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(line for line in lines if line.startswith("State:"))
