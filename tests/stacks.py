"""Where something hung stands: the stacks of its threads and of its asyncio tasks, for the report of a failure."""

import asyncio
import gc
import io
import signal
import subprocess
from pathlib import Path

_WORDS = 12_000


def pending_tasks() -> str:
    """Return the stacks of all asyncio tasks of this process that have not ended."""
    told = io.StringIO()
    for task in [found for found in gc.get_objects() if isinstance(found, asyncio.Task) and not found.done()]:
        task.print_stack(file=told)
    return told.getvalue()


def last_words(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """End a Python program that writes errors into ``log``, and return its end, with the stacks of all its threads.

    It must have been started with ``PYTHONFAULTHANDLER`` in its environment, which tests/conftest.py puts there.
    """
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)  # who sleeps hears nothing
        process.send_signal(signal.SIGABRT)
        process.wait()
    return log.read_text(errors="replace")[-_WORDS:]
