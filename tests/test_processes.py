"""Processes that share work: if one is killed, at any moment, its work fails immediately, and none is left."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import as_completed

import numpy as np
import pytest

from stream_app.processes import Pool, Process, ProcessEndedError, pooled

WHOLE = bytes(2**20)
"""More than a pipe holds: a process that writes it spends most of its time in the middle."""


def took(_: object) -> None:
    """Accept what a process is given."""


def same(value: bytes) -> bytes:
    """Return what was given."""
    return value


def fails() -> None:
    """Fail as work does."""
    raise KeyError("of the work")


def lasts() -> None:
    """Run for longer than any test."""
    time.sleep(3_600)


class Kills:
    """An argument for a process; making its message kills the process."""

    def __init__(self) -> None:
        self.pid: int | None = None

    def __reduce__(self) -> tuple[type[int], tuple[()]]:
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)
        return int, ()


def works(pool: Pool) -> None:
    """Have large messages read and written until a process is ended."""
    while True:
        for future in as_completed([pool.submit(same, WHOLE) for _ in range(4)]):
            assert future.result() == WHOLE


@pytest.mark.timeout(60)
def test_kills_at_random_moments(pool_kills: int) -> None:
    """While it starts, reads, works or writes, nobody waits for it for ever, and the other one is ended too."""
    drawn = np.random.default_rng(1)
    for _ in range(pool_kills):
        with pooled(2, took, (WHOLE,)) as pool:
            pids = pool.pids
            killed = pids[drawn.integers(2)]
            threading.Timer(drawn.uniform(0, 0.4), os.kill, (killed, signal.SIGKILL)).start()
            with pytest.raises(ProcessEndedError):
                works(pool)
        assert not any(map(Process.of, pids))


@pytest.mark.timeout(60)
def test_a_process_that_is_killed_before_it_read_what_it_is_to_do() -> None:
    """Its message, larger than a pipe, has no reader."""
    kills = Kills()
    with pooled(1, took, ((kills, WHOLE),)) as pool:
        (kills.pid,) = pool.pids
        with pytest.raises(ProcessEndedError):
            pool.submit(abs, -1).result()


@pytest.mark.timeout(60)
def test_who_ends_waits_for_no_work() -> None:
    """None of the processes is left, and work that has not begun never begins."""
    with pooled(2, took, (0,)) as pool:
        futures = [pool.submit(lasts) for _ in range(10)]
        pids = pool.pids
    assert not any(map(Process.of, pids))
    assert sum(future.cancelled() for future in futures) == 8


@pytest.mark.timeout(60)
def test_what_fails_in_a_process_fails_here() -> None:
    """The process goes on."""
    with pooled(1, took, (0,)) as pool:
        with pytest.raises(KeyError, match="of the work"):
            pool.submit(fails).result()
        assert pool.submit(same, b"1").result() == b"1"


@pytest.mark.timeout(60)
def test_nobody_outlives_the_process_that_began_it() -> None:
    """The parent's end closes standard input, which also ends a process at work."""
    code = "import time; from stream_app.processes import pooled\nwith pooled(1, abs, (0,)) as pool:\n"
    code += "    pool.submit(time.sleep, 3600); print(*pool.pids, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = Process.of(int(parent.stdout.readline()))
        assert child is not None
        parent.kill()
    assert child.wait(30)
