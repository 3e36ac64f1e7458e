"""Processes that share work: one that is killed ends all of them, at whatever moment."""

import multiprocessing
import os
import signal
import threading
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool

import pytest

from stream_app.processes import pooled


class KillsTheFirst:
    """What processes are given; writing it for the second one kills the first."""

    def __init__(self, waits_seconds: float) -> None:
        self.written = 0
        self.waits_seconds = waits_seconds

    def __reduce__(self) -> tuple[type[int], tuple[()]]:
        self.written += 1
        if self.written == 2:
            (first,) = multiprocessing.active_children()
            assert first.pid is not None
            os.kill(first.pid, signal.SIGKILL)
            (pool,) = (thread for thread in threading.enumerate() if type(thread).__name__ == "_ExecutorManagerThread")
            pool.join(self.waits_seconds)  # it ends the processes that it knows, and closes its pipes
        return int, ()


def took(_: object) -> None:
    """Take what a process is given."""


def shared(given: object, wanted: int) -> list[int]:
    """Return the results of so many of a hundred parts of work, then fail."""
    with pooled(2, took, (given,)) as pool:
        done = as_completed([pool.submit(abs, -1) for _ in range(100)])
        raise KeyError([next(done).result() for _ in range(wanted)])


@pytest.mark.parametrize("waits_seconds", [0, 0.001, 0.01, 0.1, 1])
def test_a_process_that_is_killed_while_another_begins(waits_seconds: float) -> None:
    """The pool is broken, and nobody waits for the other one."""
    with pytest.raises(BrokenProcessPool):
        shared(KillsTheFirst(waits_seconds), 1)
    assert not multiprocessing.active_children()


def test_who_fails_waits_for_no_work() -> None:
    """None of the processes is left."""
    with pytest.raises(KeyError, match="1, 1"):
        shared(0, 2)
    assert not multiprocessing.active_children()
