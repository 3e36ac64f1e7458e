"""A failure shows where something hung: threads of a program, tasks of the test's own event loop."""

import asyncio
import subprocess
import sys
from pathlib import Path

from tests.patience import awaited
from tests.stacks import last_words, pending_tasks

HANGS = """
import sys, threading, time
def waits_for_ever():
    time.sleep(3600)
threading.Thread(target=waits_for_ever, daemon=True).start()
print("begun", file=sys.stderr, flush=True)
waits_for_ever()
"""


def test_a_hung_program_tells_its_threads(tmp_path: Path) -> None:
    """The main thread and the other appear by function, after the log's text; the program has ended."""
    log = tmp_path / "log"
    with log.open("wb") as out, subprocess.Popen([sys.executable, "-c", HANGS], stderr=out) as process:
        awaited(lambda: "begun" in log.read_text())
        said = last_words(process, log)
    assert "State:" in said
    assert "begun" in said
    assert said.count("in waits_for_ever") == 2
    assert last_words(process, log).startswith("(ended) ")


async def test_a_hung_test_tells_its_tasks() -> None:
    """The failure shows the task and the place where it waits."""

    async def waits_for_ever() -> None:
        """Wait."""
        await asyncio.Event().wait()

    task = asyncio.create_task(waits_for_ever())
    await asyncio.sleep(0)
    assert "waits_for_ever" in pending_tasks()
    task.cancel()
