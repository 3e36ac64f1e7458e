"""The forced exit, in separate processes."""

import subprocess
import sys

import pytest

SCRIPT = """
import threading, time
from stream_app.monitoring.forcedexit import ForcedExit
secret = "nobody may read this"
{threads}
with ForcedExit() as forced_exit:
    forced_exit.within({seconds})
    time.sleep({sleeps})
print("left the block", flush=True)
{after}
"""
THREAD = "threading.Thread(target=time.sleep, args=(600,), daemon={daemon}).start()"


@pytest.mark.parametrize(
    ("threads", "seconds", "sleeps", "after", "code"),
    [
        ("", 600, 0, "", 0),
        ("", 0.5, 600, "", 1),
        ("", 1, 0, "time.sleep(2)", 0),
        (THREAD.format(daemon=False), 0.5, 0, "", 1),
        (THREAD.format(daemon=True), 1, 0, "time.sleep(2)", 0),
    ],
    ids=["ends", "hangs", "lives-on", "waits-for-a-thread", "leaves-a-daemon"],
)
def test_a_process_that_hangs_ends(threads: str, seconds: float, sleeps: float, after: str, code: int) -> None:
    """It ends within its time, with code 1 and the stacks; one that ends by itself is left alone."""
    script = SCRIPT.format(threads=threads, seconds=seconds, sleeps=sleeps, after=after)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    assert ("forcing the exit." in done.stderr) == (code == 1)
    assert ("most recent call first" in done.stderr) == (code == 1)
    assert "nobody may read" not in done.stderr


def test_what_the_loop_waits_for_is_told() -> None:
    """It names files, lines and functions, from outside in, but no values."""
    script = (
        "import asyncio\n"
        "from stream_app.monitoring.forcedexit import ForcedExit\n"
        "async def wait(secret):\n    await asyncio.sleep(600)\n"
        "async def work():\n    ForcedExit().within(0.5)\n    await wait('nobody may read this')\n"
        "asyncio.run(work())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert "a task is waiting at: <string>:7 work > <string>:4 wait > tasks.py:" in done.stderr
    assert "nobody may read" not in done.stderr


def test_a_log_that_nobody_takes_keeps_nobody() -> None:
    """The process ends even if writing the log hangs."""
    script = (
        "import logging, time\n"
        "from stream_app.monitoring import forcedexit\n"
        "forcedexit._TELLING_SECONDS = 0.5\n"
        "logging.getLogger(forcedexit.__name__).addFilter(lambda _: time.sleep(600))\n"
        "with forcedexit.ForcedExit() as forced_exit:\n    forced_exit.within(0.5)\n    time.sleep(600)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stderr


def test_a_call_that_keeps_the_interpreters_lock_keeps_nobody() -> None:
    """No Python thread runs then: faulthandler's own thread ends the process, with the stacks."""
    script = (
        "import ctypes\n"
        "from stream_app.monitoring import forcedexit\n"
        "forcedexit._TELLING_SECONDS = 0.5\n"
        "with forcedexit.ForcedExit() as forced_exit:\n    forced_exit.within(0.5)\n    ctypes.PyDLL(None).sleep(600)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done.stderr
    assert "most recent call first" in done.stderr
